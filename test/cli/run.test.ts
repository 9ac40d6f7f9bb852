/** The command line as a whole: what is unknown, what help says, and that no secret is written. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { newLink, receiving, running } from '../sandbox/running.js';
import { command, type Env, envOf, start } from './running.js';

test.each([
  [[], 'A command is missing: hosted-client sandbox|links|jobs|play|listen|tracking|doctor'],
  [['lnks'], '"lnks" is not a command: did you mean "hosted-client links"?'],
  [['dcotor'], '"dcotor" is not a command: did you mean "hosted-client doctor"?'],
  [['verify'], '"verify" is not a command: hosted-client sandbox|links|jobs|play|listen|tracking|doctor'],
  [['links'], 'A command is missing: hosted-client links create|get|list|update|disable'],
  [['links', 'delete'], '"delete" is not a command: hosted-client links create|get|list|update|disable'],
  [['links', 'creat'], '"creat" is not a command: did you mean "hosted-client links create"?'],
  [['--jsno'], '"--jsno" is not a command: hosted-client sandbox'],
  [['__proto__'], '"__proto__" is not a command'],
  [['doctor', '--__proto__=x'], '"--__proto__" is not a flag of hosted-client doctor'],
  [['doctor', '-v'], '"-v" is not a flag of hosted-client doctor'],
  [
    ['doctor', '--api-key', 'x'],
    '"--api-key" is not a flag: keys are read only from environment variables, such as HOSTED_API_KEY',
  ],
  [['play', '\u001b[2J', 'approved', 'more\u001b[2J'], '"more�[2J" is one argument too many'],
])('%j exits 2, and names what would be right', async (args, message) => {
  const { code, stdout, stderr } = await command(args);

  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(message);
});

test('--help names every command and exit code, and --version the version', async () => {
  const { code, stdout } = await command(['--help']);
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

  expect(code).toBe(0);
  for (const name of [
    'sandbox',
    'links create',
    'links get REF',
    'links list',
    'links update REF',
    'links disable REF',
  ]) {
    expect(stdout).toContain(`\n  ${name} `);
  }
  for (const name of [
    'jobs status USER_ID JOB_ID',
    'jobs wait USER_ID JOB_ID',
    'play REF OUTCOME',
    'listen',
    'tracking stats',
    'tracking dead-letters',
    'tracking retry [KEY]',
    'doctor',
  ]) {
    expect(stdout).toContain(`\n  ${name} `);
  }
  expect(stdout.replaceAll('\n', ' ')).toContain(
    '0 done, and doctor found nothing wrong; 1 rejected, or doctor found something wrong; 2 wrong usage; 3 not complete in time; 4 no response from the server; 130 interrupted',
  );
  expect(await command(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

/** Every command, with a name of each flag that its help shows. */
async function flagsOf(name: string) {
  const { code, stdout } = await command([...name.split(' '), '--help']);
  expect(code).toBe(0);
  return [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag ?? '');
}

const names = [
  'sandbox',
  ...['create', 'get', 'list', 'update', 'disable'].map((name) => `links ${name}`),
  ...['jobs status', 'jobs wait', 'play', 'listen', 'doctor'],
  ...['stats', 'dead-letters', 'retry'].map((name) => `tracking ${name}`),
];

test.each(names)('docs/cli.md names %s and its flags', async (name) => {
  const page = readFileSync('docs/cli.md', 'utf8');
  const flags = await flagsOf(name);

  expect(page).toContain(`\`${name}`);
  expect(flags).toContain('--json');
  expect(flags.filter((flag) => !page.includes(flag))).toEqual([]);
});

test('docs/cli.md names no flag that is not there', async () => {
  const page = readFileSync('docs/cli.md', 'utf8');
  const known = new Set((await Promise.all(names.map(flagsOf))).flat());

  expect([...page.matchAll(/--[a-z][a-z-]+/g)].map(([flag]) => flag).filter((flag) => !known.has(flag))).toEqual([]);
});

const secret = 'k9-very-secret-key-of-this-test';

/** Runs every command, and gives all that they wrote. */
async function writtenBy(env: Env, origin: string, refId: string, ids: readonly string[]): Promise<string> {
  const { url } = await receiving();
  const create = ['links', 'create', '--company-name', 'x', '--data-privacy-policy-url', 'https://partner.example/'];
  const all = [
    create,
    ['links', 'get', refId],
    ['links', 'list'],
    ['links', 'update', refId, '--disabled', 'false'],
    ['jobs', 'status', ...ids],
    ['jobs', 'wait', ...ids, '--deadline', '30'],
    ['play', refId, 'approved', '--origin', origin],
    ['doctor', '--callback', url],
    ['links', 'disable', refId],
    ['links', 'list', '--limit', secret.length.toString(), '--oops'],
    [`--api-key=${secret}`, 'links', 'list'],
    ['links', `--api-key=${secret}`],
    ['tracking', 'stats'],
    ['tracking', 'retry', '--all'],
  ];
  let written = '';
  for (const args of all) {
    for (const more of [[], ['--json']]) {
      const { stdout, stderr } = await command([...args, ...more], { env, isTTY: true });
      written += stdout + stderr;
    }
  }
  const { streams, interrupt } = start(['listen', '--port', '0'], env);
  await expect.poll(() => streams.stdout + streams.stderr).not.toBe('');
  await interrupt();
  return written + streams.stdout + streams.stderr;
}

test('no command writes a secret, whether the service accepts it or not', async () => {
  const { sandbox, client } = await running({ apiKeys: { sandbox: secret, production: `${secret}-of-production` } });
  const { refId } = await client.links.create(newLink);
  const job = await sandbox.play(refId, 'never');
  const ids = [job.userId, job.jobId];
  const env: Env = {
    ...envOf(sandbox.clientOptions()),
    DATABASE_URL: `postgresql://app:${secret}@127.0.0.1:1/${secret}`,
  };
  const { HOSTED_SANDBOX_BASE_URL = '' } = env;

  const right = await writtenBy(env, sandbox.origin, refId, ids);
  const blank = await writtenBy({ ...env, HOSTED_API_KEY: `${secret}\n` }, sandbox.origin, refId, ids);
  const wrong = await writtenBy({ ...env, HOSTED_API_KEY: `${secret}-x` }, sandbox.origin, refId, ids);
  const inUrl = HOSTED_SANDBOX_BASE_URL.replace('http://', `http://user:${secret}@`);
  const url = await writtenBy({ ...env, HOSTED_SANDBOX_BASE_URL: inUrl }, sandbox.origin, refId, ids);
  const ed25519 = { ...env, HOSTED_API_KEY: '', HOSTED_SECRET_KEY: secret, HOSTED_SERVICE_PUBLIC_KEY: secret };
  const keys = await writtenBy(ed25519, sandbox.origin, refId, ids);

  expect(right).toContain(refId);
  for (const written of [right, blank, wrong, url, keys]) {
    expect(written.length).toBeGreaterThan(500);
    expect(written).not.toContain(secret.slice(0, 12));
  }
});
