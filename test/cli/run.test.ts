/** The command line as a whole: what is unknown, what help says, and that no secret is written. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { newLink, receiving, running } from '../sandbox/running.js';
import { command, type Env, envOf, expectWrongUse, start } from './running.js';

/** Every command. */
const names = [
  'sandbox',
  ...['create', 'get', 'list', 'update', 'disable'].map((name) => `links ${name}`),
  ...['jobs status', 'jobs wait', 'play', 'listen', 'doctor'],
  ...['stats', 'dead-letters', 'retry', 'migrate'].map((name) => `tracking ${name}`),
];

test.each([
  [['lnks'], 'Argument 1 is not a command: did you mean "hosted-client links"?'],
  [['dcotor'], 'Argument 1 is not a command: did you mean "hosted-client doctor"?'],
  [['verify'], 'Argument 1 is not a command: hosted-client sandbox|links|jobs|play|listen|tracking|doctor'],
  [['links'], 'A command is missing: hosted-client links create|get|list|update|disable'],
  [['links', 'delete'], 'Argument 2 is not a command: hosted-client links create|get|list|update|disable'],
  [['links', 'creat'], 'Argument 2 is not a command: did you mean "hosted-client links create"?'],
  [['--jsno'], 'Argument 1 is not a command: hosted-client sandbox'],
  [['__proto__'], 'Argument 1 is not a command'],
  [['doctor', '--__proto__=x'], 'Argument 2 is not a flag of hosted-client doctor'],
  [['doctor', '-v'], 'Argument 2 is not a flag of hosted-client doctor'],
  [
    ['doctor', '--api-key', 'x'],
    'Argument 2 is not a flag of hosted-client doctor: keys and URLs are read only from environment variables, such as HOSTED_API_KEY',
  ],
  [['play', '\u001b[2J', 'approved', 'more\u001b[2J'], 'Argument 4 is one too many: hosted-client play [REF] OUTCOME'],
])('%j exits 2, and names what would be right', async (args, message) => {
  await expectWrongUse(args, message);
});

test.each([
  [[], ['--help']],
  [['help'], ['--help']],
  [['-h'], ['--help']],
  [
    ['help', 'links', 'create'],
    ['links', 'create', '--help'],
  ],
  [
    ['help', 'doctor'],
    ['doctor', '-h'],
  ],
  [
    ['links', '--help'],
    ['help', 'links'],
  ],
  [['-v'], ['--version']],
])('%j prints the same as %j', async (args, others) => {
  const one = await command(args);

  expect(one).toEqual(await command(others));
  expect(one).toMatchObject({ code: 0, stderr: '' });
});

test('help of a group has its commands alone', async () => {
  const { stdout } = await command(['help', 'jobs']);

  expect(stdout.match(/^ {2}\w+ \w+/gm)).toEqual(['  jobs status', '  jobs wait']);
});

test('help of an unknown command says what would be right', async () => {
  const { code, stderr } = await command(['help', 'lnks']);

  expect([code, stderr]).toEqual([2, 'Argument 1 is not a command: did you mean "hosted-client links"?\n']);
});

test('--help names every command and exit code, and --version the version', async () => {
  const { code, stdout } = await command(['--help']);
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

  expect(code).toBe(0);
  for (const name of names) expect(stdout).toContain(`\n  ${name} `);
  expect(stdout.replaceAll('\n', ' ')).toContain(
    '0 done, and doctor found nothing wrong; 1 rejected, or doctor found something wrong; 2 wrong usage; 3 not complete in time; 4 no response from the server; 130 interrupted',
  );
  expect(await command(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

/** The name of each flag that the help of a command shows. */
async function flagsOf(name: string) {
  const { code, stdout } = await command([...name.split(' '), '--help']);
  expect(code).toBe(0);
  return [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag ?? '');
}

test.each(names)('docs/cli.md names %s and its flags', async (name) => {
  const lines = readFileSync('docs/cli.md', 'utf8').split('\n');
  const isOfOthers = (line: string) => line.startsWith('| `') && !line.startsWith(`| \`${name}`);
  const page = lines.filter((line) => !isOfOthers(line)).join('\n');
  const flags = await flagsOf(name);

  expect(page).toContain(`| \`${name}`);
  expect(flags).toContain('--json');
  expect(flags.filter((flag) => !page.includes(flag))).toEqual([]);
});

test('docs/cli.md names no flag that is not there', async () => {
  const page = readFileSync('docs/cli.md', 'utf8');
  const known = new Set((await Promise.all(names.map(flagsOf))).flat());

  expect([...page.matchAll(/--[a-z][a-z-]+/g)].map(([flag]) => flag).filter((flag) => !known.has(flag))).toEqual([]);
});

const secret = 'k9-very-secret-key-of-this-test';

/** Every argument that may be given in place of a variable. */
const planted = [
  secret,
  `--${secret}`,
  `-${secret}`,
  `HOSTED_API_KEY=${secret}`,
  `--api-key=${secret}`,
  `--apikey=${secret}`,
  `DATABASE_URL=postgresql://app:${secret}@db.test/app`,
  `postgresql://app:${secret}@sandbox.test/links?sslmode=require`,
  `links${secret}`,
  `--json${secret}`,
  `--json=${secret}`,
];

/** Whether a value is printed, in whole or in part, or in other letters. */
function shows(text: string): boolean {
  return text.toLowerCase().includes(secret.slice(0, 12));
}

test.each(planted)('%j is not printed as a command, or beside any command', async (given) => {
  const commands = ['', 'links', 'jobs', 'tracking', ...names].map((name) => name.split(' ').filter(Boolean));
  for (const words of commands) {
    for (const args of [
      [given, ...words],
      [...words, given],
      [...words, 'a', given],
      [...words, 'a', 'b', given],
      [...words, '--json', given, '--oops'],
    ]) {
      const { code, stdout, stderr } = await command([...args, '--no-such-flag']);
      expect(code).toBe(2);
      expect(stderr).toMatch(/^(?:Argument|A command|--json)/);
      expect(stdout + stderr).not.toSatisfy(shows);
    }
  }
});

test.each(names)('a key is not printed as the value of a flag of %s', async (name) => {
  for (const flag of await flagsOf(name)) {
    for (const given of planted) {
      for (const args of [[flag, given], [`${flag}=${given}`]]) {
        // The last flag is unknown, so that no command runs.
        const { code, stdout, stderr } = await command([...name.split(' '), ...args, '--no-such-flag']);
        expect(flag === '--help' || code === 2).toBe(true);
        expect(stdout + stderr).not.toSatisfy(shows);
      }
    }
  }
});

test.each([
  ['HOSTED_API_KEY=x', 'Argument 1 is not a command'],
  ['--api-key=x', 'Argument 1 is not a command'],
  ['postgresql://app@db.test/app', 'Argument 1 is not a command'],
])('%s as a command gets the command where it belongs', async (given, what) => {
  const { stderr } = await command([given, 'doctor']);

  expect(stderr).toBe(`${what}: keys and URLs are read only from environment variables, such as HOSTED_API_KEY\n`);
});

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
    ['links', 'get', secret],
    ['links', 'update', secret, '--id-type', secret],
    ['links', 'update', secret, '--id-type', `NG:BVN:${secret}`],
    ['links', 'disable', secret],
    [...create, '--expires-at', secret],
    [...create, '--callback-url', `partner.example/${secret}`],
    ['jobs', 'status', secret, secret],
    ['jobs', 'wait', secret, secret, '--deadline', '30'],
    ['play', secret, 'approved', '--origin', origin],
    ['play', refId, secret, '--origin', origin],
    ['play', refId, 'approved', '--origin', `http://app:${secret}@127.0.0.1:9/${secret}`],
    ['doctor', '--callback', `http://app:${secret}@127.0.0.1:9/${secret}`],
    ['sandbox', '--folder', `/dev/null/${secret}`],
    ['tracking', 'stats'],
    ['tracking', 'stats', '--schema', 'k9_very_secret_key'],
    ['tracking', 'stats', '--folder', secret],
    ['tracking', 'dead-letters', '--after', secret],
    ['tracking', 'retry', secret],
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
    expect(written.replaceAll('_', '-')).not.toSatisfy(shows);
  }
});
