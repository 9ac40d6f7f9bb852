// What no callback and no error of receive() shows.

import { inspect } from 'node:util';
import {
  type HostedClientOptions,
  HostedConfigError,
  type HostedError,
  type HostedEvent,
  hmacSha256,
  isHostedError,
  type ReceiveOptions,
  type Signer,
} from 'hosted-client';
import { expect, test } from 'vitest';
import { clientOf, now, rejection, sign, stillClock } from '../support/fake-fetch.js';
import { createPlanter, everything, expectNothingIn, type Planter, showings, showingsOf } from '../support/showings.js';
import { day, expectSignatureError, nowText, otherResult, posted, receiver, result } from './posted-callback.js';

/** A callback with something planted in every member that was ever seen, and in some that were not. */
function plantedCallback({ plant }: Planter) {
  return {
    ResultCode: plant('code'),
    ResultText: plant('text'),
    ResultType: plant('type'),
    HostedJobID: plant('hosted'),
    JSONVersion: plant('version'),
    IsFinalResult: 'true',
    IsMachineResult: 'false',
    ConfidenceValue: plant('confidence'),
    Actions: { [plant('action')]: plant('outcome') },
    PartnerParams: {
      user_id: plant('user'),
      job_id: plant('job'),
      job_type: plant('kind'),
      link_id: plant('link'),
      [plant('member')]: plant('value'),
    },
    FullName: plant('name'),
    FirstName: plant('first'),
    LastName: plant('last'),
    OtherName: plant('other'),
    DOB: plant('birth'),
    Gender: plant('gender'),
    IDNumber: plant('number'),
    SecondaryIDNumber: plant('second'),
    IDType: plant('document'),
    Country: plant('country'),
    ExpirationDate: plant('expiry'),
    IssuanceDate: plant('issue'),
    PhoneNumber2: plant('phone'),
    Photo: plant('photo'),
    Document: plant('scan'),
    KYCReceipt: `https://receipts.test/${plant('receipt')}`,
    ImageLinks: { selfie_image: `https://images.test/${plant('selfie')}`, id_card_image: [plant('card')] },
    Source: plant('source'),
    Address: { [plant('member')]: [{ [plant('member')]: plant('street') }] },
    [plant('member')]: plant('value'),
  };
}

/** A client with a planted key and partner id, what it told, and how its service signs. */
function plantedReceiver(planter: Planter, options: Partial<HostedClientOptions> = {}) {
  const { plant, planted } = planter;
  const told: unknown[] = [];
  const partner = plant('partner');
  const key = plant('key');
  const write = (message: string, details?: object) => {
    told.push(message, details);
  };
  const { client } = clientOf({}, {
    partnerId: partner,
    ...(options.signer ? {} : { signer: hmacSha256({ apiKey: [plant('key'), key] }) }),
    logger: { debug: write, info: write, warn: write, error: write },
    onEvent: (event: HostedEvent) => {
      told.push(event);
    },
    ...options,
  } as Partial<HostedClientOptions>);
  /** A callback by the service, or by whoever has another key; its signature is planted too. */
  const signedBy = (members: object, { timestamp = nowText, signingKey = key } = {}): string => {
    const signature = sign(timestamp, signingKey, partner);
    planted.push(signature);
    return JSON.stringify({ ...members, timestamp, signature });
  };
  const tellings = () => told.flatMap((each) => [inspect(each, everything), JSON.stringify(each) ?? '']);
  return { callbacks: client.callbacks, signedBy, tellings };
}

type Mishap = (planter: Planter, receiving: ReturnType<typeof plantedReceiver>) => Promise<unknown>;

const checkedMembers = [
  'ResultCode',
  'ResultText',
  'ResultType',
  'JSONVersion',
  'IsFinalResult',
  'IsMachineResult',
  'IDNumber',
  'SecondaryIDNumber',
  'FullName',
  'DOB',
  'IDType',
  'Country',
  'ExpirationDate',
] as const;

const mishaps: readonly { readonly what: string; readonly code: string; readonly run: Mishap }[] = [
  {
    what: 'a forged callback',
    code: 'signature',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(signedBy(plantedCallback(planter), { signingKey: planter.plant('theirs') })),
  },
  {
    what: 'a callback without signature',
    code: 'signature',
    run: (planter, { callbacks }) => callbacks.receive(JSON.stringify(plantedCallback(planter))),
  },
  {
    what: 'a signature that is an object',
    code: 'signature',
    run: (planter, { callbacks }) =>
      callbacks.receive(
        JSON.stringify({
          ...plantedCallback(planter),
          timestamp: nowText,
          signature: { [planter.plant('member')]: planter.plant('signature') },
        }),
      ),
  },
  {
    what: 'a timestamp that is no time',
    code: 'signature',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(signedBy(plantedCallback(planter), { timestamp: planter.plant('time') })),
  },
  {
    what: 'a stale callback',
    code: 'signature',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(signedBy(plantedCallback(planter), { timestamp: '2018-03-13T21:04:11.193Z' })),
  },
  {
    what: 'a replay with another body',
    code: 'signature',
    run: async (planter, { callbacks, signedBy }) => {
      await callbacks.receive(signedBy(plantedCallback(planter)));
      return callbacks.receive(signedBy(plantedCallback(planter)));
    },
  },
  {
    what: 'a callback without a job',
    code: 'response',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(
        signedBy({ ...plantedCallback(planter), PartnerParams: { [planter.plant('member')]: planter.plant('value') } }),
      ),
  },
  {
    what: 'ids of another shape',
    code: 'response',
    run: ({ plant, ...planter }, { callbacks, signedBy }) =>
      callbacks.receive(
        signedBy({
          ...plantedCallback({ plant, ...planter }),
          PartnerParams: { user_id: [plant('user')], job_id: { [plant('member')]: plant('job') }, link_id: [] },
        }),
      ),
  },
  {
    what: 'PartnerParams and Actions that are texts',
    code: 'response',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(
        signedBy({
          ...plantedCallback(planter),
          PartnerParams: planter.plant('params'),
          Actions: [planter.plant('action')],
        }),
      ),
  },
  ...checkedMembers.map((member) => ({
    what: `${member} of another shape`,
    code: 'response',
    run: ((planter, { callbacks, signedBy }) =>
      callbacks.receive(
        signedBy({
          ...plantedCallback(planter),
          [member]: { [planter.plant('member')]: [planter.plant('value')] },
        }),
      )) satisfies Mishap,
  })),
  {
    what: 'a callback that is too large',
    code: 'response',
    run: (planter, { callbacks, signedBy }) => callbacks.receive(signedBy(plantedCallback(planter)), { maxBytes: 100 }),
  },
  {
    what: 'JSON that breaks off',
    code: 'response',
    run: (planter, { callbacks, signedBy }) => callbacks.receive(signedBy(plantedCallback(planter)).slice(0, -1)),
  },
  {
    what: 'a text that is no JSON at all',
    code: 'response',
    run: ({ plant }, { callbacks }) => callbacks.receive(plant('text')),
  },
  {
    what: 'bytes that are no UTF-8',
    code: 'response',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(Buffer.concat([Buffer.from(signedBy(plantedCallback(planter))), Buffer.from([0xff])])),
  },
  {
    what: 'a list of callbacks',
    code: 'response',
    run: (planter, { callbacks, signedBy }) => callbacks.receive(`[${signedBy(plantedCallback(planter))}]`),
  },
  {
    what: 'a callback that was parsed already',
    code: 'validation',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(JSON.parse(signedBy(plantedCallback(planter))) as unknown as string),
  },
  {
    what: 'bad options',
    code: 'validation',
    run: ({ plant, ...planter }, { callbacks, signedBy }) =>
      callbacks.receive(signedBy(plantedCallback({ plant, ...planter })), {
        maxAgeMs: plant('age'),
        maxBytes: { [plant('member')]: plant('bytes') },
        replayGuard: { [plant('member')]: plant('guard') },
      } as unknown as ReceiveOptions),
  },
];

test.each(mishaps)('the error of $what shows nothing of it', async ({ code, run }) => {
  const planter = createPlanter();
  const receiving = plantedReceiver(planter);

  const error = await rejection(run(planter, receiving));

  expect(isHostedError(error)).toBe(true);
  expect(error).toMatchObject({ code });
  expect(planter.planted.length).toBeGreaterThan(3);
  expectNothingIn([...showingsOf(error as HostedError), ...receiving.tellings()], planter.planted);
});

test('the error of a signer that says too much shows nothing of it', async () => {
  const planter = createPlanter();
  const signer: Signer = {
    name: planter.plant('signer'),
    sign: () => planter.plant('signed'),
    verify: (signature, input) => {
      const cause = new Error(`${signature} ${input.timestamp} ${input.partnerId}`);
      throw Object.assign(new Error(planter.plant('message'), { cause }), { [planter.plant('member')]: signature });
    },
  };
  const { callbacks, signedBy, tellings } = plantedReceiver(planter, { signer });

  const error = await rejection(callbacks.receive(signedBy(plantedCallback(planter))));

  expect(error).toBeInstanceOf(HostedConfigError);
  expectNothingIn([...showingsOf(error as HostedError), ...tellings()], planter.planted);
});

test('a callback that is received shows no signature and no key, and nothing of it is logged', async () => {
  const planter = createPlanter();
  const { callbacks, signedBy, tellings } = plantedReceiver(planter);
  const secrets = [...planter.planted];
  const body = signedBy(plantedCallback(planter));
  const { signature } = JSON.parse(body) as { signature: string };

  const event = await callbacks.receive(body);

  expect(event.entry.identity?.fullName).toMatch(/^name-/);
  expectNothingIn(showings(event), [...secrets, signature]);
  expectNothingIn([...showings(callbacks), ...tellings()], planter.planted);
});

test('a callback signed twice shows neither signature', async () => {
  const signer = hmacSha256({ apiKey: ['new-key', 'old-key'] });
  const pair = { timestamp: nowText, sec_key: sign(nowText, 'old-key'), signature: sign(nowText, 'new-key') };

  const event = await receiver({ signer }).receive(JSON.stringify({ ...result, ...pair }));

  expectNothingIn(showings(event), [pair.sec_key, pair.signature]);
});

test('callbacks.receive() keeps to freshness though its options are those of a handler that confirms', async () => {
  const options = { confirm: true, maxAgeMs: 1_000, onEvent: () => undefined };
  const callbacks = receiver({ clock: stillClock(now + day) });

  await expectSignatureError(callbacks.receive(posted(result), options), 'stale');
});

test("callbacks.receive() judges freshness by its own clock, whatever a response's Date says", async () => {
  const date = new Date(now).toUTCString();
  const linkAnswer = () =>
    Response.json({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' }, { headers: { date } });
  const here = now + 600_000;
  const { client } = clientOf(linkAnswer, { clock: stillClock(here) });
  await client.links.get('ref-1');

  const event = await client.callbacks.receive(posted(result, { timestamp: new Date(here).toISOString() }));

  expect(event.signedAt).toEqual(new Date(here));
  await expectSignatureError(client.callbacks.receive(posted(result)), 'stale');
});

test('callbacks.receive() goes by its own clock alone, and refuses a replay on one that is ten minutes ahead', async () => {
  const date = new Date(now).toUTCString();
  const { client } = clientOf(Response.json({}, { status: 401, headers: { date } }), {
    clock: stillClock(now + 600_000),
  });
  const maxAgeMs = 900_000;
  await rejection(client.links.get('ref-1'));

  await expectSignatureError(client.callbacks.receive(posted(result)), 'stale');
  const first = await client.callbacks.receive(posted(result), { maxAgeMs });
  const second = await client.callbacks.receive(posted(result), { maxAgeMs });

  expect([first.repeat, second.repeat]).toEqual([false, true]);
  await expectSignatureError(client.callbacks.receive(posted(otherResult), { maxAgeMs }), 'replayed');
});
