// That nothing shows a key, a signature, a body, an id or a personal datum: no error, log line, event or response, no
// client and no signer. Each has values that occur nowhere else, and is searched for all of them.

import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import {
  ed25519,
  type HandlerOptions,
  HostedClient,
  type HostedClientOptions,
  type HostedError,
  HostedPollTimeoutError,
  hmacSha256,
  isHostedError,
  type NewLink,
  type PendingJob,
  type ReplayGuard,
  type Signer,
} from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { jobInTableSpelling, linkInTableSpelling } from '../fixtures/records.js';
import { now, type Reply, rejection, sign, stillClock, thrownBy } from '../support/fake-fetch.js';
import {
  createPlanter,
  expectNothingIn,
  type Planter,
  plantAll,
  plantedClient,
  showings,
  showingsOf,
} from '../support/showings.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

failOnStrayRejections();

afterEach(() => {
  vi.unstubAllEnvs();
});

const timestamp = new Date(now).toISOString();
const publicKey = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex');

/** The parameters of `jobInTableSpelling`, and what else a callback may have. */
const callback = { ...jobInTableSpelling.history[1], Address: { Lines: ['street'] }, PhoneNumber2: '1' };

type Call = (client: HostedClient, planter: Planter) => unknown;

const job = ({ plant }: Planter) => ({ userId: plant('user'), jobId: plant('job') });
const headers = ({ plant }: Planter) => ({ headers: { 'x-trace': plant('header'), authorization: plant('token') } });

const calls: Readonly<Record<string, Call>> = {
  'links.create': (client, planter) => {
    const { plant } = planter;
    const link: NewLink = {
      companyName: plant('company'),
      dataPrivacyPolicyUrl: `https://partner.test/${plant('privacy')}`,
      callbackUrl: `https://partner.test/${plant('callback')}`,
      name: plant('name'),
      logoUrl: `https://partner.test/${plant('logo')}`,
      userId: plant('user'),
      idTypes: [{ country: 'NG', idType: plant('type'), verificationMethod: 'biometric_kyc' }],
      extra: { partner_params: { [plant('member')]: plant('value') } },
    };
    return client.links.create(link, headers(planter));
  },
  'links.update': (client, planter) =>
    client.links.update(planter.plant('link'), { isDisabled: true }, headers(planter)),
  'links.get': (client, planter) => client.links.get(planter.plant('link'), headers(planter)),
  'links.list': (client, planter) => client.links.list(headers(planter)),
  'jobs.status': (client, planter) => client.jobs.status({ ...job(planter), history: true }, headers(planter)),
};

/** An error that says more than it should, wherever it can. */
function talkative({ plant }: Planter, code: string, said: unknown = ''): Error {
  const details = { code, host: plant('host'), request: { body: plant('body') }, said };
  const cause = Object.assign(new Error(plant('cause'), { cause: new Error(plant('deeper')) }), details);
  const message = `${plant('message')} ${inspect(said)}`;
  return Object.assign(new TypeError(message, { cause }), { name: plant('name'), [plant('property')]: said });
}

/** An error response that repeats personal data in every place. */
function tellAll({ plant }: Planter, code: unknown, status: number): Response {
  const text = { error: plant('error'), message: plant('message'), status: plant('status'), user_id: plant('user') };
  const result = { ResultText: plant('result'), FullName: plant('name'), [plant('member')]: plant('value') };
  const headers = {
    'x-other': plant('header'),
    'set-cookie': plant('cookie'),
    location: `https://elsewhere.test/${plant('location')}`,
    'retry-after': plant('later'),
    'x-request-id': `${plant('words')} and ${plant('more')}`,
  };
  return Response.json({ ...text, result, code, [plant('name')]: plant('value') }, { status, headers });
}

/** Each field of a link, a page and a job status, with a value of a wrong type. */
function misshapen({ plant }: Planter): object {
  const wrong = () => ({ [plant('member')]: plant('value') });
  const of = (record: object) => Object.fromEntries(Object.keys(record).map((name) => [name, wrong()]));
  const lists = { links: [of(linkInTableSpelling), plant('entry')], history: [of(callback), plant('entry')] };
  return { ...of(linkInTableSpelling), ...of(jobInTableSpelling), link: wrong(), meta: wrong(), ...lists };
}

/** A signer that accepts each signature. */
const credulous = ({ plant }: Planter): Signer => {
  const signature = plant('signature');
  return { name: plant('signer'), sign: () => signature, verify: () => true };
};

// Calls ---------------------------------------------------------------------

/** What happens to a call; properties of its error; the response, and the options of the client. */
type Case = readonly [
  what: string,
  facts: object,
  reply: (planter: Planter) => Reply,
  options?: ((planter: Planter) => Partial<HostedClientOptions>) | undefined,
];

const responds = (text: (planter: Planter) => string, init?: ResponseInit) => (planter: Planter) =>
  new Response(text(planter), init);
const ofAnyone = (planter: Planter) => ({ signer: credulous(planter) });

const thrown: readonly (readonly [string, (planter: Planter) => unknown])[] = [
  ['a reset connection', (planter) => talkative(planter, 'ECONNRESET')],
  ['an error with a code of its own', (planter) => talkative(planter, planter.plant('code'))],
  ['a string', ({ plant }) => plant('text')],
  ['an object', ({ plant }) => ({ message: plant('message'), name: plant('name'), code: plant('code') })],
  ['several errors', ({ plant }) => new AggregateError([new Error(plant('one'))], plant('all'))],
];

const errorResponses: readonly (readonly [status: number, serviceCode: unknown, code: string])[] = [
  [400, '2215', 'api'],
  [200, '2313', 'api'],
  [401, '2205', 'authentication'],
  [404, null, 'not_found'],
  [408, null, 'timeout'],
  [429, '2222', 'rate_limit'],
  [503, '2301', 'server'],
];

const malformed: readonly (readonly [string, string, (planter: Planter) => string])[] = [
  ['JSON that breaks off', 'malformed', ({ plant }) => `{"name":"${plant('name')}"`],
  ['words', 'malformed', ({ plant }) => plant('words')],
  ['deep JSON', 'malformed', ({ plant }) => `${'['.repeat(100)}"${plant('deep')}"${']'.repeat(100)}`],
  ['a list', 'shape', ({ plant }) => `["${plant('name')}"]`],
];

const cases: readonly Case[] = [
  ...thrown.map(
    ([what, make]): Case => [
      `a fetch that throws ${what}`,
      { code: 'connection' },
      (planter) => () => Promise.reject(make(planter)),
    ],
  ),
  [
    'a body that breaks off',
    { code: 'connection' },
    (planter) => () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode(`{"name":"${planter.plant('name')}"`)),
          pull: (controller) => controller.error(talkative(planter, 'UND_ERR_SOCKET')),
        }),
      ),
  ],
  ...errorResponses.map(
    ([status, serviceCode, code]): Case => [
      `status ${status} with code ${serviceCode}`,
      { code },
      (planter) => tellAll(planter, serviceCode, status),
    ],
  ),
  [
    'a code of words',
    { code: 'api', serviceCode: null },
    (planter) => tellAll(planter, `2305 ${planter.plant('code')}`, 422),
  ],
  [
    'a code that is an object',
    { code: 'api', serviceCode: null },
    (planter) => tellAll(planter, { [planter.plant('member')]: planter.plant('value') }, 422),
  ],
  ...[200, 404, 502].map(
    (status): Case => [`HTML with ${status}`, {}, responds(({ plant }) => `<html>${plant('page')}</html>`, { status })],
  ),
  ...malformed.map(([what, reason, text]): Case => [what, { code: 'response', reason }, responds(text)]),
  [
    'a body that is too large',
    { code: 'response', reason: 'too_large' },
    responds(({ plant }) => `{"name":"${plant('name').repeat(20)}"}`),
    () => ({ maxResponseBytes: 100 }),
  ],
  [
    'a redirect',
    { code: 'response', reason: 'redirect' },
    ({ plant }) => {
      const location = `https://${plant('host')}.test/${plant('path')}?token=${plant('token')}`;
      return new Response(plant('body'), { status: 307, headers: { location } });
    },
  ],
  [
    'fields of a wrong type',
    { code: 'response', reason: 'shape', issues: expect.toSatisfy((issues: unknown[]) => issues.length > 1) },
    (planter) => Response.json({ ...misshapen(planter), timestamp, sec_key: null, signature: planter.plant('theirs') }),
    ofAnyone,
  ],
  ...thrown
    .slice(1, 4)
    .map(
      ([what, make]): Case => [
        `a signer that cannot sign because of ${what}`,
        { code: 'config' },
        () => ({}),
        (planter) => ({ signer: { ...credulous(planter), sign: () => Promise.reject(make(planter)) } }),
      ],
    ),
  [
    'a signer that cannot verify',
    { code: 'config' },
    ({ plant }) => Response.json({ timestamp, signature: plant('theirs'), name: plant('name') }),
    (planter) => ({ signer: { ...credulous(planter), verify: () => Promise.reject(talkative(planter, 'EKEY')) } }),
  ],
  [
    'a timeout',
    { code: 'timeout', phase: 'attempt' },
    () => () => new Promise<Response>(() => undefined),
    () => ({
      clock: { now: () => now, sleep: (ms) => (ms === 5_000 ? Promise.resolve() : new Promise(() => undefined)) },
      timeoutMs: 5_000,
      maxRetries: 0,
    }),
  ],
];

const ofAnother: Case = [
  'a response about something else',
  { code: 'response', reason: 'mismatch' },
  ({ plant }) => ({
    ...{ link_url: `https://links.hosted.test/${plant('url')}`, ref_id: plant('link'), link_id: plant('link') },
    ...{ job_complete: true, job_success: true, user_id: plant('user'), job_id: plant('job') },
    ...{ timestamp, signature: plant('theirs') },
  }),
  ofAnyone,
];

const unsigned = (
  [
    ['missing', () => ({})],
    ['malformed', ({ plant }) => ({ timestamp: { [plant('member')]: plant('time') }, signature: plant('theirs') })],
    ['mismatch', ({ plant }) => ({ timestamp: plant('time'), sec_key: plant('theirs'), signature: plant('theirs') })],
    ['stale', ({ plant }) => ({ timestamp: '2020-01-02T03:04:05.678Z', signature: plant('theirs') }), ofAnyone],
  ] satisfies readonly (readonly [string, (planter: Planter) => object, Case[3]?])[]
).map(
  ([reason, signature, options]): Case => [
    `a status whose signature is ${reason}`,
    { code: 'signature', reason },
    (planter) => ({ job_complete: true, result: { ResultText: planter.plant('text') }, ...signature(planter) }),
    options,
  ],
);

test.each([
  ...Object.keys(calls).flatMap((operation) => cases.map((row) => ({ operation, row }))),
  ...['links.update', 'links.get', 'jobs.status'].map((operation) => ({ operation, row: ofAnother })),
  ...unsigned.map((row) => ({ operation: 'jobs.status', row })),
])('the error of $operation shows no key, signature, body or id after $row.0', async ({ operation, row }) => {
  const [, facts, makeReply, makeOptions] = row;
  const planter = createPlanter();
  const { client, secrets, tellings } = plantedClient(planter, makeReply(planter), makeOptions?.(planter));

  const error = await rejection(Promise.resolve(calls[operation]?.(client, planter)));

  expect(isHostedError(error)).toBe(true);
  expect(error).toMatchObject(facts);
  expectNothingIn([...showingsOf(error as HostedError), ...tellings()], secrets());
});

// What the caller gives -----------------------------------------------------

const wrongInputs: readonly Call[] = [
  ({ links }, { plant }) =>
    links.create({
      companyName: { [plant('member')]: plant('company') },
      dataPrivacyPolicyUrl: plant('privacy'),
      callbackUrl: `ftp://${plant('host')}.test/`,
      name: [plant('name')],
      idTypes: [{ country: plant('country'), idType: [plant('type')], verificationMethod: plant('method') }],
      logoUrl: new URL(`ftp://partner.test/${plant('logo')}`),
      isSingleUse: plant('flag'),
      userId: { id: plant('user') },
      expiresAt: plant('expiry'),
      [plant('member')]: plant('value'),
      extra: { partner_id: plant('partner'), user_id: plant('user') },
    } as never),
  ({ links }, { plant }) => links.create(plant('link') as never),
  ({ links }, { plant }) => links.update(`../${plant('link')}`, { [plant('member')]: plant('value') } as never),
  ({ links }, { plant }) => links.disable(`${plant('link')}/${plant('link')}`),
  ({ links }, { plant }) => links.list({ page: plant('page') as never }),
  ({ jobs }, { plant }) => jobs.status({ userId: [plant('user')], [plant('member')]: plant('job') } as never),
  ({ links }, { plant }) =>
    links.get('ref-1', {
      signal: plant('signal'),
      timeoutMs: plant('timeout'),
      maxRetries: [plant('retries')],
      headers: { [`${plant('header')} `]: plant('value'), host: `${plant('host')}\n` },
      [plant('member')]: plant('value'),
    } as never),
  ({ callbacks }, planter) => callbacks.receive(plantAll(callback, planter.plant) as never),
  ({ callbacks }, { plant }) =>
    callbacks.receive('{}', { maxHintAgeMs: plant('age'), maxBytes: { [plant('field')]: plant('bytes') } } as never),
  ({ callbacks }, { plant }) => callbacks.confirm({ userId: plant('user'), signedAt: plant('time') } as never),
];

test.each(wrongInputs)('the error of invalid input shows nothing of it: case %#', async (call) => {
  const planter = createPlanter();
  const { client, secrets, tellings, sent } = plantedClient(planter, {});

  const error = await rejection(Promise.resolve(call(client, planter)));

  expect(error).toMatchObject({ code: 'validation' });
  expectNothingIn([...showingsOf(error as HostedError), ...tellings()], secrets());
  expect(sent).toEqual([]);
});

test('the errors of invalid options show nothing of them', () => {
  const { plant, planted } = createPlanter();
  const good = { partnerId: '085', apiKey: plant('key'), baseUrls: { sandbox: `https://${plant('host')}.test` } };
  const url = `http://${plant('user')}:${plant('password')}@${plant('host')}.test/${plant('path')}/v1?${plant('query')}`;
  for (const [name, value] of Object.entries({
    ...{ HOSTED_PARTNER_ID: plant('partner'), HOSTED_API_KEY: '', HOSTED_SANDBOX_BASE_URL: url },
    ...{ HOSTED_SECRET_KEY: plant('key'), HOSTED_SERVICE_PUBLIC_KEY: plant('key') },
  })) {
    vi.stubEnv(name, value);
  }
  const runs: readonly (() => unknown)[] = [
    () =>
      new HostedClient({
        partnerId: { id: plant('partner') },
        apiKey: `${plant('key')}\n`,
        signer: { name: plant('signer'), key: plant('key') },
        environment: plant('environment'),
        baseUrls: { sandbox: url, production: plant('address'), [plant('member')]: plant('address') },
        jobStatusBaseUrls: { sandbox: `https://hosted.test/#${plant('fragment')}` },
        defaultCallbackUrl: plant('callback'),
        timeoutMs: plant('timeout'),
        maxRetries: plant('retries'),
        fetch: plant('fetch'),
        clock: { [plant('member')]: plant('clock') },
        maxResponseAgeMs: plant('age'),
        wire: { brand: `${plant('brand')}/`, listMarker: ` ${plant('marker')}`, [plant('member')]: plant('value') },
        logger: { key: plant('logger') },
        onEvent: plant('listener'),
        userAgentSuffix: `${plant('agent')}\n`,
        [plant('member')]: plant('value'),
      } as never),
    () => new HostedClient({ ...good, signer: hmacSha256({ apiKey: plant('key') }) } as never),
    () => new HostedClient({ ...good, apiKey: ` ${plant('key')}\r\n` }),
    () => new HostedClient(good).withOptions({ timeoutMs: -1, apiKey: `${plant('key')}\n` }),
    () => new HostedClient(plant('options') as never),
    () => HostedClient.fromEnv(),
    () => HostedClient.fromEnv({ apiKey: `${plant('key')}\n` }),
    () => hmacSha256({ apiKey: [plant('key'), `${plant('key')}\n`] }),
    () => ed25519({ secretKey: plant('key'), servicePublicKey: plant('key') }),
    () => ed25519({ secretKey: Buffer.from(plant('key')), servicePublicKey: [Buffer.from(plant('key'))] }),
  ];

  for (const run of runs) {
    const error = thrownBy<HostedError>(run);
    expect(error).toMatchObject({ code: 'config' });
    expectNothingIn(showingsOf(error), planted);
  }
});

test('the error at the end of a wait shows nothing of its job, which it has', () => {
  const planter = createPlanter();
  const { plant } = planter;
  const ids = job(planter);
  const lastStatus: PendingJob = {
    ...{ ...ids, state: 'pending', complete: false, success: false, code: '2314', message: plant('message') },
    imageLinks: { selfieImage: `https://images.test/${plant('image')}`, expiresAt: null, extra: {} },
    ...{ result: null, history: null, signedAt: null },
  };

  const error = new HostedPollTimeoutError('it is over', { job: ids, lastStatus, elapsedMs: 5 }, {});

  expect(error).toMatchObject({ code: 'poll_timeout', elapsedMs: 5, job: ids, lastStatus });
  expectNothingIn(showingsOf(error), planter.planted);
});

// Clients and signers -------------------------------------------------------

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

test('a client, before and after a call, its namespaces and derived clients show no key and no URL', async () => {
  const planter = createPlanter();
  const { plant } = planter;
  const { client, secrets } = plantedClient(planter, ({ url }) =>
    Response.json({ link_url: 'https://links.hosted.test/1', ref_id: url.split('/').at(-1) }),
  );
  const clients = [client, client.withOptions({ apiKey: plant('key') })];
  const lazy = HostedClient.fromEnv({ apiKey: plant('key') }, { lazy: true });
  const show = () =>
    clients.flatMap((each) => [each, ...Object.values(each), [each]].filter(isObject)).flatMap(showings);

  const before = show();
  await client.links.get(plant('link'));

  expect(JSON.parse(JSON.stringify(client))).toMatchObject({ environment: 'sandbox' });
  const ofLazy = inspect(lazy, { depth: 9, showHidden: true, getters: false }) + JSON.stringify(lazy);
  expectNothingIn([...before, ...show(), ofLazy], secrets());
});

test('signers show no key, before and after they have signed and verified', async () => {
  const { plant, planted } = createPlanter();
  const seed = randomBytes(32);
  planted.push(seed.toString('base64'), seed.toString('hex'), [...seed.subarray(0, 16)].join(', '));
  const signers = [
    hmacSha256({ apiKey: [plant('key'), plant('key')], context: plant('context') }),
    ed25519({ secretKey: seed, servicePublicKey: publicKey }),
    ed25519({ secretKey: seed.toString('base64'), servicePublicKey: publicKey }),
  ];

  const before = signers.flatMap(showings);
  for (const signer of signers) {
    const input = { partnerId: '085', timestamp };
    await signer.verify(await signer.sign(input), input);
  }

  expectNothingIn([...before, ...signers.flatMap(showings)], planted);
});

// Callbacks -----------------------------------------------------------------

/** A client with planted keys that a service knows, and what signs a callback of that service. */
function startReceiver(planter: Planter, reply: Reply = {}, signer?: Signer) {
  const { plant, planted } = planter;
  const [partnerId, key] = [plant('partner'), plant('key')];
  const options = {
    partnerId,
    signer: signer ?? hmacSha256({ apiKey: [plant('key'), key] }),
    maxRetries: 0,
    clock: stillClock(),
  };
  const started = plantedClient(planter, reply, options as never);
  const sealed = (body: object, time = timestamp, signingKey = key) => {
    const signature = sign(time, signingKey, partnerId);
    planted.push(signature);
    return JSON.stringify({ ...body, timestamp: time, signature });
  };
  return { ...started, plant, sealed };
}

type Receiver = ReturnType<typeof startReceiver>;

const plantedCallback = ({ plant }: Planter) => plantAll(callback, plant) as Record<string, unknown>;

/** What is delivered or goes wrong, the status of the response, and the code of the error that is reported. */
interface Delivery {
  readonly what: string;
  readonly ends: readonly [status: number, code?: string];
  readonly reply?: (planter: Planter, receiver: () => Receiver) => Reply;
  readonly body?: (receiver: Receiver, body: object) => string;
  readonly options?: (plant: Planter['plant']) => Partial<HandlerOptions>;
  readonly signer?: (planter: Planter) => Signer;
}

/** Throws an error that has and says what was given. */
const talk = (plant: Planter['plant'], ...given: readonly unknown[]): never => {
  throw talkative({ plant } as Planter, plant('code'), given);
};

const guarded = (changes: Partial<ReplayGuard>): Partial<HandlerOptions> => {
  const done = async () => undefined;
  return { replayGuard: { begin: async () => 'new' as const, commit: done, forget: done, ...changes } };
};

const deliveries: readonly Delivery[] = [
  {
    what: 'a forged callback',
    ends: [401, 'signature'],
    body: ({ sealed, plant }, body) => sealed(body, timestamp, plant('theirs')),
  },
  { what: 'a callback without signature', ends: [401, 'signature'], body: (_receiver, body) => JSON.stringify(body) },
  {
    what: 'ids of another type',
    ends: [400, 'response'],
    body: ({ sealed, plant }, body) => sealed({ ...body, PartnerParams: { user_id: [plant('user')] } }),
  },
  { what: 'a string that is not JSON', ends: [400, 'response'], body: ({ plant }) => plant('text') },
  {
    what: 'a large callback',
    ends: [413, 'response'],
    body: ({ sealed }, body) => sealed({ ...body, Photo: 'A'.repeat(9_000) }),
  },
  {
    what: 'a signer that throws',
    ends: [503, 'config'],
    signer: ({ plant }) => ({
      name: plant('signer'),
      sign: () => plant('signed'),
      verify: (...given) => talk(plant, ...given),
    }),
  },
  {
    what: 'a confirmation without connection',
    ends: [503, 'connection'],
    reply: (planter) => () => Promise.reject(talkative(planter, planter.plant('code'))),
  },
  {
    what: 'a confirmation with an error response',
    ends: [503, 'not_found'],
    reply: (planter) => tellAll(planter, '2304', 400),
  },
  ...(
    [
      ['onEvent that rejects', 500, (plant) => ({ onEvent: async (event) => talk(plant, event) })],
      ['onEvent that throws', 500, (plant) => ({ onEvent: (event) => talk(plant, event) })],
      ['begin of a guard', 503, (plant) => guarded({ begin: async (...given) => talk(plant, given) })],
      ['commit of a guard', 200, (plant) => guarded({ commit: async (...given) => talk(plant, given) })],
      [
        'forget of a guard',
        500,
        (plant) => ({
          ...guarded({ forget: async (...given) => talk(plant, given) }),
          onEvent: () => Promise.reject(new Error(plant('message'))),
        }),
      ],
    ] satisfies readonly (readonly [string, number, Delivery['options']])[]
  ).map(
    ([what, status, options]): Delivery => ({
      what: `what is thrown by ${what}`,
      ends: [status],
      options,
      reply: (_planter, receiver) => (request) =>
        new Response(
          receiver().sealed({
            ...{ job_complete: true, job_success: false },
            ...{ user_id: request.body.user_id, job_id: request.body.job_id },
          }),
        ),
    }),
  ),
];

test.each(deliveries)('nothing is shown of $what, in the response, the errors or the log', async (delivery) => {
  const planter = createPlanter();
  const { plant } = planter;
  const { ends, signer, options } = delivery;
  const reply = delivery.reply?.(planter, () => receiver) ?? {};
  const receiver: Receiver = startReceiver(planter, reply, signer?.(planter));
  const { client, secrets, tellings, sealed, told } = receiver;
  const body = delivery.body?.(receiver, plantedCallback(planter)) ?? sealed(plantedCallback(planter));
  const errors: HostedError[] = [];
  const handle = client.callbacks.handler({
    maxBytes: 9_000,
    onEvent: () => undefined,
    onError: (error) => void (isHostedError(error) && errors.push(error as HostedError)),
    ...options?.(plant),
  });

  const headers = { authorization: plant('token') };
  const response = await handle(new Request('https://partner.test/', { method: 'POST', body, headers }));
  if (delivery.body ?? signer) {
    errors.push(await rejection<HostedError>(client.callbacks.receive(body, { maxBytes: 9_000 })));
  }

  expect([response.status, errors[0]?.code]).toEqual([ends[0], ends[1]]);
  for (const { code } of errors) expect(code).toBe(ends[1]);
  // Rejected callbacks are counted, and have a line a minute later.
  expect(told.some((each) => String(each).startsWith('hosted-client: '))).toBe(delivery.body === undefined);
  const shown = [await response.text(), inspect([...response.headers]), response.statusText, ...tellings()];
  expectNothingIn([...shown, ...errors.flatMap(showingsOf)], secrets());
});

test('a callback that is received shows no signature and no key, and nothing of it is logged', async () => {
  const planter = createPlanter();
  const { client, sealed, tellings } = startReceiver(planter);
  const keys = [...planter.planted];
  const body = sealed(plantedCallback(planter));
  const { signature } = JSON.parse(body) as { signature: string };

  const hint = await client.callbacks.receive(body);

  expect(hint.userId).toMatch(/^user_id-/);
  expectNothingIn(showings(hint), [...keys, signature]);
  expectNothingIn([...showings(client.callbacks), ...tellings()], planter.planted);
});
