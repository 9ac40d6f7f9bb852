// The mistakes that people make first: each message says what is wrong and what to do next, and none shows a
// secret. `test/published` has what other tools say of two of them: a CommonJS jest, and a bundle for browsers.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { HostedClient, type HostedClientOptions, HostedError, hmacSha256 } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import { createMockService } from 'hosted-client/testing';
import ts from 'typescript';
import { Agent, fetch as undiciFetch } from 'undici';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { createAuthority, createServerCertificate } from './support/certificates.js';
import { rejection, thrownBy } from './support/fake-fetch.js';

const secrets = {
  key: 'planted-key-0a1b2c',
  path: 'planted-path',
  refId: 'planted-ref-id',
  body: 'planted-person',
};

const servers: Server[] = [];
afterAll(() => Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve)))));
afterEach(() => {
  vi.unstubAllGlobals();
});

async function portOf(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function refusingPort(): Promise<number> {
  const server = createHttpServer();
  const port = await portOf(server);
  await new Promise((resolve) => server.close(resolve));
  servers.pop();
  return port;
}

/** A client of the testing kit, with something wrong about it. */
function clientOfKit(wrong: Partial<HostedClientOptions>) {
  const { sandbox, fetch } = createMockService();
  const { apiKey, ...options } = sandbox.clientOptions;
  const key = wrong.signer === undefined ? { apiKey: apiKey ?? '' } : {};
  return new HostedClient({ ...options, ...key, fetch, maxRetries: 0, ...wrong } as HostedClientOptions);
}

/** A client of a server on loopback. Its platform's fetch, unless another is given. */
function clientAt(origin: string, options: Partial<HostedClientOptions> = {}) {
  const baseUrls = { sandbox: `${origin}/${secrets.path}` };
  return new HostedClient({
    partnerId: '085',
    apiKey: secrets.key,
    baseUrls,
    maxRetries: 0,
    ...options,
  } as HostedClientOptions);
}

const get = (client: HostedClient) => rejection(client.links.get(secrets.refId));

const authority = createAuthority('Authority of a test');

/** A fetch that trusts the authority of the test, and an origin whose certificate is by it. */
async function servingTls(certificate: Parameters<typeof createServerCertificate>[1] = {}) {
  const { cert, key } = createServerCertificate(authority, certificate);
  const origin = `https://127.0.0.1:${await portOf(createHttpsServer({ cert, key }, (_request, response) => response.end('{}')))}`;
  const dispatcher = new Agent({ connect: { ca: authority.cert } });
  const fetch = ((url: string, init: object) => undiciFetch(url, { ...init, dispatcher })) as never;
  return { origin, fetch };
}

const link = { companyName: 'Example Ltd', dataPrivacyPolicyUrl: 'https://partner.test/privacy', callbackUrl: null };

/** A genuine callback. */
function callback(): Promise<Request> {
  const { jobs } = createMockService().sandbox;
  const job = jobs.start();
  jobs.complete(job, 'approved');
  return jobs.callback(job);
}

interface Mistake {
  readonly what: string;
  readonly make: () => unknown;
  /** What is wrong, and what to do next. */
  readonly says: readonly RegExp[];
  readonly facts: object;
}

const mistakes: readonly Mistake[] = [
  {
    what: 'a wrong key',
    make: () => get(clientOfKit({ apiKey: secrets.key })),
    says: [/does not accept the signature/, /check that partner id and key are those of the sandbox environment/],
    facts: { code: 'authentication' },
  },
  {
    what: 'a blank in the key',
    make: () => get(clientOfKit({ apiKey: `${secrets.key} ` })),
    says: [/the key contains a blank/, /copy it again/],
    facts: { code: 'authentication' },
  },
  {
    what: 'a blank in one of several keys',
    make: () => get(clientOfKit({ signer: hmacSha256({ apiKey: ['another', ` ${secrets.key}`] }) })),
    says: [/the key contains a blank/, /copy it again/],
    facts: { code: 'authentication' },
  },
  {
    what: 'a zero that the partner id has lost',
    make: () => get(clientOfKit({ partnerId: '85' })),
    says: [/may have lost a zero at its start/, /write it as a string/],
    facts: { code: 'authentication' },
  },
  {
    what: 'a clock that is an hour off',
    make: () => get(clientOfKit({ clock: { now: () => Date.now() + 3_600_000 }, clockSkew: 'off' })),
    says: [/this machine's clock is (?:59|60) min ahead of the service's "Date"/, /set the clock \(NTP\)/],
    facts: { code: 'authentication' },
  },
  {
    what: 'a wrong host: another server, which has no such page',
    make: async () => {
      const other = createHttpServer((_request, response) => {
        response.writeHead(404, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Not found</h1>');
      });
      return get(clientAt(`http://127.0.0.1:${await portOf(other)}`));
    },
    says: [/it is a web page/, /check that "baseUrls" has the URL of the service/],
    facts: { code: 'not_found' },
  },
  {
    what: 'a wrong host: nobody listens',
    make: async () => get(clientAt(`http://127.0.0.1:${await refusingPort()}`)),
    says: [/http:\/\/127\.0\.0\.1:\d+ refused the connection \(ECONNREFUSED\)/, /check host and port in "baseUrls"/],
    facts: { code: 'connection', outcome: 'not_sent', retryable: true },
  },
  {
    what: 'a host that DNS does not know',
    make: () => get(clientAt('https://no-such-host.invalid')),
    says: [/DNS .*host of https:\/\/no-such-host\.invalid \((?:ENOTFOUND|EAI_AGAIN)\)/, /check .*"baseUrls"/],
    facts: { code: 'connection', outcome: 'not_sent', retryable: true },
  },
  {
    what: 'a testing kit that is used without its fetch',
    make: () => {
      const { partnerId, baseUrls } = createMockService().sandbox.clientOptions;
      return get(new HostedClient({ partnerId, baseUrls, apiKey: secrets.key, maxRetries: 0 }));
    },
    says: [/only the testing kit's own fetch can reach the hosts/, /pass "fetch: service\.fetch" to the client/],
    facts: { code: 'connection', outcome: 'not_sent' },
  },
  {
    what: 'a certificate for another name',
    make: async () => {
      const { origin, fetch } = await servingTls({ address: [127, 0, 0, 2] });
      return get(clientAt(origin, { fetch, maxRetries: 2 }));
    },
    says: [
      /the certificate of https:\/\/127\.0\.0\.1:\d+ is for another host \(ERR_TLS_CERT_ALTNAME_INVALID\)/,
      /check the host in "baseUrls"/,
    ],
    facts: { code: 'connection', outcome: 'not_sent', retryable: false, attempts: 1 },
  },
  {
    what: 'a certificate that has expired',
    make: async () => {
      const { origin, fetch } = await servingTls({ until: '20200201000000Z' });
      return get(clientAt(origin, { fetch, maxRetries: 2 }));
    },
    says: [
      /the certificate of https:\/\/127\.0\.0\.1:\d+ has expired \(CERT_HAS_EXPIRED\)/,
      /the server must renew it/,
    ],
    facts: { code: 'connection', outcome: 'not_sent', retryable: false, attempts: 1 },
  },
  {
    what: 'a certificate by an authority that nobody here knows',
    make: async () => get(clientAt((await servingTls()).origin, { maxRetries: 2 })),
    says: [
      /is from an authority that this runtime does not trust \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)/,
      /NODE_EXTRA_CA_CERTS/,
    ],
    facts: { code: 'connection', outcome: 'not_sent', retryable: false, attempts: 1 },
  },
  {
    what: 'a port without TLS',
    make: async () => {
      const port = await portOf(createHttpServer((_request, response) => response.end('{}')));
      return get(clientAt(`https://127.0.0.1:${port}`));
    },
    says: [/does not speak TLS/, /check the port in "baseUrls"/],
    facts: { code: 'connection', outcome: 'not_sent' },
  },
  {
    what: 'a body that was parsed before',
    make: () => {
      const parsed = { PartnerParams: { user_id: secrets.body } };
      return rejection(clientOfKit({}).callbacks.receive(parsed as never));
    },
    says: [/must be the raw body as a string or bytes, not a parsed body/, /express\.raw\(\)/],
    facts: { code: 'validation' },
  },
  {
    what: 'the reference id of a link in place of the ids of a job',
    make: () => rejection(clientOfKit({}).jobs.status({ refId: secrets.refId } as never)),
    says: [/"userId" must be a string/, /"jobId" must be a string: .*a callback brings both ids/],
    facts: { code: 'validation' },
  },
  {
    what: 'a limit of a list',
    make: async () => rejection((async () => clientOfKit({}).links.list({ limit: 10 } as never))()),
    says: [/"limit" is not an option of list\(\): use list\(\)\.toArray\(\{ limit \}\)/],
    facts: { code: 'validation' },
  },
  {
    what: 'a function in place of the options of a handler',
    make: () => thrownBy(() => clientOfKit({}).callbacks.handler((() => undefined) as never)),
    says: [/must be an object: \{ onEvent: \(event, status\) => \{ … \} \}/],
    facts: { code: 'validation' },
  },
  {
    what: 'the text "undefined" for a key',
    make: () => thrownBy(() => clientOfKit({ apiKey: String(undefined) })),
    says: [/"apiKey" must not be the text of a value that is not there: set what it is made from/],
    facts: { code: 'config' },
  },
  {
    what: 'the name of an option in snake case',
    make: () => thrownBy(() => clientOfKit({ apiKey: undefined as never, api_key: secrets.key } as never)),
    says: [/"api_key" is not a known property; did you mean "apiKey"\?/],
    facts: { code: 'config' },
  },
  {
    what: 'one base URL in place of one for each environment',
    make: () =>
      thrownBy(() => clientOfKit({ baseUrls: undefined as never, baseUrl: `https://${secrets.path}` } as never)),
    says: [/"baseUrls" must be an object with .* such as \{ sandbox: "https:/, /did you mean "baseUrls"\?/],
    facts: { code: 'config' },
  },
  {
    what: 'a base URL without a scheme',
    make: () => thrownBy(() => clientOfKit({ baseUrls: { sandbox: `${secrets.path}.test` } })),
    says: [/"baseUrls\.sandbox" must be an absolute URL/],
    facts: { code: 'config' },
  },
  {
    what: 'a logger that is a function',
    make: () => thrownBy(() => clientOfKit({ logger: (() => undefined) as never })),
    says: [/"logger" must have debug\(\), info\(\), warn\(\) and error\(\)/],
    facts: { code: 'config' },
  },
  {
    what: 'seconds in place of milliseconds',
    make: () => thrownBy(() => clientOfKit({ timeoutMs: 0.5 })),
    says: [/"timeoutMs" must be an integer of milliseconds from 1 to \d+, got 0\.5/],
    facts: { code: 'config' },
  },
  {
    what: 'a clock in seconds',
    make: () => get(clientOfKit({ clock: { now: () => Date.now() / 1_000 } })),
    says: [/this machine's clock is \d+ days behind the service's "Date"/],
    facts: { code: 'authentication' },
  },
  {
    what: 'a signer that was not made',
    make: () => thrownBy(() => clientOfKit({ apiKey: undefined as never, signer: hmacSha256 as never })),
    says: [/"signer" must have a name, sign\(\) and verify\(\)/],
    facts: { code: 'config' },
  },
  {
    what: 'a key in place of the options of a signer',
    make: () => thrownBy(() => hmacSha256(secrets.key as never)),
    says: [/"apiKey" must be a string/],
    facts: { code: 'config' },
  },
  {
    what: 'variables in place of options',
    make: () => thrownBy(() => HostedClient.fromEnv({ HOSTED_API_KEY: secrets.key } as never)),
    says: [/"HOSTED_API_KEY" must be in "env": fromEnv\(\{\}, \{ env \}\)/],
    facts: { code: 'config' },
  },
  {
    what: 'the URL of a link in place of its reference id',
    make: () => rejection(clientOfKit({}).links.get(`https://links.test/${secrets.refId}`)),
    says: [/"refId" must be 1 to 128 letters, digits/],
    facts: { code: 'validation' },
  },
  {
    what: 'a link in place of its reference id',
    make: () => rejection(clientOfKit({}).links.get({ refId: secrets.refId } as never)),
    says: [/"refId" must be a string/],
    facts: { code: 'validation' },
  },
  {
    what: 'the name of the field in place of that of the property',
    make: () => rejection(clientOfKit({}).links.create({ company_name: secrets.body } as never)),
    says: [/"company_name" is not a known property; did you mean "companyName"\?/],
    facts: { code: 'validation' },
  },
  {
    what: 'a relative callback URL',
    make: () => rejection(clientOfKit({}).links.create({ ...link, callbackUrl: `/${secrets.path}` })),
    says: [/"callbackUrl" must be an absolute http\(s\) URL, or null/],
    facts: { code: 'validation' },
  },
  {
    what: 'a country by its name',
    make: () => {
      const idTypes = [{ country: secrets.path, idType: 'BVN', verificationMethod: 'enhanced_kyc' as const }];
      return rejection(clientOfKit({}).links.create({ ...link, idTypes }));
    },
    says: [/"idTypes\[0\]\.country" must be a two-letter country code/],
    facts: { code: 'validation' },
  },
  {
    what: 'a date without an offset',
    make: () => rejection(clientOfKit({}).links.create({ ...link, expiresAt: '2030-01-31' })),
    says: [/"expiresAt" must be a valid Date, or an ISO 8601 string with an offset such as/],
    facts: { code: 'validation' },
  },
  {
    what: 'a change of a link by another name',
    make: () => rejection(clientOfKit({}).links.update(secrets.refId, { disabled: true } as never)),
    says: [/"disabled" is not a known property; did you mean "isDisabled"\?/],
    facts: { code: 'validation' },
  },
  {
    what: 'the ids of a job one by one',
    make: () => rejection(clientOfKit({}).jobs.waitForCompletion(secrets.body as never, 'job-1' as never)),
    says: [/must be one object with "userId" and "jobId", not the ids one by one/],
    facts: { code: 'validation' },
  },
  {
    what: 'a controller in place of its signal',
    make: () => rejection(clientOfKit({}).links.get(secrets.refId, { signal: new AbortController() as never })),
    says: [/"signal" must be an AbortSignal/],
    facts: { code: 'validation' },
  },
  {
    what: 'all links, without a limit',
    make: () =>
      rejection(
        clientOfKit({})
          .links.list()
          .toArray(undefined as never),
      ),
    says: [/"limit" must be an integer of 0 or more, or Infinity/],
    facts: { code: 'validation' },
  },
  {
    what: 'a callback that is confirmed by its ids',
    make: () => rejection(clientOfKit({}).callbacks.confirm({ userId: secrets.body, jobId: 'job-1' } as never)),
    says: [/"signedAt" must be a date: pass what receive\(\) returned/],
    facts: { code: 'validation' },
  },
  {
    what: 'a handler that is given a request of node:http',
    make: () => deliveryError({ method: 'POST', headers: {}, url: secrets.path } as never),
    says: [/must get a web-standard request: for Express, .* wrap it in nodeHandler\(…\) of hosted-client\/node/],
    facts: { code: 'config' },
  },
  {
    what: 'a client in place of a handler',
    make: () => thrownBy(() => nodeHandler(clientOfKit({}) as never)),
    says: [/"handle" must be the function that callbacks\.handler\(\) returns/],
    facts: { code: 'config' },
  },
  {
    what: 'a handler with the key of the other environment',
    make: async () => deliveryError(await callback(), { apiKey: secrets.key }),
    says: [/its signature does not match its timestamp, the partner id and the key of this client/],
    facts: { code: 'signature', reason: 'mismatch' },
  },
  {
    what: 'a handler whose clock is three days off',
    make: async () => deliveryError(await callback(), { clock: { now: () => Date.now() + 3 * 86_400_000 } }),
    says: [/too far in the past or in the future, by the clock of this machine; the limit is "maxHintAgeMs"/],
    facts: { code: 'signature', reason: 'stale' },
  },
  {
    what: 'no key',
    make: () => thrownBy(() => clientOfKit({ apiKey: undefined as never })),
    says: [/"apiKey" must be set, unless "signer" is set instead/],
    facts: { code: 'config' },
  },
  {
    what: 'two keys',
    make: () =>
      thrownBy(() => clientOfKit({ apiKey: secrets.key, signer: hmacSha256({ apiKey: secrets.key }) } as never)),
    says: [/"apiKey" must not be given together with "signer": leave out one of the two/],
    facts: { code: 'config' },
  },
];

async function deliveryError(request: Request, wrong: Partial<HostedClientOptions> = {}): Promise<unknown> {
  const errors: unknown[] = [];
  const handle = clientOfKit(wrong).callbacks.handler({
    onEvent: () => undefined,
    onError: (error) => errors.push(error),
  });
  await handle(request);
  return errors[0];
}

test.each(mistakes)('$what: the error says what is wrong, and what to do next', async ({ make, says, facts }) => {
  const error = await make();
  vi.unstubAllGlobals();

  expect(error).toBeInstanceOf(HostedError);
  const { message, stack } = error as HostedError;
  expect(error).toMatchObject(facts);
  for (const text of says) expect(message).toMatch(text);
  const shown = [message, stack, JSON.stringify(error), inspect(error, { depth: 9, getters: true, showHidden: true })];
  for (const secret of Object.values(secrets)) for (const text of shown) expect(text).not.toContain(secret);
});

// What other tools say --------------------------------------------------------

/** What TypeScript says of an import from a CommonJS file, where the package is as it is published. */
function compileErrors(file: string, options: ts.CompilerOptions): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'hosted-client-'));
  try {
    const installed = join(folder, 'node_modules/hosted-client');
    mkdirSync(join(installed, 'dist'), { recursive: true });
    writeFileSync(join(installed, 'package.json'), readFileSync(new URL('../package.json', import.meta.url)));
    writeFileSync(join(installed, 'dist/index.d.ts'), 'export declare class HostedClient {}');
    const path = join(folder, file);
    writeFileSync(path, `import { HostedClient } from 'hosted-client';\nexport const client = HostedClient;`);
    const program = ts.createProgram([path], {
      noEmit: true,
      types: [],
      lib: ['lib.es5.d.ts'],
      skipLibCheck: true,
      ...options,
    });
    return ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a CommonJS file under node16: TypeScript says to import it dynamically, and nodenext takes it as it is', () => {
  const { ModuleKind, ModuleResolutionKind } = ts;
  const node16 = { module: ModuleKind.Node16, moduleResolution: ModuleResolutionKind.Node16 };
  const nodeNext = { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext };

  const [error = ''] = compileErrors('app.cts', node16);

  expect(error).toMatch(/ECMAScript module and cannot be imported with 'require'/);
  expect(error).toMatch(/Consider writing a dynamic 'import\("hosted-client"\)' call instead/);
  expect(compileErrors('app.cts', nodeNext)).toEqual([]);
  expect(compileErrors('app.mts', node16)).toEqual([]);
});

test('a moduleResolution that knows no packages: TypeScript says which to set', () => {
  const classic = { module: ts.ModuleKind.ES2022, moduleResolution: ts.ModuleResolutionKind.Classic };

  const errors = compileErrors('app.mts', { ...classic, ignoreDeprecations: '6.0' });

  expect(errors.join()).toMatch(/Did you mean to set the 'moduleResolution' option to 'nodenext'/);
});
