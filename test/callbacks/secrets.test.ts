// That no error, response, event or log line about a callback shows a key, a signature, or anything of its body.

import { inspect } from 'node:util';
import {
  type CallbackEvent,
  type HandlerOptions,
  type HostedClientOptions,
  type HostedError,
  hmacSha256,
  isHostedError,
  type ReceiveOptions,
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
import { away, post } from './deliveries.js';
import { guardWith } from './handled-callback.js';
import { nowText, receiver, result } from './posted-callback.js';

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

/** A callback that is rejected. */
type Rejected = readonly [what: string, make: (started: Started, body: object) => string | Uint8Array<ArrayBuffer>];

const fields =
  'ResultCode ResultText ResultType JSONVersion IsFinalResult IsMachineResult IDNumber SecondaryIDNumber FullName DOB IDType Country ExpirationDate'.split(
    ' ',
  );

const untrusted: readonly Rejected[] = [
  ['a forged callback', ({ signedBy, plant }, body) => signedBy(body, { signingKey: plant('theirs') })],
  ['a callback without signature', (_started, body) => JSON.stringify(body)],
  [
    'a signature that is an object',
    ({ plant }, body) =>
      JSON.stringify({ ...body, timestamp: nowText, signature: { [plant('field')]: plant('value') } }),
  ],
  ['a timestamp that is not a time', ({ signedBy, plant }, body) => signedBy(body, { timestamp: plant('time') })],
  ['a callback that is too old', ({ signedBy }, body) => signedBy(body, { timestamp: '2018-03-13T21:04:11.193Z' })],
];

const unusable: readonly Rejected[] = [
  [
    'a callback without a job',
    ({ signedBy, plant }, body) => signedBy({ ...body, PartnerParams: { [plant('field')]: plant('value') } }),
  ],
  [
    'ids of another type',
    ({ signedBy, plant }, body) =>
      signedBy({
        ...body,
        PartnerParams: { user_id: [plant('user')], job_id: { [plant('field')]: plant('job') }, link_id: [] },
      }),
  ],
  [
    'PartnerParams and Actions that are strings',
    ({ signedBy, plant }, body) => signedBy({ ...body, PartnerParams: plant('params'), Actions: [plant('action')] }),
  ],
  ...fields.map(
    (name): Rejected => [
      `${name} of another type`,
      ({ signedBy, plant }, body) => signedBy({ ...body, [name]: { [plant('field')]: [plant('value')] } }),
    ],
  ),
  ['JSON that breaks off', ({ signedBy }, body) => signedBy(body).slice(0, -1)],
  ['a string that is not JSON', ({ plant }) => plant('text')],
  [
    'bytes that are not UTF-8',
    ({ signedBy }, body) => Buffer.concat([Buffer.from(signedBy(body)), Buffer.from([0xff])]),
  ],
  ['a list of callbacks', ({ signedBy }, body) => `[${signedBy(body)}]`],
];

const tooLarge: Rejected[1] = ({ signedBy }, body) => signedBy({ ...body, Photo: 'A'.repeat(9_000) });

test.each([
  ...untrusted.map(([what, make]) => ({ what, make, code: 'signature', status: 401 })),
  ...unusable.map(([what, make]) => ({ what, make, code: 'response', status: 400 })),
  { what: 'a large callback', make: tooLarge, code: 'response', status: 413 },
])('$what is rejected, and nothing of it is shown', async ({ make, code, status }) => {
  const planter = createPlanter();
  const started = start(planter);
  const { callbacks, tellings, deliver } = started;
  const body = make(started, plantedCallback(planter));
  const maxBytes = 9_000;
  let reported: unknown;
  const onError = (error: unknown) => {
    reported = error;
  };

  const error = await rejection(callbacks.receive(body, { maxBytes }));
  const handle = callbacks.handler({ confirm: false, maxBytes, onEvent: () => undefined, onError });

  expect(error).toMatchObject({ code });
  expect(await deliver(handle, body)).toBe(status);
  expect(reported).toMatchObject({ code });
  expectNothingIn(
    [...showingsOf(error as HostedError), ...showingsOf(reported as HostedError), ...tellings()],
    planter.planted,
  );
});

/** What receive() can be given besides; each call gets an error with this code. */
const misuses: readonly (readonly [string, string, (started: Started, body: object) => Promise<unknown>])[] = [
  [
    'another body with the same signature',
    'signature',
    async ({ callbacks, signedBy, plant }, body) => {
      await callbacks.receive(signedBy(body));
      return callbacks.receive(signedBy({ ...body, FullName: plant('name') }));
    },
  ],
  [
    'a callback that was parsed',
    'validation',
    ({ callbacks, signedBy }, body) => callbacks.receive(JSON.parse(signedBy(body)) as string),
  ],
  [
    'invalid options',
    'validation',
    ({ callbacks, signedBy, plant }, body) =>
      callbacks.receive(signedBy(body), {
        maxAgeMs: plant('age'),
        maxBytes: { [plant('field')]: plant('bytes') },
        replayGuard: { [plant('field')]: plant('guard') },
      } as unknown as ReceiveOptions),
  ],
];

test.each(misuses)('the error of %s shows nothing of it', async (_what, code, run) => {
  const planter = createPlanter();
  const started = start(planter);

  const error = await rejection(run(started, plantedCallback(planter)));

  expect(isHostedError(error)).toBe(true);
  expect(error).toMatchObject({ code });
  expectNothingIn([...showingsOf(error as HostedError), ...started.tellings()], planter.planted);
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

test('a callback that is accepted shows no signature and no key, and nothing of it is logged', async () => {
  const planter = createPlanter();
  const { callbacks, signedBy, tellings, deliver } = start(planter);
  const secrets = [...planter.planted];
  const body = signedBy(plantedCallback(planter));
  const { signature } = JSON.parse(body) as { signature: string };

  const event = await callbacks.receive(body);

  expect(event.entry.identity?.fullName).toMatch(/^FullName-/);
  expectNothingIn(showings(event), [...secrets, signature]);
  expectNothingIn([...showings(callbacks), ...tellings()], planter.planted);
  expect(await deliver(callbacks.handler({ confirm: false, onEvent: away }), body)).toBe(200);
});

test('a callback that is signed twice shows neither signature', async () => {
  const signer = hmacSha256({ apiKey: ['new-key', 'old-key'] });
  const pair = { timestamp: nowText, sec_key: sign(nowText, 'old-key'), signature: sign(nowText, 'new-key') };

  const event = await receiver({ signer }).receive(JSON.stringify({ ...result, ...pair }));

  expectNothingIn(showings(event), [pair.sec_key, pair.signature]);
});

/** Options of a handler that fails with errors which say too much, and the status of its response. */
const failures: readonly (readonly [string, number, (started: Started) => object])[] = [
  ['onEvent that rejects', 500, ({ plant }) => ({ onEvent: async (event: CallbackEvent) => talk(plant, event) })],
  ['onEvent that throws', 500, ({ plant }) => ({ onEvent: (event: CallbackEvent) => talk(plant, event) })],
  ['begin of a guard', 503, ({ plant }) => guarded({ begin: async (...given) => talk(plant, given) })],
  ['commit of a guard', 200, ({ plant }) => guarded({ commit: async (...given) => talk(plant, given) })],
  [
    'forget of a guard',
    500,
    ({ plant }) => ({ ...guarded({ forget: async (...given) => talk(plant, given) }), onEvent: away }),
  ],
];

const guarded = (changes: Partial<ReplayGuard>) => ({ onEvent: () => undefined, replayGuard: guardWith(changes) });

function talk(plant: Planter['plant'], given: object): never {
  const cause = Object.assign(new Error(`${plant('cause')} ${inspect(given)}`), { given });
  throw Object.assign(new Error(`${plant('message')} ${inspect(given)}`, { cause }), {
    name: plant('name'),
    [plant('field')]: given,
  });
}

test.each(failures)('nothing is shown of what is thrown by %s', async (_what, status, optionsOf) => {
  const planter = createPlanter();
  const started = start(planter);
  const options = { confirm: false, ...optionsOf(started) } as unknown as HandlerOptions & { onEvent: () => void };

  const handle = started.callbacks.handler(options);

  expect(await started.deliver(handle, started.signedBy(plantedCallback(planter)))).toBe(status);
  expect(started.told.filter((each) => String(each).startsWith('hosted-client: '))).toHaveLength(
    status === 500 && options.replayGuard ? 2 : 1,
  );
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
