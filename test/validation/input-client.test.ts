// What callers may pass as options of a client, and what of it is sent and where to.

import { ed25519, HostedClient, type HostedClientOptions, HostedConfigError, hmacSha256 } from 'hosted-client';
import { expect, test } from 'vitest';
import { apiKey, clientOf, newLink, operations, partnerId, sign, signed, thrownBy } from '../support/fake-fetch.js';
import { created } from './expect-refusal.js';

const configErrorOf = (run: () => unknown) => thrownBy(run, HostedConfigError);

// Wire options --------------------------------------------------------------

test('wire.brand names the path and the id property', async () => {
  const result = { ResultText: 'text', AcmeJobID: '0000000857', HostedJobID: 'another' };
  const { client, sent } = clientOf([created, signed({ job_complete: false, result })], { wire: { brand: 'acme' } });

  await client.links.create(newLink);
  const status = await client.jobs.status({ userId: 'u', jobId: 'j' });

  expect(sent.map(({ url }) => url)).toEqual([
    'https://sandbox.hosted.test/v1/acme_links',
    'https://sandbox.hosted.test/v1/job_status',
  ]);
  expect(status.result?.hostedJobId).toBe('0000000857');
});

test('wire.listMarker is where the list is asked for', async () => {
  const { client, sent } = clientOf(operations[3].answer(), { wire: { listMarker: 'all' } });

  await client.links.list();

  expect(sent[0]?.url).toBe('https://sandbox.hosted.test/v1/hosted_links/all');
});

test('wire.jobSignatureMember and wire.jobFlags change how job status is asked for', async () => {
  const wire = { jobSignatureMember: 'signature', jobFlags: 'string' } as const;
  const { client, sent } = clientOf(signed({ job_complete: false }), { wire });

  await client.jobs.status({ userId: 'u', jobId: 'j', imageLinks: true, history: true });
  await client.jobs.status({ userId: 'u', jobId: 'j', imageLinks: false, history: false });

  const [first, second] = sent;
  expect(first?.body).toMatchObject({ image_links: 'true', history: 'true' });
  expect(first?.body.signature).toBe(sign(String(first?.body.timestamp)));
  expect(first?.body).not.toHaveProperty('sec_key');
  expect(second?.body).not.toHaveProperty('image_links');
  expect(second?.body).not.toHaveProperty('history');
});

// Options of a client -------------------------------------------------------

const good: HostedClientOptions = {
  partnerId,
  apiKey,
  baseUrls: { sandbox: 'https://sandbox.hosted.test' },
};

// RFC 8032 §7.1, tests 1 and 2.
const [seed, publicKey] = [
  'nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=',
  '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
];
const another = 'PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=';
const ownKey = ed25519({ secretKey: seed, servicePublicKey: publicKey });
const whole = Buffer.concat([Buffer.from(seed, 'base64'), Buffer.from(publicKey, 'base64')]);
const ownKeyAmongOthers = ed25519({ secretKey: whole, servicePublicKey: [another, publicKey] });
const ownKeyPath = 'signer.servicePublicKey';

test.each([
  ['baseUrls', { baseUrls: undefined }, 'such as { sandbox: "https://sandbox.example.com" }'],
  ['baseUrls', { baseUrls: 'https://hosted.test' }, 'such as { sandbox: "https://sandbox.example.com" }'],
  ['baseUrls.production', { environment: 'production' }, 'such as "https://production.example.com"'],
  ['apiKey', { apiKey: undefined }, 'must be set, unless "signer" is set instead'],
  ['apiKey', { signer: hmacSha256({ apiKey }) }, 'must not be given together with "signer": leave out one of the two'],
  ['signer', { apiKey: undefined, signer: { name: 'x', sign: () => '' } }, 'must have a name, sign() and verify()'],
  [ownKeyPath, { apiKey: undefined, signer: ownKey }, 'this is your own, which belongs to "secretKey"'],
])('a client is told what to do about its %s of %j', (path, options, advice) => {
  const { issues } = configErrorOf(() => new HostedClient({ ...good, ...options } as HostedClientOptions));

  expect(issues).toEqual([{ path, message: expect.stringContaining(advice) }]);
});

const badUrls: readonly [string, unknown][] = [
  ['a relative URL', 'planted.test'],
  ['an empty URL', ''],
  ['a URL that is no text', ['https://planted.test']],
  ['a plain http URL', 'http://planted.test'],
  ['http on a host that looks like loopback', 'http://localhost.planted.test'],
  ['http on a host that ends like loopback', 'http://planted-localhost'],
  ['http on a host that begins like loopback', 'http://127.0.0.1.planted.test'],
  ['an ftp URL', 'ftp://planted.test'],
  ['an ftp URL on loopback', 'ftp://localhost'],
  ['a URL with a user', 'https://planted@hosted.test'],
  ['a URL with a password', 'https://:planted@hosted.test'],
  ['a URL with a query', 'https://hosted.test/?planted=1'],
  ['a URL with a fragment', 'https://hosted.test/#planted'],
  ['a URL that ends in /v1', 'https://hosted.test/planted/v1'],
  ['a URL that ends in /v1/', new URL('https://hosted.test/v1/')],
  ['a URL with a zero-width space in its host', 'https://sandbox.\u200bhosted.test'],
  ['a URL with a byte order mark at its end', 'https://hosted.test\ufeff'],
  ['a URL with a placeholder for its host', 'https://<planted>/gateway'],
  ['a URL with a placeholder in its path', 'https://hosted.test/<planted>'],
  ['a URL in quotation marks', '"https://hosted.test"'],
];

type BadClient = [what: string, options: object, paths: readonly string[]];

const badClients: readonly BadClient[] = [
  ['an empty partner id', { partnerId: '' }, ['partnerId']],
  ['a partner id that begins with a blank', { partnerId: ' 085' }, ['partnerId']],
  ['a partner id with a line end', { partnerId: '085\n' }, ['partnerId']],
  ['no partner id', { partnerId: undefined }, ['partnerId']],
  ['a partner id in quotation marks', { partnerId: '"085"' }, ['partnerId']],
  ['a partner id in typographic quotation marks', { partnerId: '“085”' }, ['partnerId']],
  ['a partner id with a zero-width space', { partnerId: '085\u200b' }, ['partnerId']],
  ['a partner id that is a placeholder', { partnerId: '<planted>' }, ['partnerId']],
  ['a key with a soft hyphen', { apiKey: 'planted\u00adkey-planted' }, ['apiKey']],
  ['a key that begins with a byte order mark', { apiKey: '\ufeffplanted-key-planted' }, ['apiKey']],
  ['a key with a no-break space', { apiKey: 'planted\u00a0key-planted' }, ['apiKey']],
  ['a key with a character that is drawn as nothing', { apiKey: 'planted\u3164key-planted' }, ['apiKey']],
  ['a key that is a placeholder', { apiKey: '<planted-key>' }, ['apiKey']],
  ['a key that says whose it is', { apiKey: 'YOUR_PLANTED_KEY' }, ['apiKey']],
  ['a key that is a variable of a shell', { apiKey: `\${PLANTED_KEY}` }, ['apiKey']],
  ['an empty key', { apiKey: '' }, ['apiKey']],
  ['a blank key', { apiKey: ' \t' }, ['apiKey']],
  ['a key with a line end', { apiKey: 'planted-key\n' }, ['apiKey']],
  ['a key that is no text', { apiKey: 12345 }, ['apiKey']],
  ['no key', { apiKey: undefined }, ['apiKey']],
  ['key and signer', { signer: hmacSha256({ apiKey }) }, ['apiKey']],
  ['a signer without a name', { apiKey: undefined, signer: { sign: () => '', verify: () => true } }, ['signer']],
  ['the URL of the other environment', { environment: 'production' }, ['baseUrls.production']],
  ['no URL in baseUrls', { baseUrls: {} }, ['baseUrls.sandbox']],
  ...badUrls.map(([what, sandbox]): BadClient => [what, { baseUrls: { sandbox } }, ['baseUrls.sandbox']]),
  [
    'an address for an unknown environment',
    { baseUrls: { ...good.baseUrls, staging: 'https://planted.test' } },
    ['baseUrls.staging'],
  ],
  [
    'a bad address of the other environment',
    { baseUrls: { ...good.baseUrls, production: 'http://planted.test' } },
    ['baseUrls.production'],
  ],
  [
    'a bad address for job status',
    { jobStatusBaseUrls: { sandbox: 'http://planted.test' } },
    ['jobStatusBaseUrls.sandbox'],
  ],
  ['a default callback that is no URL', { defaultCallbackUrl: 'planted' }, ['defaultCallbackUrl']],
  ['a default callback with a placeholder', { defaultCallbackUrl: 'https://<planted>/' }, ['defaultCallbackUrl']],
  ['a signer with the own public key as that of the service', { apiKey: undefined, signer: ownKey }, [ownKeyPath]],
  [
    'a signer with the own public key as one of those of the service',
    { apiKey: undefined, signer: ownKeyAmongOthers },
    [ownKeyPath],
  ],
  ['a timeout of 0', { timeoutMs: 0, totalTimeoutMs: 0 }, ['timeoutMs', 'totalTimeoutMs']],
  ['a clock whose sleep is no function', { clock: { now: () => 0, sleep: 5 } }, ['clock']],
  ['a negative maxResponseAgeMs', { maxResponseAgeMs: -1 }, ['maxResponseAgeMs']],
  ['maxResponseBytes of 0', { maxResponseBytes: 0 }, ['maxResponseBytes']],
  ['maxResponseBytes of 2^31', { maxResponseBytes: 2 ** 31 }, ['maxResponseBytes']],
  ['wire that is no object', { wire: 'planted' }, ['wire']],
  ['an unknown wire option', { wire: { planted: 1 } }, ['wire.planted']],
  ['an empty list marker', { wire: { listMarker: '' } }, ['wire.listMarker']],
  ['a list marker that begins with a slash', { wire: { listMarker: '/all' } }, ['wire.listMarker']],
  ['a list marker that ends with a slash', { wire: { listMarker: 'all/' } }, ['wire.listMarker']],
  ['a list marker of two dots', { wire: { listMarker: '..' } }, ['wire.listMarker']],
  ['an unknown option', { apikey: 'planted-key' }, ['apikey']],
  [
    'much that is wrong at once',
    {
      partnerId: 85,
      apiKey: 'planted-key\n',
      baseUrls: { sandbox: 'https://planted:planted@hosted.test/v1?planted' },
      timeoutMs: -1,
      wire: { brand: 'A' },
      clock: 5,
    },
    ['partnerId', 'apiKey', 'baseUrls.sandbox', 'timeoutMs', 'wire.brand', 'clock'],
  ],
];

test.each(badClients)('new HostedClient() refuses %s, naming every option and no value', (_what, options, paths) => {
  const error = configErrorOf(() => new HostedClient({ ...good, ...options } as HostedClientOptions));

  expect(error).toMatchObject({ code: 'config', outcome: 'not_sent', operation: null, retryable: false });
  expect([...new Set(error.issues.map(({ path }) => path))].sort()).toEqual([...paths].sort());
  for (const path of paths) expect(error.message).toContain(path);
  const withoutPaths = paths.reduce((text, path) => text.replaceAll(path, ''), error.message);
  expect(withoutPaths).not.toMatch(/planted|hosted\.test/);
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'options'],
  ['a number', 5],
  ['a list', []],
])('new HostedClient() refuses %s for its options', (_what, options) => {
  const error = configErrorOf(() => new HostedClient(options as HostedClientOptions));

  expect(error.code).toBe('config');
});

const mustBeFormat = 'must be "iso", "epoch-ms" or "epoch-s"';

const mustBeVisible = 'must not contain invisible characters: type it, or copy it as plain text';
const mustBeReplaced = 'must not be a placeholder: put the value in its place';
const mustBeThere = 'must not be the text of a value that is not there: set what it is made from';

test.each<[path: string, value: unknown, message: string]>([
  ['partnerId', 85, 'must be a string: leading zeros are significant'],
  ['partnerId', '08 5', 'must be a string without blanks'],
  ['partnerId', "'085'", 'must not be in quotation marks: remove them'],
  ['partnerId', 'undefined', mustBeThere],
  ['apiKey', 'null', mustBeThere],
  ['defaultCallbackUrl', 'undefined/callbacks', mustBeThere],
  ['baseUrls.sandbox', 'https://[object Object]/', mustBeThere],
  ['partnerId', '<partner-id>', mustBeReplaced],
  ['partnerId', '<085>', mustBeReplaced],
  ['partnerId', 'your-partner-id', mustBeReplaced],
  ['partnerId', '085\n', 'must not contain a line end'],
  ['apiKey', 'planted\r\n', 'must not contain a line end'],
  ['baseUrls.sandbox', 'https://hosted.test\n', 'must not contain a line end'],
  ['apiKey', 'a\u200bkey', mustBeVisible],
  ['apiKey', '{{ api_key }}', mustBeReplaced],
  ['apiKey', '{{api_key }}', mustBeReplaced],
  ['apiKey', '{{ api_key}}', mustBeReplaced],
  ['apiKey', `\${HOSTED_API_KEY}`, mustBeReplaced],
  ['baseUrls.sandbox', 'https://hosted\u2060.test', mustBeVisible],
  ['baseUrls.sandbox', 'https://$(HOST)', mustBeReplaced],
  ['baseUrls.sandbox', 'http://$(HOST)', mustBeReplaced],
  ['baseUrls.sandbox', 'http://undefined', mustBeThere],
  ['defaultCallbackUrl', 'https://a.test/c\u00adb', mustBeVisible],
  ['environment', 'staging', 'must be "sandbox" or "production"'],
  ['baseUrls.sandbox', 5, 'must be a string or a URL'],
  ['baseUrls.sandbox', 'planted', 'must be an absolute URL'],
  ['baseUrls.sandbox', 'http://planted.test', 'must be https, or http on loopback'],
  ['baseUrls.sandbox', 'https://planted@hosted.test', 'must not have a user or password in it'],
  ['baseUrls.sandbox', 'https://hosted.test/?planted', 'must not have a query or fragment'],
  ['baseUrls.sandbox', 'https://hosted.test/v1', 'must not end in /v1: the client adds the version'],
  ['fetch', 'planted', 'must be a function'],
  ['clock', {}, 'must have now(), and may have sleep()'],
  ['clock', { now: () => '5' }, 'must return the time as a finite number of milliseconds'],
  ['clockSkew', true, 'must be "auto" or "off"'],
  ['maxResponseAgeMs', true, 'must be an integer of milliseconds, or false'],
  ['wire.brand', 'A', 'must be a word in lower case'],
  ['wire.brand', 'Aa', 'must be a word in lower case'],
  ['wire.brand', 'aA', 'must be a word in lower case'],
  ['wire.brand', 1, 'must be a string'],
  ['wire.listMarker', '..', 'must be letters, digits, "_" or "-"'],
  ['wire.listMarker', 1, 'must be a string'],
  ['wire.firstPage', '0', 'must be "auto", 0 or 1'],
  ['wire.firstPage', 2, 'must be "auto", 0 or 1'],
  ['wire.timestampFormat', 'x', mustBeFormat],
  ['wire.jobTimestampFormat', 'x', mustBeFormat],
  ['wire.jobSignatureMember', 'x', 'must be "sec_key" or "signature"'],
  ['wire.jobFlags', 'x', 'must be "boolean" or "string"'],
  ['wire.echoesTimestamp', 'x', 'must be true or false'],
  ['wire.namesJob', 'x', 'must be true or false'],
  ['logger', {}, 'must have debug(), info(), warn() and error()'],
  ['onEvent', 'planted', 'must be a function'],
  ['userAgentSuffix', 'a\n', 'must be a single line of ASCII'],
])('new HostedClient() says what is right for "%s" in place of %j', (path, value, message) => {
  const [name = '', inner] = path.split('.');
  const options = { ...good, [name]: inner === undefined ? value : { [inner]: value } };

  const error = configErrorOf(() => new HostedClient(options as HostedClientOptions));

  expect(error.issues).toEqual([{ path, message }]);
  expect(error.message).toMatch(/^Cannot create HostedClient: /);
});

test.each(['a<b>', '<b>a', 'not-your-id', 'your-id!', 'a-null', 'a"b"', '"a"b'])(
  'a partner id of %s is sent',
  async (id) => {
    const { client, sent } = clientOf(created, { partnerId: id });

    await client.links.create(newLink);

    expect(sent[0]?.body).toMatchObject({ partner_id: id });
  },
);

test('the defaults may be given', async () => {
  const wire = { jobSignatureMember: 'sec_key', jobFlags: 'boolean', firstPage: 'auto' } as const;
  const { client, sent } = clientOf(signed({ job_complete: false }), { clockSkew: 'auto', wire });

  await client.jobs.status({ userId: 'u', jobId: 'j', history: true });

  expect(sent[0]?.body).toMatchObject({ history: true, sec_key: sign(String(sent[0]?.body.timestamp)) });
});

test.each<[string | URL, string]>([
  ['https://hosted.test', 'https://hosted.test/v1/hosted_links/ref-1'],
  ['https://hosted.test/', 'https://hosted.test/v1/hosted_links/ref-1'],
  ['https://hosted.test/gateway/identity', 'https://hosted.test/gateway/identity/v1/hosted_links/ref-1'],
  ['https://hosted.test/gateway/', 'https://hosted.test/gateway/v1/hosted_links/ref-1'],
  ['https://hosted.test/v1/proxy', 'https://hosted.test/v1/proxy/v1/hosted_links/ref-1'],
  ['https://hosted.test:8443', 'https://hosted.test:8443/v1/hosted_links/ref-1'],
  [new URL('https://hosted.test/gateway'), 'https://hosted.test/gateway/v1/hosted_links/ref-1'],
  ['http://localhost:3000', 'http://localhost:3000/v1/hosted_links/ref-1'],
  ['http://127.0.0.1:3000/base', 'http://127.0.0.1:3000/base/v1/hosted_links/ref-1'],
  ['http://127.10.200.30', 'http://127.10.200.30/v1/hosted_links/ref-1'],
  ['http://[::1]:3000', 'http://[::1]:3000/v1/hosted_links/ref-1'],
])('the base URL %s is kept', async (sandbox, expected) => {
  const { client, sent } = clientOf(
    { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' },
    { baseUrls: { sandbox } },
  );

  await client.links.get('ref-1');

  expect(sent[0]?.url).toBe(expected);
});

test.each(['https://hosted.test:6000', 'http://localhost:10080', 'https://hosted.test:25/gateway'])(
  'the base URL %s, whose port fetch does not connect to, is refused for the platform’s fetch alone',
  (url) => {
    const issue = (name: string) => ({
      path: `${name}.sandbox`,
      message: 'must have another port: fetch connects to no service at this one',
    });
    const { fetch: own, ...platforms } = { ...good, fetch: async () => new Response() };
    const baseUrls = { sandbox: url };

    expect(configErrorOf(() => new HostedClient({ ...platforms, baseUrls })).issues).toEqual([issue('baseUrls')]);
    expect(configErrorOf(() => new HostedClient({ ...platforms, fetch: globalThis.fetch, baseUrls })).issues).toEqual([
      issue('baseUrls'),
    ]);
    expect(configErrorOf(() => new HostedClient({ ...platforms, jobStatusBaseUrls: baseUrls })).issues).toEqual([
      issue('jobStatusBaseUrls'),
    ]);
    expect(new HostedClient({ ...platforms, fetch: own, baseUrls }).environment).toBe('sandbox');
  },
);

test('the environment is the sandbox unless production is written', async () => {
  const link = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };
  const sandbox = clientOf(link);
  const production = clientOf(link, { environment: 'production' });

  await sandbox.client.links.get('ref-1');
  await production.client.links.get('ref-1');

  expect([sandbox.client.environment, production.client.environment]).toEqual(['sandbox', 'production']);
  expect(sandbox.sent[0]?.url).toMatch(/^https:\/\/sandbox\./);
  expect(production.sent[0]?.url).toMatch(/^https:\/\/production\./);
});

test('jobStatusBaseUrls counts for job status alone, and baseUrls where it has nothing', async () => {
  const options = { jobStatusBaseUrls: { sandbox: 'https://jobs.hosted.test/base' } };
  const answers = [signed({ job_complete: false }), { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' }];
  const sandbox = clientOf(answers, options);
  const production = clientOf(answers, { ...options, environment: 'production' });

  for (const { client } of [sandbox, production]) {
    await client.jobs.status({ userId: 'u', jobId: 'j' });
    await client.links.get('ref-1');
  }

  expect([...sandbox.sent, ...production.sent].map(({ url }) => url)).toEqual([
    'https://jobs.hosted.test/base/v1/job_status',
    'https://sandbox.hosted.test/v1/hosted_links/ref-1',
    'https://production.hosted.test/v1/job_status',
    'https://production.hosted.test/v1/hosted_links/ref-1',
  ]);
});

// withOptions ---------------------------------------------------------------

const linkAnswer = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };

test('withOptions() changes what it is given and keeps the rest', async () => {
  const { client, sent } = clientOf(linkAnswer, { wire: { brand: 'acme' } });

  const production = client.withOptions({ environment: 'production', apiKey: undefined as never });
  await production.links.get('ref-1');
  await client.links.get('ref-1');

  expect(production).toBeInstanceOf(HostedClient);
  expect(production.environment).toBe('production');
  expect(client.environment).toBe('sandbox');
  expect(sent.map(({ url }) => url)).toEqual([
    'https://production.hosted.test/v1/acme_links/ref-1',
    'https://sandbox.hosted.test/v1/acme_links/ref-1',
  ]);
  expect(sent[0]?.body.signature).toBe(sign(String(sent[0]?.body.timestamp)));
});

test('withOptions() lets a signer replace the key, and a key the signer', async () => {
  const { client, sent } = clientOf(linkAnswer);

  const bySigner = client.withOptions({ signer: hmacSha256({ apiKey: 'signer-key' }) });
  const byKey = bySigner.withOptions({ apiKey: 'another-key' });
  await bySigner.links.get('ref-1');
  await byKey.links.get('ref-1');

  expect(sent.map(({ body }) => body.signature)).toEqual([
    sign(String(sent[0]?.body.timestamp), 'signer-key'),
    sign(String(sent[1]?.body.timestamp), 'another-key'),
  ]);
});

test('withOptions() refuses what a client refuses, all at once', () => {
  const { client } = clientOf(linkAnswer);

  const both = configErrorOf(() => client.withOptions({ apiKey: 'x', signer: hmacSha256({ apiKey }) } as never));
  const much = configErrorOf(() => client.withOptions({ timeoutMs: 0, partnerId: '' }));

  expect(both.issues.map(({ path }) => path)).toEqual(['apiKey']);
  expect(much.issues.map(({ path }) => path).sort()).toEqual(['partnerId', 'timeoutMs']);
});

test.each([
  ['withOptions()', (overrides: object) => clientOf(linkAnswer).client.withOptions(overrides)],
  ['fromEnv()', (overrides: object) => HostedClient.fromEnv(overrides, { env: {} })],
])('%s refuses overrides that cannot be read', (_name, create) => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();

  const error = configErrorOf(() => create(proxy));

  expect(error.issues).toEqual([{ path: '', message: expect.stringContaining('properties that can be read') }]);
  expect(error.message).toContain('create HostedClient');
});
