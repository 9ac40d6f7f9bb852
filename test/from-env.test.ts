// Where the secrets are not there yet: variables from elsewhere, and a client that reads them with its first call.

import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import {
  ed25519,
  HostedClient,
  type HostedClientOptions,
  HostedConfigError,
  type HostedEvent,
  hmacSha256,
} from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { newLink, operations, rejection } from './support/fake-fetch.js';

const service = createMockService();
const { sandbox, production } = service;
const names = [
  ...['HOSTED_PARTNER_ID', 'HOSTED_API_KEY', 'HOSTED_SECRET_KEY', 'HOSTED_SERVICE_PUBLIC_KEY', 'HOSTED_ENVIRONMENT'],
  ...['HOSTED_SANDBOX_BASE_URL', 'HOSTED_PRODUCTION_BASE_URL'],
  ...['HOSTED_SANDBOX_JOB_STATUS_BASE_URL', 'HOSTED_PRODUCTION_JOB_STATUS_BASE_URL'],
];
const variables = {
  HOSTED_PARTNER_ID: sandbox.clientOptions.partnerId,
  HOSTED_API_KEY: sandbox.clientOptions.apiKey ?? '',
  HOSTED_SANDBOX_BASE_URL: sandbox.baseUrl,
};
const job = { userId: 'user-1', jobId: 'job-1' };
const missing = 'HOSTED_PARTNER_ID, HOSTED_API_KEY, HOSTED_SANDBOX_BASE_URL';

const namedBy = (error: unknown) =>
  error instanceof HostedConfigError ? error.issues.map(({ path }) => path).join(', ') : String(error);

const thrownBy = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error;
  }
};

const setVariables = (given: Readonly<Record<string, string>> = variables) => {
  for (const [name, value] of Object.entries(given)) vi.stubEnv(name, value);
};

beforeEach(() => {
  service.reset();
  for (const name of names) vi.stubEnv(name, undefined);
  vi.stubGlobal('fetch', service.fetch);
  return () => {
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
  };
});

/** What a client made from these variables, over those of the sandbox, sends for job status and for a link. */
async function sentBy(changed: object, overrides: Partial<HostedClientOptions> = {}) {
  const sent: { url: string; body: Record<string, string> }[] = [];
  const fetch = async (url: string, { body }: { body: string }) => {
    sent.push({ url, body: JSON.parse(body) });
    throw new TypeError('fetch failed');
  };
  const options = { ...overrides, fetch: fetch as never, maxRetries: 0 };
  const client = HostedClient.fromEnv(options, { env: { ...variables, ...changed } });
  await client.jobs.status(job).catch(() => undefined);
  await client.links.get('ref-1').catch(() => undefined);
  return sent;
}

const hostsOf = (sent: readonly { readonly url: string }[]) => sent.map(({ url }) => new URL(url).host);

describe('env', () => {
  test('is read in place of the process’s variables, and an empty one counts as none', async () => {
    setVariables({ ...variables, HOSTED_API_KEY: 'of-the-process' });
    const empty = Object.fromEntries([...names, 'HOSTED_LOG'].map((name) => [name, '']));

    const client = HostedClient.fromEnv({}, { env: { ...empty, ...variables } });

    expect((await client.links.list()).meta.totalCount).toBe(0);
  });

  test('is alone: what it lacks is not read from the process', () => {
    setVariables();

    expect(namedBy(thrownBy(() => HostedClient.fromEnv({}, { env: {} })))).toBe(missing);
  });

  test('may have other things in it, as the bindings of a Worker have', async () => {
    const env = {
      ...variables,
      cache: new Map(),
      get queue() {
        return expect.fail('nobody asks for it');
      },
    };

    expect((await HostedClient.fromEnv({}, { env }).links.list()).links).toEqual([]);
  });

  test.each<[string, object, string]>([
    [
      'a getter that throws',
      {
        get HOSTED_API_KEY() {
          throw new Error('planted secret');
        },
      },
      'HOSTED_API_KEY',
    ],
    [
      'a level that is no string',
      {
        HOSTED_LOG: {
          toString() {
            throw new Error('planted secret');
          },
        },
      },
      'HOSTED_LOG',
    ],
  ])('%s is an error that names the variable, and shows nothing of it', async (_what, changed, name) => {
    const env = Object.defineProperties({ ...variables }, Object.getOwnPropertyDescriptors(changed));

    const error = thrownBy(() => HostedClient.fromEnv({}, { env }));
    const rejected = await rejection(HostedClient.fromEnv({}, { env, lazy: true }).links.list());

    for (const each of [error, rejected]) {
      expect(namedBy(each)).toBe(name);
      expect(inspect(each)).not.toContain('planted');
    }
  });

  test.each([
    ['HOSTED_ENVIRONMENT', 'planted', 'must be "sandbox" or "production"'],
    ['HOSTED_LOG', 'planted', 'must be "debug" or "info" or "warn" or "off"'],
    ['HOSTED_SANDBOX_BASE_URL', '', 'must be set, such as https://sandbox.example.com'],
    ...[...names, 'HOSTED_LOG'].map((name) => [
      name,
      'planted\r',
      'must not end in a carriage return: the file that sets it has Windows line ends (CRLF), so save it with LF',
    ]),
  ])('a bad %s is not shown: %j', (path = '', value, message) => {
    const error = thrownBy(() => HostedClient.fromEnv({}, { env: { ...variables, [path]: value } }));

    expect(error).toMatchObject({ code: 'config', issues: [{ path, message }] });
    expect(String(error)).toContain(path);
    expect(String(error)).not.toContain('planted');
  });

  test('a file with Windows line ends is said of every variable', () => {
    const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, `${value}\r`]));

    const error = thrownBy(() => HostedClient.fromEnv({}, { env }));

    expect(namedBy(error).split(', ').sort()).toEqual(Object.keys(variables).sort());
    expect(String(error)).toContain('Windows line ends');
  });

  test('where the variables of the process are missing, the error names the client of a build', () => {
    const lazily = 'fromEnv({}, { lazy: true })';

    expect(String(thrownBy(() => HostedClient.fromEnv()))).toContain(lazily);
    expect(String(thrownBy(() => HostedClient.fromEnv({}, { env: {} })))).not.toContain(lazily);
  });

  test.each<[string, object, string, string]>([
    [
      'the URL of the other environment alone',
      { HOSTED_SANDBOX_BASE_URL: '', HOSTED_PRODUCTION_BASE_URL: production.baseUrl },
      'HOSTED_SANDBOX_BASE_URL',
      'or set HOSTED_ENVIRONMENT to production, whose URL is set',
    ],
    [
      'keys of both kinds',
      {
        HOSTED_SECRET_KEY: 'nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=',
        HOSTED_SERVICE_PUBLIC_KEY: 'PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=',
      },
      'HOSTED_API_KEY',
      'must not be set together with HOSTED_SECRET_KEY and HOSTED_SERVICE_PUBLIC_KEY',
    ],
    ['half a pair of keys', { HOSTED_API_KEY: '', HOSTED_SECRET_KEY: 'planted' }, 'HOSTED_API_KEY', 'must be'],
    [
      'no URL of production',
      { HOSTED_ENVIRONMENT: 'production' },
      'HOSTED_PRODUCTION_BASE_URL',
      'such as https://production.example.com',
    ],
  ])('with %s, the error names the variables', (_what, changed, path, message) => {
    const error = thrownBy(() => HostedClient.fromEnv({}, { env: { ...variables, ...changed } }));

    expect(error).toMatchObject({ issues: [{ path, message: expect.stringContaining(message) }] });
  });

  test('is named where the variables are passed in place of the options', () => {
    const error = thrownBy(() => HostedClient.fromEnv(variables as never));

    expect(error).toMatchObject({
      issues: [{ path: 'HOSTED_PARTNER_ID', message: 'must be in "env": fromEnv({}, { env })' }],
    });
  });

  test('gives job status a URL of its own', async () => {
    const sent = await sentBy({ HOSTED_SANDBOX_JOB_STATUS_BASE_URL: 'https://jobs.hosted.test' });

    expect(hostsOf(sent)).toEqual(['jobs.hosted.test', new URL(sandbox.baseUrl).host]);
  });

  test('gives production its own URL where it names it', async () => {
    const [, link] = await sentBy({ HOSTED_ENVIRONMENT: 'production', HOSTED_PRODUCTION_BASE_URL: 'https://a.test' });

    expect(link?.url).toBe('https://a.test/v1/hosted_links/ref-1');
  });

  test('gives an Ed25519 signer of a pair of keys', async () => {
    const pair = {
      secretKey: 'nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=',
      servicePublicKey: 'PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=',
    };
    const { secretKey, servicePublicKey } = pair;
    const keys = { HOSTED_SECRET_KEY: secretKey, HOSTED_SERVICE_PUBLIC_KEY: servicePublicKey };

    const [, link] = await sentBy({ HOSTED_API_KEY: '', ...keys });

    const { partner_id: partnerId = '', timestamp = '', signature } = link?.body ?? {};
    expect(signature).toBe(await ed25519(pair).sign({ partnerId, timestamp }));
  });

  test('counts after the overrides', async () => {
    const [, link] = await sentBy(
      { HOSTED_PRODUCTION_BASE_URL: production.baseUrl },
      {
        partnerId: '085',
        apiKey: undefined as never,
        signer: hmacSha256({ apiKey: 'another-key', context: 'another' }),
        environment: 'production',
        baseUrls: { production: 'https://override.test' },
      },
    );

    const { timestamp, signature } = link?.body ?? {};
    expect(link?.url).toBe('https://override.test/v1/hosted_links/ref-1');
    expect(signature).toBe(createHmac('sha256', 'another-key').update(`${timestamp}085another`).digest('base64'));
  });

  test.each([
    [{ env: null }, 'env'],
    [{ env: 'HOSTED_API_KEY=a' }, 'env'],
    [{ lazy: 'yes' }, 'lazy'],
    [{ lasy: true }, 'lasy'],
    [null, ''],
  ])('%o is refused', (from, path) => {
    expect(namedBy(thrownBy(() => HostedClient.fromEnv({}, from as never)))).toBe(path);
  });
});

async function collect<T>(given: AsyncIterable<T>): Promise<readonly T[]> {
  const collected: T[] = [];
  for await (const one of given) collected.push(one);
  return collected;
}

/** Every way to call a client; each one rejects, and none throws. */
const calls: Readonly<Record<string, (client: HostedClient) => Promise<unknown>>> = {
  ...Object.fromEntries(operations.map(({ name, call }) => [name, async (client: HostedClient) => call(client)])),
  'links.create().withResponse': (client) => client.links.create(newLink).withResponse(),
  'links.disable': (client) => client.links.disable('ref-1'),
  'links.find': (client) => client.links.find({ name: 'a' }),
  'links.list().withResponse': (client) => client.links.list().withResponse(),
  'links.list().toArray': (client) => client.links.list().toArray({ limit: 1 }),
  'links.list, iterated': (client) => collect(client.links.list()),
  'links.list().pages': (client) => collect(client.links.list().pages()),
  'jobs.watch': (client) => collect(client.jobs.watch(job, { notFoundGraceMs: 0 })),
  'jobs.waitForCompletion': (client) => client.jobs.waitForCompletion(job, { notFoundGraceMs: 0 }),
  'jobs.waitForAll': (client) => collect(client.jobs.waitForAll([job], { notFoundGraceMs: 0 })),
  'callbacks.receive': (client) => client.callbacks.receive('{}'),
  'callbacks.confirm': (client) => client.callbacks.confirm({ ...job, signedAt: new Date() } as never),
};

describe('lazy', () => {
  test('a client is made where there are no variables, and reads them with its first call', async () => {
    const client = HostedClient.fromEnv({}, { lazy: true });
    const handle = client.callbacks.handler({ onEvent: () => undefined });
    setVariables();

    const { refId } = await client.links.create(newLink);

    expect(client).toBeInstanceOf(HostedClient);
    expect((await client.links.get(refId)).callbackUrl).toBe(newLink.callbackUrl);
    expect(client.environment).toBe('sandbox');
    expect((await handle(new Request('https://partner.test', { method: 'POST', body: '{}' }))).status).toBe(401);
  });

  test('once they are read, they are not read again', async () => {
    setVariables();
    const client = HostedClient.fromEnv({}, { lazy: true });
    await client.links.list();
    for (const name of names) vi.stubEnv(name, undefined);

    expect((await client.links.list()).links).toEqual([]);
  });

  test.each(Object.entries(calls))(
    '%s rejects as the constructor would throw, and nothing is sent',
    async (_name, call) => {
      const fetch = vi.fn(service.fetch);
      const client = HostedClient.fromEnv({ fetch }, { lazy: true });

      const ended = call(client);
      const error = await ended.then(
        () => null,
        (reason: unknown) => reason,
      );

      expect(namedBy(error)).toBe(missing);
      expect(error).toMatchObject({ message: (thrownBy(() => HostedClient.fromEnv()) as Error).message });
      expect(fetch).not.toHaveBeenCalled();
      setVariables();
      const later = await call(client).catch((reason: unknown) => reason);
      expect(later).not.toBeInstanceOf(HostedConfigError);
    },
  );

  test('an option that is invalid rejects, too', async () => {
    setVariables();
    const client = HostedClient.fromEnv({ timeoutMs: -1 }, { lazy: true });

    expect(namedBy(await client.links.get('ref-1').catch((error: unknown) => error))).toBe('timeoutMs');
    expect(namedBy(thrownBy(() => client.environment))).toBe('timeoutMs');
  });

  test('what the caller changes in the overrides later does not count', async () => {
    const overrides = {
      baseUrls: { sandbox: sandbox.baseUrl, production: production.baseUrl },
      environment: 'sandbox' as 'sandbox' | 'production',
    };
    const client = HostedClient.fromEnv(overrides, { lazy: true, env: variables });
    overrides.environment = 'production';

    expect(client.environment).toBe('sandbox');
  });

  test('withOptions() of a lazy client is lazy', async () => {
    const client = HostedClient.fromEnv({}, { lazy: true });
    const other = client.withOptions({
      environment: 'production',
      apiKey: production.clientOptions.apiKey ?? '',
      baseUrls: { sandbox: sandbox.baseUrl, production: production.baseUrl },
    });
    const rejected = await other.links.get('ref-1').catch((error: unknown) => error);
    const unlisted = await other.links.list({ page: -1 }).catch((error: unknown) => error);
    setVariables();

    production.links.seed(2);

    expect([rejected, unlisted].map(namedBy)).toEqual([missing, missing]);
    expect((await other.links.list()).meta.totalCount).toBe(2);
    expect([client.environment, other.environment]).toEqual(['sandbox', 'production']);
  });

  test('in a browser nothing is made', () => {
    vi.stubGlobal('window', {});
    vi.stubGlobal('document', {});
    vi.stubGlobal('process', undefined);

    const error = thrownBy(() => HostedClient.fromEnv({}, { lazy: true, env: variables }));

    expect(String(error)).toMatch(/must not run in a browser: .*; create it on a server/);
  });
});

describe('a handler of a lazy client', () => {
  const post = () => new Request('https://partner.test/callbacks', { method: 'POST', body: '{}' });

  test('responds with 503 while variables are missing, and reports each delivery', async () => {
    const reported: unknown[] = [];
    const events: HostedEvent[] = [];
    const lines: string[] = [];
    const quiet = () => undefined;
    const logger = { debug: quiet, info: quiet, error: quiet, warn: (line: string) => void lines.push(line) };
    const client = HostedClient.fromEnv({ logger, onEvent: (event) => void events.push(event) }, { lazy: true });
    const handle = client.callbacks.handler({
      onEvent: () => expect.fail('nothing was received'),
      onError: (error, at) => void reported.push([namedBy(error), at]),
    });

    const answer = await handle(post());

    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
    expect(reported).toEqual([[missing, { phase: 'verify', status: 503, event: null }]]);
    expect(events).toMatchObject([{ type: 'callback', result: 'failed', reason: 'config', status: 503 }]);
    expect(lines).toEqual([expect.stringContaining('HOSTED_API_KEY')]);
    setVariables();
    expect((await handle(post())).status).toBe(401);
  });

  test('without a listener or a logger it responds all the same', async () => {
    const client = HostedClient.fromEnv({ logger: 'none' as never, onEvent: 1 as never }, { lazy: true });

    expect((await client.callbacks.handler({ onEvent: () => undefined })(post())).status).toBe(503);
  });

  test('hands a callback over once, whatever the caller changes in the options later', async () => {
    setVariables();
    const seen: string[] = [];
    const options = { onEvent: ({ jobId }: { jobId: string }) => void seen.push(jobId) };
    const handle = HostedClient.fromEnv({}, { lazy: true }).callbacks.handler(options);
    options.onEvent = () => expect.fail('it was changed later');
    const started = sandbox.jobs.start();
    sandbox.jobs.complete(started, 'approved');

    const first = await sandbox.jobs.deliverCallback(started, { to: handle });
    const again = await sandbox.jobs.deliverCallback(started, { to: handle });

    expect([first.status, again.status, seen]).toEqual([200, 200, [started.jobId]]);
  });

  test('its own options are checked when it is made', () => {
    const { callbacks } = HostedClient.fromEnv({}, { lazy: true });

    expect(() => callbacks.handler({} as never)).toThrow('"onEvent" must be a function');
    expect(() => callbacks.handler({ onEvent: () => undefined, leaseMs: 0 })).toThrow('"leaseMs" must be');
  });
});
