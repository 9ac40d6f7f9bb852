// That no key, signature, body, id or personal datum shows in errors, events, log lines, clients or signers.

import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import {
  ed25519,
  HostedApiError,
  HostedClient,
  type HostedClientOptions,
  type HostedError,
  type HostedEvent,
  HostedPollTimeoutError,
  HostedResponseError,
  hmacSha256,
  isHostedError,
  type NewLink,
  type PendingJob,
  type Signer,
} from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import {
  clientOf,
  deferred,
  manualClock,
  now,
  type Reply,
  recordingClock,
  rejection,
  thrownBy,
} from '../support/fake-fetch.js';
import { createPlanter, everything, expectNothingIn, type Planter, showings, showingsOf } from '../support/showings.js';

/** A client with something planted wherever an option takes it, and what it told. */
function plantedClient({ plant, planted }: Planter, reply: Reply, options: Partial<HostedClientOptions> = {}) {
  const told: unknown[] = [];
  const events: HostedEvent[] = [];
  const write = (message: string, details?: object) => {
    told.push(message, details);
  };
  const made = clientOf(reply, {
    partnerId: plant('partner'),
    ...(options.signer ? {} : { apiKey: plant('key') }),
    baseUrls: { sandbox: `https://sandbox.hosted.test/${plant('path')}` },
    defaultCallbackUrl: `https://partner.test/${plant('callback')}`,
    userAgentSuffix: plant('agent'),
    clock: recordingClock(),
    logger: { debug: write, info: write, warn: write, error: write },
    onEvent: (event: HostedEvent) => {
      events.push(event);
      told.push(event);
    },
    ...options,
  } as Partial<HostedClientOptions>);
  /** All that was planted, and the signatures that were sent. */
  const secrets = () => [
    ...planted,
    ...made.sent.flatMap(({ body }) => [body.signature, body.sec_key]).filter((value) => typeof value === 'string'),
  ];
  const tellings = () => told.flatMap((each) => [inspect(each, everything), JSON.stringify(each) ?? '']);
  return { ...made, told, events, secrets, tellings };
}

/** The five operations, on people and addresses that must not show. */
function plantedCalls({ plant }: Planter) {
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
  const refId = plant('link');
  const job = { userId: plant('user'), jobId: plant('job') };
  const options = { headers: { 'x-trace': plant('header'), authorization: plant('token') } };
  return [
    ['links.create', (client: HostedClient) => client.links.create(link, options)],
    ['links.update', (client: HostedClient) => client.links.update(refId, { isDisabled: true }, options)],
    ['links.get', (client: HostedClient) => client.links.get(refId, options)],
    ['links.list', (client: HostedClient) => client.links.list(options)],
    ['jobs.status', (client: HostedClient) => client.jobs.status({ ...job, history: true }, options)],
  ] as const;
}

const operationNames = ['links.create', 'links.update', 'links.get', 'links.list', 'jobs.status'] as const;

/** Calls one operation, and looks for what was planted in all that becomes of it. */
async function expectSilence(
  operation: (typeof operationNames)[number],
  makeReply: (planter: Planter) => Reply,
  makeOptions: (planter: Planter) => Partial<HostedClientOptions> = () => ({}),
): Promise<HostedError> {
  const planter = createPlanter();
  const { client, secrets, tellings } = plantedClient(planter, makeReply(planter), makeOptions(planter));
  const [, call] = plantedCalls(planter).find(([name]) => name === operation) ?? [];

  const error = await rejection(Promise.resolve(call?.(client)));

  expect(isHostedError(error)).toBe(true);
  expectNothingIn([...showingsOf(error as HostedError), ...tellings()], secrets());
  return error as HostedError;
}

const forEachOperation = <T extends object>(cases: readonly T[]) =>
  operationNames.flatMap((operation) => cases.map((each) => ({ ...each, operation })));

// What the platform throws --------------------------------------------------

/** An error that says more than it should, wherever it can. */
function talkative({ plant }: Planter, code: string): Error {
  const cause = Object.assign(new Error(plant('cause'), { cause: new Error(plant('deeper')) }), {
    code,
    host: plant('host'),
    request: { body: plant('body') },
  });
  return Object.assign(new TypeError(plant('message'), { cause }), { [plant('property')]: plant('content') });
}

test.each(
  forEachOperation([
    { what: 'a reset', code: 'ECONNRESET' },
    { what: 'a refused connection', code: 'ECONNREFUSED' },
    { what: 'a code of its own', code: '' },
  ]),
)('$operation says nothing of what a fetch throws with $what', async ({ operation, code }) => {
  const error = await expectSilence(operation, (planter) => () => {
    throw talkative(planter, code || planter.plant('code'));
  });

  expect(error).toMatchObject({ code: 'connection' });
});

test.each(operationNames)('%s says nothing of a text or an object that a fetch throws', async (operation) => {
  const thrown: readonly ((planter: Planter) => unknown)[] = [
    ({ plant }) => plant('text'),
    ({ plant }) => ({ message: plant('message'), name: plant('name'), code: plant('code') }),
    ({ plant }) => new AggregateError([new Error(plant('one'))], plant('all')),
    ({ plant }) => Object.assign(new Error(plant('message')), { name: plant('name'), stack: plant('stack') }),
  ];

  for (const make of thrown) {
    const error = await expectSilence(operation, (planter) => () => Promise.reject(make(planter)));
    expect(error).toMatchObject({ code: 'connection' });
  }
});

test.each(operationNames)('%s says nothing of a body that breaks off', async (operation) => {
  const error = await expectSilence(operation, (planter) => () => {
    const start = new TextEncoder().encode(`{"name":"${planter.plant('name')}"`);
    return new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(start),
        pull: (controller) => controller.error(talkative(planter, 'UND_ERR_SOCKET')),
      }),
    );
  });

  expect(error).toMatchObject({ code: 'connection' });
});

test.each([
  ['attempt', { timeoutMs: 5_000 }],
  ['total', { totalTimeoutMs: 5_000 }],
] as const)('a timeout (%s) says nothing', async (phase, limit) => {
  for (const operation of operationNames) {
    const planter = createPlanter();
    const clock = manualClock();
    const fetching = deferred();
    const { client, secrets, tellings } = plantedClient(
      planter,
      () => {
        fetching.resolve();
        return new Promise<Response>(() => undefined);
      },
      { clock, maxRetries: 0, ...limit },
    );
    const [, call] = plantedCalls(planter).find(([name]) => name === operation) ?? [];

    const calling = rejection(Promise.resolve(call?.(client)));
    await fetching.promise;
    clock.advance(5_000);
    const error = await calling;

    expect(error).toMatchObject({ code: 'timeout', phase });
    expectNothingIn([...showingsOf(error as HostedError), ...tellings()], secrets());
  }
});

// What the service says -----------------------------------------------------

/** A body and headers that repeat personal data in every place. */
function tellAll({ plant }: Planter, code: unknown, status: number): Response {
  const body = {
    error: plant('error'),
    message: plant('message'),
    status: plant('status'),
    result: { ResultText: plant('result'), FullName: plant('fullname'), [plant('member')]: plant('value') },
    code,
    user_id: plant('user'),
    [plant('name')]: plant('value'),
  };
  const headers = {
    'x-other': plant('header'),
    'set-cookie': plant('cookie'),
    location: `https://elsewhere.test/${plant('location')}`,
    server: plant('server'),
    'retry-after': plant('later'),
    'x-request-id': `${plant('words')} and ${plant('more')}`,
  };
  return Response.json(body, { status, headers });
}

test.each(
  forEachOperation([
    { status: 400, serviceCode: '2215', code: 'api' },
    { status: 200, serviceCode: '2313', code: 'api' },
    { status: 200, serviceCode: null, code: 'api' },
    { status: 401, serviceCode: '2205', code: 'authentication' },
    { status: 200, serviceCode: 2305, code: 'authentication' },
    { status: 404, serviceCode: null, code: 'not_found' },
    { status: 200, serviceCode: '2304', code: 'not_found' },
    { status: 408, serviceCode: null, code: 'timeout' },
    { status: 429, serviceCode: null, code: 'rate_limit' },
    { status: 429, serviceCode: '2222', code: 'rate_limit' },
    { status: 500, serviceCode: null, code: 'server' },
    { status: 503, serviceCode: '2301', code: 'server' },
  ]),
)('$operation says nothing of an error with status $status and code $serviceCode', async (each) => {
  const { operation, status, serviceCode, code } = each;

  const error = await expectSilence(operation, (planter) => tellAll(planter, serviceCode, status));

  expect(error).toMatchObject({ code });
});

test.each(operationNames)('%s says nothing of a code that is no number', async (operation) => {
  for (const make of [
    ({ plant }: Planter) => plant('code'),
    ({ plant }: Planter) => ({ [plant('member')]: plant('value') }),
    ({ plant }: Planter) => [plant('code')],
    ({ plant }: Planter) => `2305 ${plant('code')}`,
  ]) {
    const error = await expectSilence(operation, (planter) => tellAll(planter, make(planter), 422));
    expect(error).toMatchObject({ code: 'api', serviceCode: null });
  }
});

test.each(operationNames)('%s says nothing of HTML', async (operation) => {
  for (const status of [200, 404, 502]) {
    await expectSilence(operation, ({ plant }) => new Response(`<html>${plant('page')}</html>`, { status }));
  }
});

test.each(operationNames)('%s says nothing of a response that cannot be read', async (operation) => {
  const bodies: readonly [string, (planter: Planter) => string, Partial<HostedClientOptions>?][] = [
    ['malformed', ({ plant }) => `{"name":"${plant('name')}"`],
    ['malformed', ({ plant }) => `${plant('words')}`],
    ['malformed', ({ plant }) => `${'['.repeat(100)}"${plant('deep')}"${']'.repeat(100)}`],
    ['shape', ({ plant }) => `["${plant('name')}"]`],
    ['too_large', ({ plant }) => `{"name":"${plant('name').repeat(20)}"}`, { maxResponseBytes: 100 }],
  ];

  for (const [reason, body, options] of bodies) {
    const error = await expectSilence(
      operation,
      (planter) => new Response(body(planter)),
      () => options ?? {},
    );
    expect(error).toMatchObject({ code: 'response', reason });
  }
});

test.each(operationNames)('%s says nothing of where a redirect leads', async (operation) => {
  const error = await expectSilence(operation, ({ plant }) => {
    const location = `https://${plant('host')}.test/${plant('path')}?token=${plant('token')}`;
    return new Response(plant('body'), { status: 307, headers: { location } });
  });

  expect(error).toMatchObject({ code: 'response', reason: 'redirect' });
});

/** Members of a wrong type in every place, by names and values that must not show. */
function misshapen({ plant }: Planter): object {
  const wrong = () => ({ [plant('member')]: plant('value') });
  return {
    link: wrong(),
    link_url: plant('url'),
    ref_id: wrong(),
    link_id: [plant('id')],
    name: wrong(),
    id_types: [plant('entry'), { country: wrong() }],
    is_single_use: plant('flag'),
    user_id: wrong(),
    user_ids: [wrong()],
    total_jobs: plant('count'),
    links: [{ link_url: plant('url'), ref_id: wrong(), total_jobs: plant('count') }, plant('entry')],
    meta: { currentPage: plant('page'), limit: wrong() },
    job_id: wrong(),
    job_complete: plant('flag'),
    job_success: plant('flag'),
    result: { PartnerParams: plant('params'), IsFinalResult: plant('flag'), [plant('member')]: plant('value') },
    history: [{ IDNumber: 12345678901, FullName: wrong(), DOB: [plant('birth')] }, plant('entry')],
    image_links: plant('images'),
  };
}

const timestamp = new Date(now).toISOString();

/** A signer that trusts everything, and says nothing. */
const credulous = ({ plant }: Planter): Signer => {
  const signature = plant('signature');
  return { name: plant('signer'), sign: () => signature, verify: () => true };
};

test.each(operationNames)('%s says nothing of a response of another shape', async (operation) => {
  const error = await expectSilence(
    operation,
    (planter) => Response.json({ ...misshapen(planter), timestamp, signature: planter.plant('theirs') }),
    (planter) => ({ signer: credulous(planter) }),
  );

  expect(error).toMatchObject({ code: 'response', reason: 'shape' });
  expect((error as HostedResponseError).issues.length).toBeGreaterThan(1);
});

test.each(['links.update', 'links.get', 'jobs.status'] as const)(
  '%s says nothing of a response about somebody else',
  async (operation) => {
    const error = await expectSilence(
      operation,
      ({ plant }) =>
        Response.json({
          link_url: `https://links.hosted.test/${plant('url')}`,
          ref_id: plant('link'),
          link_id: plant('link'),
          job_complete: true,
          job_success: true,
          user_id: plant('user'),
          job_id: plant('job'),
          result: { ResultText: plant('text'), PartnerParams: { user_id: plant('user'), job_id: plant('job') } },
          timestamp,
          signature: plant('theirs'),
        }),
      (planter) => ({ signer: credulous(planter) }),
    );

    expect(error).toMatchObject({ code: 'response', reason: 'mismatch' });
  },
);

test.each<[string, (planter: Planter) => object]>([
  ['missing', () => ({})],
  ['malformed', ({ plant }) => ({ timestamp: { [plant('member')]: plant('time') }, signature: plant('theirs') })],
  ['malformed', ({ plant }) => ({ timestamp, signature: [plant('theirs')] })],
  ['mismatch', ({ plant }) => ({ timestamp: plant('time'), signature: plant('theirs') })],
  ['mismatch', ({ plant }) => ({ timestamp, sec_key: plant('theirs'), signature: plant('theirs') })],
])('jobs.status() says nothing of a response it does not trust (%s)', async (reason, signature) => {
  const error = await expectSilence('jobs.status', (planter) =>
    Response.json({
      job_complete: true,
      job_success: true,
      result: { ResultText: planter.plant('text') },
      ...signature(planter),
    }),
  );

  expect(error).toMatchObject({ code: 'signature', reason });
});

test('jobs.status() says nothing of a response that is stale', async () => {
  const stale = '2020-01-02T03:04:05.678Z';
  const error = await expectSilence(
    'jobs.status',
    ({ plant }) =>
      Response.json({ job_complete: true, job_success: true, timestamp: stale, signature: plant('theirs') }),
    (planter) => ({ signer: credulous(planter) }),
  );

  expect(error).toMatchObject({ code: 'signature', reason: 'stale' });
});

// What the caller gave ------------------------------------------------------

test.each(operationNames)('%s says nothing of what its signer throws as it signs', async (operation) => {
  const thrown: readonly ((planter: Planter) => unknown)[] = [
    (planter) => talkative(planter, 'EKEY'),
    ({ plant }) => plant('text'),
    ({ plant }) => ({ key: plant('key') }),
  ];

  for (const make of thrown) {
    const error = await expectSilence(
      operation,
      () => ({}),
      (planter) => ({ signer: { ...credulous(planter), sign: () => Promise.reject(make(planter)) } }),
    );
    expect(error).toMatchObject({ code: 'config' });
  }
});

test.each(operationNames)('%s says nothing of what its signer throws as it verifies', async (operation) => {
  const error = await expectSilence(
    operation,
    ({ plant }) => Response.json({ timestamp, signature: plant('theirs'), name: plant('name') }),
    (planter) => ({
      signer: {
        ...credulous(planter),
        verify: () => {
          throw talkative(planter, 'EKEY');
        },
      },
    }),
  );

  expect(error).toMatchObject({ code: 'config' });
});

test('bad input says nothing of itself', async () => {
  const planter = createPlanter();
  const { plant } = planter;
  const { client, secrets, tellings, sent } = plantedClient(planter, {});
  const calls: readonly (() => Promise<unknown>)[] = [
    () =>
      client.links.create({
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
    () => client.links.create(plant('link') as never),
    () => client.links.create({ extra: plant('extra') } as never),
    () => client.links.update(`../${plant('link')}`, { [plant('member')]: plant('value') } as never),
    () => client.links.update(plant('link'), { isDisabled: plant('flag') } as never),
    () => client.links.disable(`${plant('link')}/${plant('link')}`),
    () => client.links.get(`${plant('link')}?${plant('query')}`),
    () => Promise.resolve(client.links.list({ page: plant('page') as never })),
    () => client.jobs.status({ userId: [plant('user')], jobId: { [plant('member')]: plant('job') } } as never),
    () => client.jobs.status(plant('job') as never),
    () =>
      client.links.get('ref-1', {
        signal: plant('signal'),
        timeoutMs: plant('timeout'),
        maxRetries: [plant('retries')],
        headers: { [`${plant('header')} `]: plant('value'), host: plant('host') },
        [plant('member')]: plant('value'),
      } as never),
    () => client.links.get('ref-1', { headers: { 'x-trace': `${plant('value')}\n` } }),
  ];

  for (const call of calls) {
    const error = await rejection(call());
    expect(error).toMatchObject({ code: 'validation' });
    expectNothingIn([...showingsOf(error as HostedError), ...tellings()], secrets());
  }
  expect(sent).toEqual([]);
});

function hostedErrorOf(run: () => unknown): HostedError {
  const error = thrownBy(run);
  expect(isHostedError(error)).toBe(true);
  return error as HostedError;
}

afterEach(() => {
  vi.unstubAllEnvs();
});

test('bad options say nothing of themselves', () => {
  const planter = createPlanter();
  const { plant, planted } = planter;
  const good = { partnerId: '085', apiKey: plant('key'), baseUrls: { sandbox: `https://${plant('host')}.test` } };
  vi.stubEnv('HOSTED_PARTNER_ID', plant('partner'));
  vi.stubEnv('HOSTED_API_KEY', '');
  vi.stubEnv('HOSTED_SECRET_KEY', plant('key'));
  vi.stubEnv('HOSTED_SERVICE_PUBLIC_KEY', plant('key'));
  vi.stubEnv('HOSTED_SANDBOX_BASE_URL', `http://${plant('user')}:${plant('password')}@hosted.test/${plant('path')}/v1`);
  const runs: readonly (() => unknown)[] = [
    () =>
      new HostedClient({
        partnerId: { id: plant('partner') },
        apiKey: `${plant('key')}\n`,
        signer: { name: plant('signer'), key: plant('key') },
        environment: plant('environment'),
        baseUrls: {
          sandbox: `http://${plant('user')}:${plant('password')}@${plant('host')}.test/${plant('path')}/v1?${plant('query')}`,
          production: plant('address'),
          [plant('member')]: plant('address'),
        },
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
    () => new HostedClient({ ...good, baseUrls: { sandbox: new URL(`http://${plant('host')}.test`) } }),
    () => new HostedClient(good).withOptions({ timeoutMs: -1, apiKey: `${plant('key')}\n` }),
    () => new HostedClient(plant('options') as never),
    () => HostedClient.fromEnv(),
    () => HostedClient.fromEnv({ apiKey: `${plant('key')}\n` }),
    () => hmacSha256({ apiKey: [plant('key'), `${plant('key')}\n`] }),
    () => ed25519({ secretKey: plant('key'), servicePublicKey: plant('key') }),
    () => ed25519({ secretKey: Buffer.from(plant('key')), servicePublicKey: [Buffer.from(plant('key'))] }),
  ];

  for (const run of runs) {
    const error = hostedErrorOf(run);
    expect(error).toMatchObject({ code: 'config' });
    expectNothingIn(showingsOf(error), planted);
  }
});

test('the end of a wait says nothing of its job, and hands it over', () => {
  const { plant, planted } = createPlanter();
  const job = { userId: plant('user'), jobId: plant('job') };
  const lastStatus: PendingJob = {
    ...job,
    state: 'pending',
    complete: false,
    success: false,
    code: '2314',
    message: plant('message'),
    result: null,
    imageLinks: { selfieImage: `https://images.test/${plant('image')}`, expiresAt: null, extra: {} },
    history: null,
    signedAt: null,
  };

  const error = new HostedPollTimeoutError('it is over', { job, lastStatus, elapsedMs: 5 }, {});

  expect(error).toMatchObject({ code: 'poll_timeout', elapsedMs: 5 });
  expectNothingIn(showingsOf(error), planted);
  expect(error.job).toEqual(job);
  expect(error.lastStatus).toEqual(lastStatus);
});

// Clients and signers -------------------------------------------------------

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

test('a client, its namespaces and its derived clients show no key and no URL', () => {
  const planter = createPlanter();
  const { client, secrets } = plantedClient(planter, {});
  const derived = client.withOptions({ apiKey: planter.plant('key') });

  const namespaces = [client, derived].flatMap((each) => [each, ...Object.values(each)].filter(isObject));
  const shown = [...namespaces, [client], { client }];

  expect(namespaces).toEqual(expect.arrayContaining([client.links, client.jobs, derived.links, derived.jobs]));
  expectNothingIn(shown.flatMap(showings), secrets());
  expect(JSON.parse(JSON.stringify(client))).toMatchObject({ environment: 'sandbox' });
});

test('a client that has made calls shows nothing of them', async () => {
  const planter = createPlanter();
  const { client, secrets } = plantedClient(planter, (request) =>
    Response.json({ link_url: `https://links.hosted.test/1`, ref_id: request.url.split('/').at(-1) }),
  );

  await client.links.get(planter.plant('link'));

  expectNothingIn([client, ...Object.values(client).filter(isObject)].flatMap(showings), secrets());
});

test('signers show no key, before and after they have signed and verified', async () => {
  const { plant, planted } = createPlanter();
  const seed = randomBytes(32);
  const publicKey = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex');
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

// Events --------------------------------------------------------------------

const eventMembers: Readonly<Record<HostedEvent['type'], readonly string[]>> = {
  request: ['attempt', 'callId', 'operation', 'type'],
  response: ['attempt', 'callId', 'durationMs', 'operation', 'requestId', 'status', 'type'],
  retry: ['attempt', 'callId', 'delayMs', 'operation', 'reason', 'type'],
  poll: ['attempt', 'callId', 'elapsedMs', 'nextDelayMs', 'state', 'type'],
  error: ['attempts', 'callId', 'code', 'operation', 'type'],
  call: ['attempts', 'callId', 'durationMs', 'operation', 'outcome', 'type'],
  callback: ['durationMs', 'reason', 'result', 'status', 'type'],
};

test('events and log lines carry the properties they are described with, and no others', async () => {
  const planter = createPlanter();
  const { client, events, told, secrets, tellings } = plantedClient(planter, (_request) => tellAll(planter, null, 503));

  await rejection(client.links.get(planter.plant('link')));

  expect(events.map(({ type }) => type)).toEqual([
    'request',
    'response',
    'retry',
    'request',
    'response',
    'retry',
    'request',
    'response',
    'error',
    'call',
  ]);
  for (const event of events) expect(Object.keys(event).sort()).toEqual(eventMembers[event.type]);
  expect(new Set(events.map(callIdOf)).size).toBe(1);
  expect(told.length).toBeGreaterThan(events.length * 2);
  expectNothingIn(tellings(), secrets());
});

function callIdOf(event: HostedEvent): number | null {
  return 'callId' in event ? event.callId : null;
}

test('each call has a callId of its own', async () => {
  const planter = createPlanter();
  const { client, events } = plantedClient(planter, () => new Response(null, { status: 404 }));

  await Promise.all([1, 2, 3].map(() => rejection(client.links.get('ref-1'))));

  expect(new Set(events.map(callIdOf)).size).toBe(3);
});

test('a listener and a logger that throw change nothing', async () => {
  const refuse = () => {
    throw new Error('hands off');
  };
  const reject = (() => Promise.reject(new Error('hands off'))) as () => void;
  const { client } = clientOf(
    { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' },
    { onEvent: reject, logger: { debug: refuse, info: refuse, warn: refuse, error: reject } },
  );

  await expect(client.links.get('ref-1')).resolves.toMatchObject({ refId: 'ref-1' });
});

// What is there for those who ask -------------------------------------------

test('what the service said is there for those who ask', async () => {
  const body = { error: 'Peter Parker is unknown', code: '2215' };
  const headers = { 'x-other': 'value', 'x-request-id': 'req-1' };
  const { client } = clientOf([Response.json(body, { status: 400, headers }), new Response('<html>Peter</html>')]);

  const refused = await rejection(client.links.get('ref-1'));
  const unread = await rejection(client.links.get('ref-1'));

  expect(refused).toBeInstanceOf(HostedApiError);
  const { serviceMessage, requestId } = refused as HostedApiError;
  expect({ serviceMessage, requestId }).toEqual({ serviceMessage: 'Peter Parker is unknown', requestId: 'req-1' });
  expect((refused as HostedApiError).rawBody()).toBe(JSON.stringify(body));
  expect((refused as HostedApiError).header('x-other')).toBe('value');
  expect(unread).toBeInstanceOf(HostedResponseError);
  expect((unread as HostedResponseError).rawBody()).toBe('<html>Peter</html>');
  expectNothingIn([...showingsOf(refused as HostedError), ...showingsOf(unread as HostedError)], ['Peter', 'value']);
});

test('JSON and inspection of an error show what a log needs', async () => {
  const headers = { 'x-request-id': 'req-1', 'retry-after': '7' };
  const { client } = clientOf(Response.json({ code: '2301' }, { status: 503, headers }), { maxRetries: 0 });

  const error = await rejection(client.jobs.status({ userId: 'user-1', jobId: 'job-1' }));

  const expected = {
    name: 'HostedServerError',
    code: 'server',
    message: expect.stringMatching(/^Cannot get the status of a job: /),
    operation: 'jobs.status',
    outcome: 'refused',
    attempts: 1,
    requestId: 'req-1',
    retryable: true,
    mayHaveActed: false,
    status: 503,
    serviceCode: '2301',
    retryAfterMs: 7_000,
  };
  expect(JSON.parse(JSON.stringify(error))).toEqual(expected);
  const shown = inspect(error);
  for (const fact of ['HostedServerError', 'jobs.status', 'refused', 'req-1', '503', '2301', '7000']) {
    expect(shown).toContain(fact);
  }
});
