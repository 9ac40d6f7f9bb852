// What errors of invalid input, clients, signers, events and log lines show, and what they do not.

import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import {
  ed25519,
  HostedApiError,
  HostedClient,
  type HostedError,
  type HostedEvent,
  HostedPollTimeoutError,
  HostedResponseError,
  hmacSha256,
  isHostedError,
  type PendingJob,
} from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { clientOf, now, rejection, thrownBy } from '../support/fake-fetch.js';
import { createPlanter, expectNothingIn, plantedClient, showings, showingsOf } from '../support/showings.js';

// What the caller gives -----------------------------------------------------

test('the errors of invalid input show nothing of it', async () => {
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

test('the errors of invalid options show nothing of them', () => {
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

test('the error at the end of a wait shows nothing of its job, which it has', () => {
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
    const input = { partnerId: '085', timestamp: new Date(now).toISOString() };
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

test('events and log lines have the properties that are documented, and no others', async () => {
  const planter = createPlanter();
  const { client, events, told, secrets, tellings } = plantedClient(planter, () =>
    Response.json(
      { error: planter.plant('error'), user_id: planter.plant('user') },
      { status: 503, headers: { 'x-other': planter.plant('header') } },
    ),
  );

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
    throw new Error('no');
  };
  const reject = (() => Promise.reject(new Error('no'))) as () => void;
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

  const refused = await rejection(client.links.get('ref-1'), HostedApiError);
  const unread = await rejection(client.links.get('ref-1'), HostedResponseError);

  const { serviceMessage, requestId } = refused;
  expect({ serviceMessage, requestId }).toEqual({ serviceMessage: 'Peter Parker is unknown', requestId: 'req-1' });
  expect(refused.rawBody()).toBe(JSON.stringify(body));
  expect(refused.header('x-other')).toBe('value');
  expect(unread.rawBody()).toBe('<html>Peter</html>');
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

test.each<[string, HostedError, object]>([
  [
    'a wait that ended',
    new HostedPollTimeoutError('it is over', { job: { userId: 'u', jobId: 'j' }, lastStatus: null, elapsedMs: 5 }, {}),
    { code: 'poll_timeout', elapsedMs: 5 },
  ],
  [
    'a response of another shape',
    new HostedResponseError('shape', [{ path: 'ref_id', message: 'must be there' }], {}),
    { code: 'response', reason: 'shape', issues: [{ path: 'ref_id', message: 'must be there' }] },
  ],
])('JSON of the error of %s shows its details', (_what, error, expected) => {
  expect(JSON.parse(JSON.stringify(error))).toMatchObject(expected);
});
