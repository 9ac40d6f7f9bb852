/** The command `sandbox`. */

import { parseEnv } from 'node:util';
import { HostedClient } from 'hosted-client';
import { expect, test } from 'vitest';
import { newLink, receiving, spyOnWarnings, write } from '../sandbox/running.js';
import { command, expectWrongUse, start } from './running.js';

/** A sandbox that is started with these flags, what it prints once it listens, and a client of it. */
async function startJson(...flags: readonly string[]) {
  const { streams, interrupt } = start(['sandbox', '--port', '0', '--json', ...flags]);
  await expect.poll(() => streams.stdout).toContain('\n');
  const facts = JSON.parse(streams.stdout.slice(0, streams.stdout.indexOf('\n')));
  const { baseUrls, partnerId, apiKeys, wire } = facts;
  const client = new HostedClient({ partnerId, apiKey: apiKeys.sandbox, baseUrls, ...(wire && { wire }) });
  return { ...facts, streams, interrupt, client };
}

test('sandbox prints URLs and keys ready to paste, and a line for each request', async () => {
  const { streams, interrupt } = start(['sandbox', '--port', '0']);
  await expect.poll(() => streams.stdout).toContain('Ctrl+C');
  const pasted = Object.fromEntries(
    [...streams.stdout.matchAll(/^export (HOSTED_\w+)=(.+)$/gm)].map(([, name, to]) => [name, to]),
  );

  const expiresAt = '2020-01-01T00:00:00Z';
  await HostedClient.fromEnv({}, { env: pasted }).links.create({ ...newLink, expiresAt });
  await fetch(`${pasted.HOSTED_SANDBOX_BASE_URL}/v1/hosted_links/list`, { method: 'POST', body: '{}' });

  expect(pasted).toMatchObject({ HOSTED_PARTNER_ID: '085', HOSTED_ENVIRONMENT: 'sandbox' });
  expect(streams.stdout).toMatch(
    /^\d\d:\d\d:\d\d request 1 sandbox links\.create link \w+ 200 \d+ ms\n {2}note: "expires_at" is in the past, so the link has already expired$/m,
  );
  expect(streams.stdout).toMatch(
    /^\S+ request 2 sandbox links\.list 400 \d+ ms: Send "partner_id": it is missing in the request$/m,
  );
  expect(await interrupt()).toBe(130);
  await expect(fetch(pasted.HOSTED_SANDBOX_BASE_URL ?? '')).rejects.toThrow();
});

test('sandbox writes a line for each attempt to deliver a callback', async () => {
  const { streams, interrupt, origin, client } = await startJson();
  const { url } = await receiving(500);
  const { refId } = await client.links.create({ ...newLink, callbackUrl: url });

  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ refId, outcome: 'approved' });
  const { jobId } = await (await fetch(`${origin}/control/play`, { method: 'POST', headers, body })).json();

  const line = `callback 1 job ${jobId} → 500, next in 1 s: the receiver responded with 500\n`;
  await expect.poll(() => streams.stderr).toContain(line);
  expect(await interrupt()).toBe(130);
});

test('sandbox --shell writes the variables for another shell', async () => {
  const { streams, interrupt } = start(['sandbox', '--port', '0', '--shell', 'fish'], { SHELL: '/bin/bash' });
  await expect.poll(() => streams.stdout).toContain('Ctrl+C');

  expect(streams.stdout).toContain('\nset -gx HOSTED_ENVIRONMENT ');
  expect(await interrupt()).toBe(130);
});

test('sandbox --shell env writes nothing but variables to stdout, for a file that Node reads', async () => {
  const { streams, interrupt } = start(['sandbox', '--port', '0', '--shell', 'env']);
  await expect.poll(() => streams.stderr).toContain('Ctrl+C');

  const { HOSTED_SANDBOX_BASE_URL: url = '', ...variables } = parseEnv(streams.stdout);
  await fetch(`${url}/v1/hosted_links`);

  expect(streams.stdout).toMatch(/^(?:HOSTED_\w+=\S+\n){5}$/);
  expect(variables).toMatchObject({ HOSTED_PARTNER_ID: '085', HOSTED_ENVIRONMENT: 'sandbox' });
  expect(streams.stderr).toMatch(/^The sandbox and its console: http\S+\nIt is a simulation: .+\n+The key of /);
  await expect.poll(() => streams.stderr).toMatch(/\n\S+ request 1 sandbox /);
  expect(await interrupt()).toBe(130);
});

test('sandbox --json prints one line once it listens; requests go to stderr', async () => {
  const { streams, interrupt, origin, baseUrls, partnerId, apiKeys } = await startJson();

  await new HostedClient({ partnerId, apiKey: apiKeys.production, environment: 'production', baseUrls }).links.list();

  expect(baseUrls).toEqual({ sandbox: `${origin}/sandbox`, production: `${origin}/production` });
  expect(streams.stdout.split('\n')).toHaveLength(2);
  expect(streams.stderr).toMatch(/^\S+ request 1 production links\.list 200 \d+ ms\n$/);
  expect(await interrupt()).toBe(130);
});

test('the flags of sandbox are its options', async () => {
  const { received, url } = await receiving();
  const { origin, client } = await startJson(
    ...['--seed', '7', '--spelling', 'sample', '--first-page', '0', '--host', '127.0.0.1'],
    ...['--latency', '1', '--failure-rate', '0', '--callback-url', url],
    ...['--allow-callbacks', 'one.example', '--allow-callbacks', 'two.example'],
  );

  const { refId } = await client.links.create(newLink);
  const played = await command(['play', refId, 'approved', '--origin', origin]);

  expect(played.code).toBe(0);
  expect((await client.links.list()).meta.currentPage).toBe(0);
  await expect.poll(() => received.length).toBe(1);
});

test('the flags of the wire are options of the service, and are printed for its clients', async () => {
  const { streams, interrupt, origin, client } = await startJson(
    ...['--allow-host', 'sandbox.internal', '--allow-host', 'mapped.internal:80'],
    ...['--link-base-url', 'http://sandbox.internal/links', '--brand', 'acme', '--list-marker', 'all'],
    ...['--timestamp-format', 'epoch-ms', '--job-timestamp-format', 'epoch-s', '--job-signature-member', 'signature'],
    ...['--job-flags', 'string', '--echoes-timestamp'],
  );

  const { refId, url } = await client.links.create(newLink);
  const played = await command(['play', refId, 'approved', '--origin', origin, '--json']);
  const status = await client.jobs.status({ ...JSON.parse(played.stdout), history: true });

  expect(url).toBe(`http://sandbox.internal/links/${refId}`);
  expect((await client.links.list()).links).toHaveLength(1);
  expect(status.state).toBe('succeeded');
  expect(streams.stderr).toContain('sandbox links.list 200');
  const { port } = new URL(origin);
  for (const host of ['sandbox.internal', `sandbox.internal:${port}`, 'mapped.internal:80']) {
    expect((await write(Number(port), { headers: { host } })).status).toBe(200);
  }
  expect(await interrupt()).toBe(130);
});

test('sandbox for other machines prints lines that work: URLs for clients here, and for people elsewhere', async () => {
  spyOnWarnings();
  const { streams, interrupt } = start(['sandbox', '--port', '0', '--host', '0.0.0.0', '--brand', 'acme']);
  await expect.poll(() => streams.stdout).toContain('Ctrl+C');

  const [, elsewhere = ''] = /^On other machines: (.+)$/m.exec(streams.stdout) ?? [];
  const env = Object.fromEntries(
    [...streams.stdout.matchAll(/^export (HOSTED_\w+)=(.+)$/gm)].map(([, name, to]) => [name, to]),
  );

  expect((await fetch(`${elsewhere}/health`)).status).toBe(200);
  const [, wire = ''] = /^Clients need the option "wire": (.+)$/m.exec(streams.stdout) ?? [];
  expect((await HostedClient.fromEnv({ wire: JSON.parse(wire) }, { env }).links.list()).links).toEqual([]);
  expect(await interrupt()).toBe(130);
});

test('a port in use exits 1, and names it', async () => {
  const { port } = await receiving();

  const { code, stdout, stderr } = await command(['sandbox', '--port', String(port)]);

  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(
    new RegExp(`^Cannot start the sandbox: --port must be a free port, and ${port} on 127.0.0.1 is in use`),
  );
});

test('a port that fetch and browsers do not connect to is refused', async () => {
  const { code, stderr } = await command(['sandbox', '--port', '6000']);

  expect(code).toBe(1);
  expect(stderr).toMatch(/^Cannot start the sandbox: --port must be another port: fetch and browsers connect to no/);
});

test.each([
  [['--port', '70000'], '--port must be an integer from 0 to 65535\n'],
  [['--seed', 'one'], '--seed must be an integer\n'],
  [['--seed'], '--seed needs a value: --seed N'],
  [['--port', '--json'], '--port needs a value: --port N'],
  [['--port', '1', '--port', '2'], '--port is given twice: give it once'],
  [['--json=yes'], '--json takes no value'],
  [['--spelling', 'tabel'], '--spelling must be one of table, sample, random: did you mean "table"?'],
  [['--failure-rate', '2'], '--failure-rate must be a number from 0 to 1\n'],
  [['--callback-url', 'ftp://partner.example'], '--callback-url must be an absolute http or https URL'],
  [['--brand', 'Acme Inc'], '--brand must be a word in lower case\n'],
  [['--link-base-url', 'links'], '--link-base-url must be an absolute http or https URL'],
  [['--allow-host', 'http://sandbox.internal'], '--allow-host must be a host name, with or without a port\n'],
  [['--timestamp-format', 'unix'], '--timestamp-format must be one of iso, epoch-ms, epoch-s\n'],
  [['--fodler', 'x'], 'Argument 2 is not a flag of hosted-client sandbox: did you mean --folder?'],
  [
    ['--json', '--colour', 'x'],
    'Argument 3 is not a flag of hosted-client sandbox: "hosted-client sandbox --help" lists',
  ],
  [['4085'], 'Argument 2 is one too many: hosted-client sandbox'],
])('sandbox %j is a wrong use, which is named', async (args, message) => {
  await expectWrongUse(['sandbox', ...args], message);
});
