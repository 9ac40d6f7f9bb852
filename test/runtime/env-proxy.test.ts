// What goes to this machine is not sent through a proxy that the environment names.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { HostedClient, type HostedClientOptions, HostedConfigError } from 'hosted-client';
import { EnvHttpProxyAgent, fetch as undiciFetch } from 'undici';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type ProcessFacts, usesEnvProxy } from '../../src/runtime/env-proxy.js';
import { apiKey, partnerId, thrownBy } from '../support/fake-fetch.js';

type Variables = Readonly<Record<string, string>>;

const proxyUrl = 'http://proxy.hosted.test:3128';
const factsOf = (runtime: ProcessFacts['runtime'], variables: Variables, execArgv: readonly string[] = []) => ({
  runtime,
  read: (name: string) => variables[name],
  execArgv,
});
const inNode = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxyUrl };

// Which hosts Node excepts, by undici's own agent -----------------------------

const throughProxy: string[] = [];
const proxy = createServer((request, response) => {
  throughProxy.push(request.url ?? '');
  response.end();
}).on('connect', (request, socket) => {
  throughProxy.push(request.url ?? '');
  socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
});
const target = createServer((_request, response) => response.end('{"link_url":"https://a.test/","ref_id":"ref-1"}'));

const originOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const listening = (server: Server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const closed = (server: Server) => new Promise((resolve) => server.close(resolve).closeAllConnections());

beforeAll(() => Promise.all([listening(proxy), listening(target)]));
afterAll(() => Promise.all([closed(proxy), closed(target)]));

const port = () => (target.address() as AddressInfo).port;
const hosts = ['127.0.0.1', 'localhost', '[::1]'];
const exceptions = [
  ...['', '*', ' * ', '*,a.test', '127.0.0.1', 'localhost', 'LOCALHOST', '[::1]', '::1', '127.0.0.1,localhost,[::1]'],
  ...['a.test, 127.0.0.1', 'a.test 127.0.0.1', ',,localhost,', '127.0.0.1:PORT', '127.0.0.1:1', 'localhost:PORT'],
  ...['127.0.0.0/8', '127.*', '.0.0.1', '*.localhost', '<local>', 'http://127.0.0.1', 'notlocalhost', '0.1', 'host'],
];

test.each(exceptions)('with NO_PROXY=%j, what Node sends to a proxy is found', async (noProxy) => {
  const excepted = noProxy.replace('PORT', String(port()));
  const agent = new EnvHttpProxyAgent({ httpProxy: originOf(proxy), noProxy: excepted });
  const found: boolean[] = [];

  for (const host of hosts) {
    throughProxy.length = 0;
    const url = `http://${host}:${port()}`;
    await undiciFetch(url, { dispatcher: agent }).then(
      (response) => response.text(),
      () => undefined,
    );
    const verdict = usesEnvProxy(url, factsOf('node', { ...inNode, NO_PROXY: excepted }));
    // What is excepted in ways that not every runtime knows may be refused all the same.
    if (throughProxy.length > 0) expect([host, verdict]).toEqual([host, true]);
    found.push(verdict);
  }

  await agent.close();
  const plain = ['*', 'LOCALHOST', ',,localhost,', '127.0.0.1,localhost,[::1]', '127.0.0.1:PORT', 'a.test 127.0.0.1'];
  if (plain.includes(noProxy)) expect(found).toContain(false);
});

const https = (variables: Variables) => usesEnvProxy('https://127.0.0.1:8443', factsOf('node', variables));

test.each<[Variables, boolean]>([
  [{ ...inNode, HTTP_PROXY: '', HTTPS_PROXY: proxyUrl }, true],
  // Without a proxy for https, Node takes the one for http.
  [inNode, true],
  [{ ...inNode, NO_PROXY: '127.0.0.1:8443' }, false],
  [{ HTTPS_PROXY: proxyUrl }, false],
  [{ NODE_USE_ENV_PROXY: '1' }, false],
])('with %j, https is sent to a proxy: %j', async (variables, expected) => {
  expect(https(variables)).toBe(expected);
});

test('https in Bun and Deno has a proxy of its own', () => {
  for (const runtime of ['bun', 'deno'] as const) {
    const found = [{ HTTPS_PROXY: proxyUrl }, { ALL_PROXY: proxyUrl }, { HTTP_PROXY: proxyUrl }].map((variables) =>
      usesEnvProxy('https://localhost', factsOf(runtime, variables)),
    );
    expect(found).toEqual([true, true, false]);
  }
});

// What was seen of the others: Bun 1.4.5 and Deno 2.9.5 ------------------------

const seen: readonly [ProcessFacts['runtime'], Variables, string, boolean][] = [
  ...(['bun', 'deno'] as const).flatMap((runtime): [ProcessFacts['runtime'], Variables, string, boolean][] => [
    [runtime, {}, '127.0.0.1', false],
    [runtime, { HTTPS_PROXY: proxyUrl }, '127.0.0.1', false],
    [runtime, { HTTP_PROXY: proxyUrl }, '127.0.0.1', true],
    [runtime, { http_proxy: proxyUrl }, 'localhost', true],
    [runtime, { http_proxy: '', HTTP_PROXY: proxyUrl }, '127.0.0.1', true],
    [runtime, { ALL_PROXY: proxyUrl }, '[::1]', true],
    [runtime, { all_proxy: proxyUrl, HTTP_PROXY: '' }, '127.0.0.1', true],
    [runtime, { HTTP_PROXY: proxyUrl, NO_PROXY: '127.0.0.1' }, '127.0.0.1', false],
    [runtime, { HTTP_PROXY: proxyUrl, NO_PROXY: 'a.test, 127.0.0.1' }, '127.0.0.1', false],
    [runtime, { HTTP_PROXY: proxyUrl, NO_PROXY: 'localhost' }, 'localhost', false],
    [runtime, { HTTP_PROXY: proxyUrl, NO_PROXY: 'localhost' }, '127.0.0.1', true],
    [runtime, { HTTP_PROXY: proxyUrl, NO_PROXY: '127.0.0.1:1' }, '127.0.0.1', true],
  ]),
  ['bun', { HTTP_PROXY: proxyUrl, NO_PROXY: '*' }, '127.0.0.1', false],
  ['bun', { HTTP_PROXY: proxyUrl, NO_PROXY: '[::1]' }, '[::1]', false],
  ['bun', { HTTP_PROXY: proxyUrl, no_proxy: 'x', NO_PROXY: '*' }, '127.0.0.1', true],
  ['deno', { HTTP_PROXY: proxyUrl, NO_PROXY: '*' }, '127.0.0.1', true],
  ['deno', { HTTP_PROXY: proxyUrl, NO_PROXY: 'LOCALHOST' }, 'localhost', true],
  ['deno', { HTTP_PROXY: proxyUrl, NO_PROXY: '::1' }, '[::1]', false],
  ['deno', { HTTP_PROXY: proxyUrl, NO_PROXY: '[::1]' }, '[::1]', true],
  ['deno', { HTTP_PROXY: proxyUrl, no_proxy: '127.0.0.1' }, '127.0.0.1', false],
  ['deno', { HTTP_PROXY: proxyUrl, no_proxy: '127.0.0.1', NO_PROXY: 'x' }, '127.0.0.1', true],
  ['deno', { HTTP_PROXY: proxyUrl, no_proxy: 'x', NO_PROXY: '127.0.0.1' }, '127.0.0.1', false],
];

test.each(seen)('%s with %j sends to %s through the proxy: %j', (runtime, variables, host, expected) => {
  expect(usesEnvProxy(`http://${host}:4085`, factsOf(runtime, variables))).toBe(expected);
});

// When Node asks the environment at all; seen with 24.21.0 and 26.10.0 ---------

const HTTP_PROXY = proxyUrl;
const switched: readonly [Variables, readonly string[], boolean][] = [
  [{ HTTP_PROXY }, [], false],
  [{ HTTP_PROXY, NODE_USE_ENV_PROXY: '1' }, [], true],
  [{ HTTP_PROXY, NODE_USE_ENV_PROXY: 'true' }, [], false],
  [{ HTTP_PROXY, NODE_USE_ENV_PROXY: '0' }, [], false],
  [{ HTTP_PROXY }, ['--use-env-proxy'], true],
  [{ HTTP_PROXY }, ['--use_env_proxy'], true],
  [{ HTTP_PROXY, NODE_OPTIONS: '--no-warnings --use-env-proxy' }, [], true],
  [{ HTTP_PROXY, NODE_USE_ENV_PROXY: '1' }, ['--no-use-env-proxy'], false],
  [{ http_proxy: proxyUrl, NODE_USE_ENV_PROXY: '1' }, [], true],
  [{ http_proxy: '', HTTP_PROXY, NODE_USE_ENV_PROXY: '1' }, [], false],
  [{ HTTPS_PROXY: proxyUrl, ALL_PROXY: proxyUrl, NODE_USE_ENV_PROXY: '1' }, [], false],
  [{ HTTP_PROXY, NODE_USE_ENV_PROXY: '1', no_proxy: '', NO_PROXY: '*' }, [], true],
];

test.each(switched)('Node with %j and %j uses the proxy: %j', (variables, execArgv, expected) => {
  expect(usesEnvProxy('http://127.0.0.1:4085', factsOf('node', variables, execArgv))).toBe(expected);
});

test('where there is no process, there is no proxy', () => {
  expect(usesEnvProxy('http://127.0.0.1:4085', null)).toBe(false);

  vi.stubGlobal('process', undefined);
  const found = usesEnvProxy('http://127.0.0.1:4085');
  vi.unstubAllGlobals();

  expect(found).toBe(false);
});

test('Deno is asked for no variable that it would have to ask its user for', () => {
  const asked: object[] = [];
  const querySync = (what: object) => {
    asked.push(what);
    return { state: 'prompt' };
  };
  vi.stubEnv('HTTP_PROXY', proxyUrl);
  vi.stubGlobal('Deno', { permissions: { querySync } });
  const unknown = usesEnvProxy('http://127.0.0.1:4085');
  vi.stubGlobal('Deno', { permissions: { querySync: () => ({ state: 'granted' }) } });
  const known = usesEnvProxy('http://127.0.0.1:4085');
  vi.unstubAllGlobals();

  expect(asked).toContainEqual({ name: 'env', variable: 'HTTP_PROXY' });
  expect([unknown, known]).toEqual([false, true]);
});

test('what decides is read from the process itself, whichever runtime it is', () => {
  const found = (globals: object) => {
    for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
    const verdict = usesEnvProxy('http://localhost');
    vi.unstubAllGlobals();
    return verdict;
  };
  const Deno = { permissions: { querySync: () => ({ state: 'granted' }) } };
  const withPort = { HTTP_PROXY, NO_PROXY: 'localhost:80' };

  expect(found({ process: { env: inNode } })).toBe(true);
  expect(found({ process: { env: { HTTP_PROXY }, execArgv: ['--use-env-proxy'] } })).toBe(true);
  expect(found({ process: { env: { HTTP_PROXY }, execArgv: [] } })).toBe(false);
  expect(found({ process: { env: { HTTP_PROXY } }, Bun: {} })).toBe(true);
  // Deno knows no ports there; port 80 is that of http.
  expect(found({ process: { env: withPort }, Deno })).toBe(true);
  expect(found({ process: { env: withPort }, Bun: {} })).toBe(false);
  expect(found({ process: { env: { ...inNode, ...withPort } } })).toBe(false);
});

// The client --------------------------------------------------------------------

beforeEach(() => {
  for (const name of ['http_proxy', 'no_proxy', 'NO_PROXY', 'NODE_OPTIONS']) vi.stubEnv(name, undefined);
  for (const [name, value] of Object.entries(inNode)) vi.stubEnv(name, value);
});

afterEach(() => {
  vi.unstubAllEnvs();
});

const clientOf = (options: Partial<HostedClientOptions>) =>
  new HostedClient({
    partnerId,
    apiKey,
    baseUrls: { sandbox: 'http://127.0.0.1:4085' },
    ...options,
  } as HostedClientOptions);

test('a client of http on loopback is refused where a proxy would be sent its requests', () => {
  const error = thrownBy(() => clientOf({})) as HostedConfigError;

  expect(error).toBeInstanceOf(HostedConfigError);
  expect(error.issues.map(({ path }) => path)).toEqual(['baseUrls.sandbox']);
  expect(error.message).toContain('NO_PROXY');
  expect(error.message).not.toContain('proxy.hosted.test');
});

test.each<[string, Partial<HostedClientOptions>]>([
  ['the platform’s fetch, given by name', { fetch: globalThis.fetch }],
  ['https on loopback', { baseUrls: { sandbox: 'https://127.0.0.1:4085' } }],
  [
    'job status on loopback',
    { baseUrls: { sandbox: 'https://a.test' }, jobStatusBaseUrls: { sandbox: 'http://localhost:1' } },
  ],
])('%s is refused as well', (_what, options) => {
  expect(thrownBy(() => clientOf(options))).toMatchObject({
    code: 'config',
    message: expect.stringContaining('NO_PROXY'),
  });
});

test.each<[string, Partial<HostedClientOptions>, Variables]>([
  ['NO_PROXY excepts the host', {}, { NO_PROXY: '127.0.0.1' }],
  ['there is no proxy', {}, { HTTP_PROXY: '' }],
  ['Node was not told to use it', {}, { NODE_USE_ENV_PROXY: '' }],
  ['the base URL is of another machine', { baseUrls: { sandbox: 'https://sandbox.hosted.test' } }, {}],
  ['fetch is the caller’s own', { fetch: async () => new Response('{}') }, {}],
  [
    'the environment is another one',
    { environment: 'production', baseUrls: { sandbox: 'http://127.0.0.1:4085', production: 'https://a.test' } },
    {},
  ],
])('a client is created where %s', (_what, options, variables) => {
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);

  expect(clientOf(options)).toBeInstanceOf(HostedClient);
});

// In a process that was started so ------------------------------------------------

const run = promisify(execFile);

test('a process that was started with a proxy sends no request to it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hosted-client-'));
  const outfile = join(folder, 'client.mjs');
  await build({
    entryPoints: ['src/index.ts'],
    external: ['tweetnacl'],
    format: 'esm',
    platform: 'node',
    bundle: true,
    outfile,
  });
  const program = `
    import { HostedClient } from ${JSON.stringify(outfile)};
    try {
      const baseUrls = { sandbox: ${JSON.stringify(originOf(target))} };
      const client = new HostedClient({ partnerId: '085', apiKey: 'test-key', baseUrls });
      console.log((await client.links.get('ref-1')).refId);
    } catch (error) {
      console.log(error.code);
    }`;
  const env = { PATH: process.env.PATH, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: originOf(proxy) };
  throughProxy.length = 0;

  const start = (more: object) =>
    run(process.execPath, ['--input-type=module', '-e', program], { env: { ...env, ...more } });
  const refused = await start({});
  const excepted = await start({ NO_PROXY: 'localhost,127.0.0.1' });
  rmSync(folder, { recursive: true });

  expect([refused.stdout.trim(), excepted.stdout.trim()]).toEqual(['config', 'ref-1']);
  expect(throughProxy).toEqual([]);
});
