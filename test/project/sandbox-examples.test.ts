/**
 * What docs/sandbox.md and docs/cli.md show runs. Their TypeScript stands in examples. Their commands are given to a
 * shell word for word, but for ports that another program may have, and for the ids that the page says to write.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { submit } from '../sandbox/running.js';
import { type BuiltPackage, buildPackage } from '../support/built-package.js';

const blocksOf = (page: string, language: string) =>
  [...readFileSync(`docs/${page}.md`, 'utf8').matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    ([, code]) => code ?? '',
  );

let built: BuiltPackage;

beforeAll(async () => {
  built = await buildPackage(['express']);
});

afterAll(() => built.remove());

/** Runs commands in a terminal of their own, which has nothing but a path and what is pasted into it. */
function openTerminal(commands: string, pasted = '') {
  const child = spawn('bash', ['-ec', `${pasted}\n${commands}`], {
    cwd: built.folder,
    env: { PATH: `${built.bin}:${process.env.PATH}`, HOME: built.folder } as NodeJS.ProcessEnv,
    detached: true,
  });
  const streams = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (streams.stdout += chunk));
  child.stderr.on('data', (chunk) => (streams.stderr += chunk));
  const closed = once(child, 'close');
  onTestFinished(async () => {
    // What the shell has started goes with it.
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid);
    await closed;
  });
  const shows = (pattern: RegExp) =>
    vi.waitFor(
      () => {
        const found = pattern.exec(streams.stdout);
        if (found === null) throw new Error(`It did not print ${pattern}: ${streams.stdout}${streams.stderr}`);
        return found;
      },
      { timeout: 20_000 },
    );
  const end = async () => {
    const [code] = await closed;
    expect({ code, stderr: streams.stderr }).toEqual({ code: 0, stderr: '' });
    return streams.stdout;
  };
  return { shows, end };
}

/** Starts a sandbox by its command, and gives the lines to paste. */
async function openSandbox(command: string) {
  const { shows } = openTerminal(`${command.trim()} --port 0`);
  const [, origin = ''] = await shows(/^The sandbox and its console: (\S+)$/m);
  const [pasted] = await shows(/(?:^export .*\n)+/m);
  return { origin, pasted };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

test('every block of TypeScript stands word for word in an example', () => {
  const examples = readdirSync('examples')
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(`examples/${file}`, 'utf8').replaceAll(/^ +/gm, ''));
  const blocks = ['sandbox', 'cli'].flatMap((page) => blocksOf(page, 'ts'));
  const plain = blocks.map((block) => block.trim().replaceAll(/^ +/gm, ''));

  expect(plain.length).toBeGreaterThan(2);
  expect(plain.filter((block) => !examples.some((source) => source.includes(block)))).toEqual([]);
});

test('docs/sandbox.md: a link from code, its page, and the callback in Express', async () => {
  const [install, sandbox = '', start = ''] = blocksOf('sandbox', 'sh');
  const [program = ''] = blocksOf('sandbox', 'ts');
  const example = readFileSync(new URL('../../examples/try-the-sandbox.ts', import.meta.url), 'utf8');
  const [, file = ''] = /^node (\S+)\n$/.exec(start) ?? [];
  writeFileSync(join(built.folder, file), program.replaceAll('3000', String(await freePort())));

  const { pasted } = await openSandbox(sandbox);
  const server = openTerminal(start, pasted);
  const [, url = ''] = await server.shows(/^Open (\S+)$/m);
  const { status } = await submit(url, { consent: 'yes', outcome: 'approved' });

  // A registry is asked for these in the checks of the packed package.
  expect(install).toBe('npm install hosted-client express\n');
  expect(example).toContain(program);
  expect(status).toBe(303);
  await server.shows(/^Job \S+: succeeded$/m);
}, 60_000);

test('docs/sandbox.md: the same by curl alone', async () => {
  const [, sandbox = '', , script = '', ...others] = blocksOf('sandbox', 'sh');
  const { origin } = await openSandbox(sandbox);

  const stdout = await openTerminal(script.replace('http://127.0.0.1:4085', origin)).end();

  expect(stdout).toMatch(/^Your identity was verified\n/);
  expect(JSON.parse(stdout.slice(stdout.indexOf('\n')))).toMatchObject([
    { operation: 'links.create', status: 200, signature: { problem: null } },
  ]);
  expect(others).toEqual([]);
}, 60_000);

test('docs/cli.md: a link, its outcome and its callback by commands', async () => {
  const [sandbox = '', listen = '', commands = '', ...others] = blocksOf('cli', 'sh');
  const { pasted } = await openSandbox(sandbox);
  const door = openTerminal(`${listen.trim()} --port 0`, pasted);
  const [, port = ''] = await door.shows(/receives callbacks at http:\/\/127\.0\.0\.1:(\d+)\/$/m);
  const ids = new Map<string, string>();
  const names = { 'Reference id': 'REF', 'User id': 'USER_ID', 'Job id': 'JOB_ID' };
  let stdout = '';

  for (const line of commands.trim().split('\n')) {
    const written = line.replace(/\b(?:REF|USER_ID|JOB_ID)\b/g, (name) => ids.get(name) ?? name);
    stdout = await openTerminal(written.replace('4086', port), pasted).end();
    for (const [label, name] of Object.entries(names)) {
      const [, id] = new RegExp(`^${label} +(\\S+)$`, 'm').exec(stdout) ?? [];
      if (id !== undefined) ids.set(name, id);
    }
    if (line.includes('jobs wait')) expect(stdout).toMatch(/succeeded/);
  }

  await door.shows(new RegExp(`${ids.get('JOB_ID')}.*succeeded`));
  const findings = stdout.trim().split('\n');
  expect(findings.length).toBeGreaterThan(5);
  expect(findings.filter((finding) => !finding.startsWith('well '))).toEqual([]);
  expect(others).toEqual([]);
}, 60_000);
