// That no error, response, event or log line about a callback shows a key, a signature, or anything of its body.

import { inspect } from 'node:util';
import {
  type HandlerOptions,
  type HostedClientOptions,
  type HostedError,
  hmacSha256,
  type ReplayGuard,
} from 'hosted-client';
import { expect, test } from 'vitest';
import { clientOf, now, type Reply, rejection, sign } from '../support/fake-fetch.js';
import {
  createPlanter,
  expectNothingIn,
  type Planter,
  plantedCallback,
  recordTelemetry,
  showings,
  showingsOf,
} from '../support/showings.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { away, nowText, post } from './deliveries.js';

failOnStrayRejections();

/** A client with a planted key and partner id, what it shows, and how its service signs. */
function start(planter: Planter, reply: Reply | readonly Reply[] = {}, options: Partial<HostedClientOptions> = {}) {
  const { plant, planted } = planter;
  const { told, tellings, telemetry } = recordTelemetry();
  const partner = plant('partner');
  const key = plant('key');
  const signer = hmacSha256({ apiKey: [plant('key'), key] });
  const given = { partnerId: partner, signer, maxRetries: 0, ...telemetry, ...options } as Partial<HostedClientOptions>;
  const { client, sent } = clientOf(reply, given);
  const signedBy = (body: object, { timestamp = nowText, signingKey = key } = {}): string => {
    const signature = sign(timestamp, signingKey, partner);
    planted.push(signature);
    return JSON.stringify({ ...body, timestamp, signature });
  };
  /** Delivers a callback, and expects that neither the response nor the telemetry shows anything. */
  const deliver = async (handle: (request: Request) => Promise<Response>, body: BodyInit): Promise<number> => {
    const response = await handle(post({ body, headers: { authorization: plant('token') } }));
    const requests = sent.flatMap((request) => [request.body.sec_key, request.body.signature]).map(String);
    const shown = [await response.text(), inspect([...response.headers]), response.statusText, ...tellings()];
    expectNothingIn(shown, [...planted, ...requests.filter((each) => each !== 'undefined')]);
    return response.status;
  };
  return { callbacks: client.callbacks, plant, signedBy, told, tellings, deliver };
}

type Started = ReturnType<typeof start>;

/** A callback that is rejected: its body, and the status and the code of its error. */
type Rejected = readonly [
  what: string,
  ends: `${number} ${string}`,
  make: (started: Started, body: object) => string | Uint8Array<ArrayBuffer>,
];

const rejected: readonly Rejected[] = [
  [
    'a forged callback',
    '401 signature',
    ({ signedBy, plant }, body) => signedBy(body, { signingKey: plant('theirs') }),
  ],
  ['a callback without signature', '401 signature', (_started, body) => JSON.stringify(body)],
  ['a time that is none', '401 signature', ({ signedBy, plant }, body) => signedBy(body, { timestamp: plant('time') })],
  ['an old callback', '401 signature', ({ signedBy }, body) => signedBy(body, { timestamp: '2018-03-13T21:04:11Z' })],
  [
    'ids of another type',
    '400 response',
    ({ signedBy, plant }, body) =>
      signedBy({ ...body, PartnerParams: { user_id: [plant('user')], [plant('field')]: plant('job') } }),
  ],
  ['JSON that breaks off', '400 response', ({ signedBy }, body) => signedBy(body).slice(0, -1)],
  ['a string that is not JSON', '400 response', ({ plant }) => plant('text')],
  ['a list of callbacks', '400 response', ({ signedBy }, body) => `[${signedBy(body)}]`],
  ['a large callback', '413 response', ({ signedBy }, body) => signedBy({ ...body, Photo: 'A'.repeat(9_000) })],
];

test.each(rejected)('%s is rejected with %s, and nothing of it is shown', async (_what, ends, make) => {
  const planter = createPlanter();
  const started = start(planter);
  const { callbacks, tellings, deliver } = started;
  const body = make(started, plantedCallback(planter));
  const [status, code] = ends.split(' ');
  let reported: unknown;
  const onError = (error: unknown) => {
    reported = error;
  };

  const error = await rejection(callbacks.receive(body, { maxBytes: 9_000 }));
  const handle = callbacks.handler({ maxBytes: 9_000, onEvent: () => expect.unreachable(), onError });

  expect(error).toMatchObject({ code });
  expect(await deliver(handle, body)).toBe(Number(status));
  expect(reported).toMatchObject({ code });
  expectNothingIn(
    [...showingsOf(error as HostedError), ...showingsOf(reported as HostedError), ...tellings()],
    planter.planted,
  );
});

test('the errors of wrong arguments show nothing of them', async () => {
  const planter = createPlanter();
  const { callbacks, plant, signedBy, tellings } = { ...start(planter), plant: planter.plant };
  const body = signedBy(plantedCallback(planter));
  const options = { maxHintAgeMs: plant('age'), maxBytes: { [plant('field')]: plant('bytes') }, [plant('no')]: 1 };

  const errors = [
    await rejection(callbacks.receive(JSON.parse(body) as string)),
    await rejection(callbacks.receive(body, { ...options, replayGuard: plant('guard') } as never)),
    await rejection(callbacks.confirm({ userId: plant('user'), signedAt: plant('time') } as never)),
  ] as HostedError[];

  for (const error of errors) expect(error).toMatchObject({ code: 'validation' });
  // The name of an option is the caller's own word, and is shown.
  const planted = planter.planted.filter((value) => !value.startsWith('no-'));
  expectNothingIn([...errors.flatMap(showingsOf), ...tellings()], planted);
});

test('the error of a signer that throws shows nothing of it', async () => {
  const planter = createPlanter();
  const { plant } = planter;
  const signer = {
    name: plant('signer'),
    sign: () => plant('signed'),
    verify: (signature: string, { timestamp, partnerId }: { timestamp: string; partnerId: string }) => {
      const cause = new Error(`${signature} ${timestamp} ${partnerId}`);
      throw Object.assign(new Error(plant('message'), { cause }), { [plant('field')]: signature });
    },
  };
  const { callbacks, signedBy, tellings } = start(planter, {}, { signer });

  const error = await rejection(callbacks.receive(signedBy(plantedCallback(planter))));

  expect(error).toMatchObject({ code: 'config' });
  expectNothingIn([...showingsOf(error as HostedError), ...tellings()], planter.planted);
});

test('a callback that is received shows no signature and no key, and nothing of it is logged', async () => {
  const planter = createPlanter();
  const { callbacks, signedBy, tellings } = start(planter);
  const secrets = [...planter.planted];
  const body = signedBy(plantedCallback(planter));
  const { signature } = JSON.parse(body) as { signature: string };

  const hint = await callbacks.receive(body);

  expect(hint.userId).toMatch(/^user_id-/);
  expectNothingIn(showings(hint), [...secrets, signature]);
  expectNothingIn([...showings(callbacks), ...tellings()], planter.planted);
});

/** Options of a handler that fails with errors which say too much, and the status of its response. */
const failures: readonly (readonly [string, number, (plant: Planter['plant']) => HandlerOptions])[] = [
  ['onEvent that rejects', 500, (plant) => ({ onEvent: async (event) => talk(plant, event) })],
  ['onEvent that throws', 500, (plant) => ({ onEvent: (event) => talk(plant, event) })],
  ['begin of a guard', 503, (plant) => guarded({ begin: async (...given) => talk(plant, given) })],
  ['commit of a guard', 200, (plant) => guarded({ commit: async (...given) => talk(plant, given) })],
  [
    'forget of a guard',
    500,
    (plant) => ({ ...guarded({ forget: async (...given) => talk(plant, given) }), onEvent: away }),
  ],
];

function guarded(changes: Partial<ReplayGuard>): HandlerOptions {
  const begin = async () => 'new' as const;
  const done = async () => undefined;
  return { onEvent: () => undefined, replayGuard: { begin, commit: done, forget: done, ...changes } };
}

function talk(plant: Planter['plant'], given: object): never {
  const cause = Object.assign(new Error(`${plant('cause')} ${inspect(given)}`), { given });
  throw Object.assign(new Error(`${plant('message')} ${inspect(given)}`, { cause }), {
    name: plant('name'),
    [plant('field')]: given,
  });
}

test.each(failures)('nothing is shown of what is thrown by %s', async (_what, status, optionsOf) => {
  const planter = createPlanter();
  const verdict = { job_complete: true, job_success: false };
  const started: Started = start(planter, ({ body: { user_id, job_id } }) => {
    return new Response(started.signedBy({ ...verdict, user_id, job_id }));
  });
  const { callbacks, signedBy, deliver, told } = started;

  const handle = callbacks.handler(optionsOf(planter.plant));

  expect(await deliver(handle, signedBy(plantedCallback(planter)))).toBe(status);
  expect(told.some((each) => String(each).startsWith('hosted-client: '))).toBe(true);
});

const confirmations: readonly (readonly [string, (planter: Planter) => Reply])[] = [
  [
    'no connection',
    ({ plant }) =>
      () =>
        Promise.reject(Object.assign(new TypeError(plant('message')), { cause: { code: plant('code') } })),
  ],
  [
    'an error response',
    ({ plant }) =>
      Response.json({ error: plant('error'), code: '2304', [plant('field')]: plant('value') }, { status: 400 }),
  ],
  ['no signature', ({ plant }) => ({ user_id: plant('user'), job_complete: true, FullName: plant('name') })],
  ['a page', ({ plant }) => new Response(`<p>${plant('page')}</p>`)],
];

test.each(confirmations)('nothing is shown of a confirmation with %s', async (_what, reply) => {
  const planter = createPlanter();
  const { callbacks, signedBy, deliver, told } = start(planter, reply(planter));
  const onEvent = () => expect.unreachable();

  const body = signedBy(plantedCallback(planter), { timestamp: new Date(now).toISOString() });

  expect(await deliver(callbacks.handler({ onEvent }), body)).toBe(503);
  expect(told.length).toBeGreaterThan(2);
});
