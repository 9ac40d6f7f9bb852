/** The command line as a process: what `bin` of package.json names, as it is built. */

import { execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type BuiltPackage, buildPackage } from '../support/built-package.ts';
import { refusingOrigin } from '../support/faulty-server.js';

let built: BuiltPackage;

beforeAll(async () => {
  built = await buildPackage();
});

afterAll(() => built.remove());

const nothing = { PATH: process.env.PATH, HOME: tmpdir() };

/** Starts the built command in a process of its own. */
function launch(args: readonly string[], env: Readonly<Record<string, string | undefined>> = {}) {
  const child = spawn(process.execPath, [built.command, ...args], {
    env: { ...nothing, ...env } as NodeJS.ProcessEnv,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const streams = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (streams.stdout += chunk));
  child.stderr.on('data', (chunk) => (streams.stderr += chunk));
  const code = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, streams, code };
}

test('it is made to be started by its name', () => {
  expect(readFileSync(built.command, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
});

test('from a sandbox to a job, each command in a process of its own', async () => {
  const sandbox = launch(['sandbox', '--port', '0', '--json']);
  await expect.poll(() => sandbox.streams.stdout, { timeout: 10_000 }).toContain('\n');
  const { origin, baseUrls, partnerId, apiKeys } = JSON.parse(sandbox.streams.stdout);
  const env = {
    HOSTED_PARTNER_ID: partnerId,
    HOSTED_API_KEY: apiKeys.sandbox,
    HOSTED_SANDBOX_BASE_URL: baseUrls.sandbox,
    // Nothing listens there, and what goes to this machine must not go there.
    ...{ NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: 'a.test' },
  };
  const run = async (...args: readonly string[]) => {
    const { code, streams } = launch([...args, '--json'], env);
    expect({ code: await code, stderr: streams.stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(streams.stdout);
  };

  const policy = ['--data-privacy-policy-url', 'https://partner.example/privacy'];
  const link = await run('links', 'create', '--company-name', 'Example Partner', ...policy);
  const job = await run('play', link.refId, 'approved');
  const status = await run('jobs', 'wait', job.userId, job.jobId);
  const report = await run('doctor');

  expect(link.url).toBe(`${origin}/links/${link.refId}`);
  expect(status.state).toBe('succeeded');
  expect(report.well).toBe(true);
  sandbox.child.kill('SIGINT');
  expect(await sandbox.code).toBe(130);
}, 30_000);

test('a sandbox responds to its first requests before it has loaded the fetch of the platform', async () => {
  const program = `
    const { request } = process.getBuiltinModule('node:http');
    const { createHmac } = process.getBuiltinModule('node:crypto');
    const { startSandbox } = await import('hosted-client/sandbox');
    const sandbox = await startSandbox({ port: 0 });
    const send = (method, path, body) => new Promise((resolve, reject) => {
      request(sandbox.origin + path, { method }, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end(body);
    });
    const timestamp = new Date().toISOString();
    const signature = createHmac('sha256', 'sandbox-test-key').update(timestamp + '085sid_request').digest('base64');
    const link = { company_name: 'Example Partner', data_privacy_policy_url: 'https://partner.example/privacy' };
    const statuses = [
      await send('GET', '/health'),
      await send('POST', '/sandbox/v1/hosted_links', JSON.stringify({ partner_id: '085', timestamp, signature, ...link })),
    ];
    const loaded = process.moduleLoadList.filter((name) => name.includes('undici'));
    console.log(JSON.stringify({ statuses, loaded }));
    await sandbox.stop();`;

  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: built.folder,
  });

  expect(JSON.parse(stdout)).toEqual({ statuses: [200, 200], loaded: [] });
}, 30_000);

test('a wrong use exits 2, and a URL at which nothing responds at 4', async () => {
  const usage = launch(['snadbox']);
  const env = { HOSTED_PARTNER_ID: '085', HOSTED_API_KEY: 'key', HOSTED_SANDBOX_BASE_URL: await refusingOrigin() };
  const away = launch(['doctor'], env);

  expect([await usage.code, usage.streams.stdout]).toEqual([2, '']);
  expect(usage.streams.stderr).toContain('did you mean "hosted-client sandbox"?');
  expect(await away.code).toBe(4);
}, 30_000);

test('a sandbox whose messages are not read goes on, and ends as it should', async () => {
  const { child, streams, code } = launch(['sandbox', '--port', '0', '--json']);
  await expect.poll(() => streams.stdout, { timeout: 10_000 }).toContain('\n');
  const { origin } = JSON.parse(streams.stdout);
  child.stderr.destroy();

  // Each of them is a message.
  for (let count = 0; count < 5; count++) expect((await fetch(`${origin}/sandbox/none`)).status).toBe(404);
  child.kill('SIGINT');

  expect(await code).toBe(130);
}, 30_000);

// A device that is always full is there on Linux alone.
test('output that cannot be written exits 1', { tags: ['dev-full'], timeout: 30_000 }, async () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  const child = spawn(process.execPath, [built.command, '--help'], { env: nothing, stdio: ['ignore', full, 'pipe'] });
  let stderr = '';
  child.stderr?.on('data', (chunk) => (stderr += chunk));

  expect(await new Promise((resolve) => child.on('close', resolve))).toBe(1);
  expect(stderr).toContain('The output is not complete (ENOSPC)');
});

test('tracking without its packages names the first, and the command that installs it', async () => {
  // The folder of this build has no packages beside it.
  const { code, streams } = launch(['tracking', 'stats'], {
    HOSTED_PARTNER_ID: '085',
    HOSTED_API_KEY: 'key',
    HOSTED_SANDBOX_BASE_URL: 'https://service.test',
    DATABASE_URL: 'postgresql://app@127.0.0.1:9/app',
  });

  expect({ code: await code, ...streams }).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Cannot create a tracker: the package "pg" is not installed: npm install pg\n',
  });
}, 30_000);
