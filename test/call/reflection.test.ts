// Our own signatures coming back: never trusted, in a call or in a wait, and no matter for an honest service.

import { generateKeyPairSync, sign as nodeSign } from 'node:crypto';
import fc from 'fast-check';
import { ed25519, type HostedEvent, HostedSignatureError, hmacSha256, type Signer } from 'hosted-client';
import { expect, test } from 'vitest';
import type { PartOf } from '../../src/call/attempt.js';
import { createSentSignatures, rememberSent, wasSent } from '../../src/call/sign-request.js';
import {
  apiKey,
  clientOf,
  now,
  operations,
  partnerId,
  type Reply,
  recordingClock,
  rejection,
  type SentRequest,
  sign,
  signed,
} from '../support/fake-fetch.js';
import { passingClock } from '../support/honest-service.js';
import { partsOf } from '../support/parts.js';

const [, , get] = operations;
const job = { userId: 'user-1', jobId: 'job-1' };
const second = 1_000;
const minute = 60 * second;

type Body = Record<string, unknown>;

/** Hands back what was sent, as if it were a response. */
const mirror =
  (answerOf: (body: Body) => object): Reply =>
  ({ body }) =>
    Response.json({
      job_complete: true,
      job_success: true,
      user_id: 'user-1',
      job_id: 'job-1',
      timestamp: body.timestamp,
      ...answerOf(body),
    });

const mirrorsKey = mirror(({ sec_key }) => ({ sec_key }));
const unavailable: Reply = () => Response.json({}, { status: 503, headers: { 'retry-after': '0' } });
const later: Reply = () =>
  Response.json(signed({ job_complete: false }, { timestamp: new Date(now + 7).toISOString() }));
const honest: Reply = () =>
  Response.json(signed({ job_complete: false }, { timestamp: new Date(now - 7).toISOString() }));

const strictly = { wire: { echoesTimestamp: false } };

/** Hands back a request that was sent before, the oldest first. */
function mirrorOfEarlier(sent: () => readonly SentRequest[], index = 0): Reply {
  return () => {
    const { timestamp, sec_key } = sent()[index]?.body ?? {};
    return Response.json({
      job_complete: true,
      job_success: true,
      user_id: 'user-1',
      job_id: 'job-1',
      timestamp,
      sec_key,
    });
  };
}

// One request ---------------------------------------------------------------

const mirrored: readonly [string, (body: Body) => object][] = [
  ['sec_key', ({ sec_key }) => ({ sec_key })],
  ['signature', ({ sec_key }) => ({ signature: sec_key })],
  ['sec_key and signature', ({ sec_key }) => ({ sec_key, signature: sec_key })],
  [
    'sec_key beside another signature',
    ({ sec_key, timestamp }) => ({ sec_key, signature: sign(String(timestamp), 'old') }),
  ],
  [
    'signature beside another sec_key',
    ({ sec_key, timestamp }) => ({ signature: sec_key, sec_key: sign(String(timestamp), 'old') }),
  ],
  ['sec_key beside a forged signature', ({ sec_key }) => ({ sec_key, signature: 'AAAA' })],
];

const rotating = hmacSha256({ apiKey: [apiKey, 'old'] });

test.each(mirrored)(
  'our own signature coming back as %s is asked about once more, and then rejected',
  async (...row) => {
    const [, answerOf] = row;
    const { client, sent } = clientOf(mirror(answerOf), { ...strictly, clock: recordingClock(), signer: rotating });

    const error = await rejection(client.jobs.status(job), HostedSignatureError);

    expect(error).toMatchObject({
      reason: 'reflected',
      operation: 'jobs.status',
      outcome: 'answered',
      attempts: 2,
      retryable: false,
    });
    expect(sent).toHaveLength(2);
    const [first, again] = sent.map(({ body }) => body);
    expect(again?.timestamp).not.toBe(first?.timestamp);
    expect(again?.sec_key).not.toBe(first?.sec_key);
    expect(again?.sec_key).toBe(sign(String(again?.timestamp)));
  },
);

test.each(mirrored.slice(0, 5))(
  'our own signature coming back as %s is honest where the service echoes the timestamp',
  async (_what, answerOf) => {
    const { client, sent } = clientOf(mirror(answerOf), { wire: { echoesTimestamp: true }, signer: rotating });

    const seen = await client.jobs.status(job);

    expect(seen.state).toBe('succeeded');
    expect(sent).toHaveLength(1);
  },
);

test('a reflection is no matter of which field carries the signature of the request', async () => {
  const wire = { echoesTimestamp: false, jobSignatureMember: 'signature' as const };
  const reply = mirror(({ signature }) => ({ sec_key: signature }));
  const { client, sent } = clientOf(reply, { wire, clock: recordingClock() });

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ reason: 'reflected', attempts: 2 });
  expect(sent).toHaveLength(2);
});

const bytesOf = (text: string) => Buffer.from(text, 'base64');

/** A caller's own signer, which verifies what a signature decodes to. */
const lenient: Signer = {
  name: 'lenient',
  sign: ({ timestamp }) => sign(timestamp),
  verify: (signature, { timestamp }) => bytesOf(signature).equals(bytesOf(sign(timestamp))),
};

const accepted: readonly ((text: string) => string)[] = [
  (text) => text.replace(/=$/, ''),
  (text) => ` ${text}`,
  (text) => text.replaceAll('+', '-').replaceAll('/', '_'),
  // The Kelvin sign: no base64, which a decoder skips, and in lower case a letter that is.
  (text) => `\u212a${text}`,
];

const hexOf = (text: string) => bytesOf(text).toString('hex');

/** Callers' own signers, each with the spellings of our signature that it takes for the same. */
const lenientSigners: readonly [string, Signer, readonly ((text: string) => string)[]][] = [
  [
    'decodes base64',
    lenient,
    [
      ...accepted,
      (text) => `${text}==`,
      (text) => text.replace(/^.{20}/, '$&\r\n'),
      // The last character but the padding carries two bits that do not count.
      (text) => text.replace(/(.)=$/, (_all, last: string) => `${String.fromCharCode(last.charCodeAt(0) + 1)}=`),
    ],
  ],
  [
    'decodes hexadecimal digits',
    {
      name: 'hex',
      sign: ({ timestamp }) => hexOf(sign(timestamp)),
      verify: (signature, { timestamp }) => Buffer.from(signature, 'hex').equals(bytesOf(sign(timestamp))),
    },
    [
      (text) => text.toUpperCase(),
      (text) => text.replace(/^.{32}/, (half) => half.toUpperCase()),
      (text) => `${text}=`,
      (text) => `${text} `,
    ],
  ],
  [
    'decodes base64 and hexadecimal digits',
    {
      name: 'either',
      sign: ({ timestamp }) => sign(timestamp),
      verify: (signature, { timestamp }) =>
        [bytesOf(signature), Buffer.from(signature, 'hex')].some((bytes) => bytes.equals(bytesOf(sign(timestamp)))),
    },
    [(text) => hexOf(text), (text) => hexOf(text).toUpperCase(), ...accepted],
  ],
  [
    'takes a name of the scheme before the signature, and answers later',
    {
      name: 'prefixed',
      sign: async ({ timestamp }) => `v1=${sign(timestamp)}`,
      verify: async (signature, { timestamp }) => signature.toLowerCase().endsWith(sign(timestamp).toLowerCase()),
    },
    [(text) => text.slice(3), (text) => `v2=${text.slice(3)}`, (text) => text.toUpperCase()],
  ],
];

const members: readonly ((signature: string) => object)[] = [
  (signature) => ({ sec_key: signature }),
  (signature) => ({ signature }),
  (signature) => ({ sec_key: signature, signature }),
];

const formats = ['iso', 'epoch-ms', 'epoch-s'] as const;

/** What the first pause, of up to 500 ms, can leave of the total time limit. */
const leftAfterPause = Array.from({ length: 501 }, (_, pausedMs) => 120_000 - pausedMs);

test.each(lenientSigners)(
  'our own signature is reflected in every spelling that a signer accepts which %s',
  async (_what, signer, spellings) => {
    for (const jobTimestampFormat of formats) {
      for (const spell of spellings) {
        for (const member of members) {
          for (const write of [(timestamp: unknown) => timestamp, String]) {
            const reply = mirror(({ sec_key, timestamp }) => ({
              ...member(spell(String(sec_key))),
              timestamp: write(timestamp),
            }));
            const wire = { echoesTimestamp: false, jobTimestampFormat };
            const { client } = clientOf(reply, { wire, signer, clock: passingClock(), maxRetries: 0 });
            expect(await rejection(client.jobs.status(job))).toMatchObject({ code: 'signature', reason: 'reflected' });
          }
        }
      }
    }
  },
);

test.each(lenientSigners)(
  'the signature of an earlier request is reflected, too, by a signer which %s',
  async (_what, signer, spellings) => {
    for (const spell of spellings) {
      let requests: readonly SentRequest[] = [];
      const replayed: Reply = () => {
        const { timestamp, sec_key } = requests[0]?.body ?? {};
        return Response.json({
          job_complete: true,
          job_success: true,
          user_id: 'user-1',
          job_id: 'job-1',
          timestamp,
          sec_key: spell(String(sec_key)),
        });
      };
      const clock = recordingClock([30_000, ...leftAfterPause]);
      const { client, sent } = clientOf([unavailable, replayed], { ...strictly, signer, clock });
      requests = sent;
      expect(await rejection(client.jobs.status(job))).toMatchObject({ code: 'signature', reason: 'reflected' });

      const waiting = partsOf([unavailable, replayed], { signer, clock: recordingClock([30_000, ...leftAfterPause]) });
      requests = waiting.sent;
      const wait = waiting.createWait();
      await rejection(waiting.poll(wait));
      expect(await rejection(waiting.poll(wait))).toMatchObject({ code: 'signature', reason: 'reflected' });
    }
  },
);

test.each(lenientSigners)(
  'in such a spelling it is honest where the service echoes the timestamp, with a signer which %s',
  async (_what, signer, spellings) => {
    for (const spell of spellings) {
      const reply = mirror(({ sec_key }) => ({ sec_key: spell(String(sec_key)) }));
      const { client } = clientOf(reply, { wire: { echoesTimestamp: true }, signer, maxRetries: 0 });
      expect(await client.jobs.status(job)).toMatchObject({ state: 'succeeded' });
    }
  },
);

test('a signer that fails on our own signature ends the call', async () => {
  const signer: Signer = {
    ...lenient,
    verify(signature, input) {
      if (signature === sign(input.timestamp)) throw new Error('planted');
      return lenient.verify(signature, input);
    },
  };
  const reply = mirror(({ sec_key }) => ({ sec_key: ` ${sec_key}` }));
  const { client } = clientOf(reply, { ...strictly, signer, maxRetries: 0 });

  expect(await rejection(client.jobs.status(job))).toMatchObject({ code: 'config' });
});

test('in such a spelling it is reflected beside a good signature, too', async () => {
  // Each signature has a salt of its own before a stop, so that two over one text differ.
  const signer: Signer = {
    name: 'salted',
    sign: ({ timestamp }) => `1.${sign(timestamp)}`,
    verify: (signature, { timestamp }) => signature.trim().replace(/^\d\./, '') === sign(timestamp),
  };
  const reply = mirror(({ sec_key, timestamp }) => ({
    sec_key: ` ${sec_key}`,
    signature: `2.${sign(String(timestamp))}`,
  }));
  const { client } = clientOf(reply, { ...strictly, signer, maxRetries: 0 });

  expect(await rejection(client.jobs.status(job))).toMatchObject({ code: 'signature', reason: 'reflected' });
});

test('our own signature in another spelling is not trusted either', async () => {
  const spellings: readonly ((text: string) => string)[] = [
    (text) => text.replace(/=$/, ''),
    (text) => ` ${text}`,
    (text) => `${text}\n`,
    (text) => Buffer.from(text, 'base64').toString('hex'),
    // The last character but the padding carries two bits that do not count.
    (text) => text.replace(/(.)=$/, (_all, last: string) => `${String.fromCharCode(last.charCodeAt(0) + 1)}=`),
  ];

  for (const spell of spellings) {
    const reply = mirror(({ sec_key }) => ({ sec_key: spell(String(sec_key)) }));
    const { client } = clientOf(reply, strictly);
    expect(await rejection(client.jobs.status(job))).toMatchObject({ code: 'signature', reason: 'mismatch' });
  }
});

// Seeds are not what DER is for: the last 32 bytes of either form are the raw key.
const pairOf = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey,
    seed: privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32),
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32),
  };
};

test.each([
  ['of its own', pairOf(), pairOf()],
  ...[pairOf()].map((pair) => ['that is ours', pair, pair] as const),
] as const)(
  'with ed25519 a reflection is told from a signature of the service, whose key is one %s',
  async (_what, own, theirs) => {
    const signer = ed25519({ secretKey: own.seed, servicePublicKey: theirs.publicKey });
    const options = { ...strictly, signer, clock: recordingClock() };
    const { client, sent } = clientOf(mirrorsKey, options);
    const timestamp = new Date(now - 7 * second).toISOString();
    const text = Buffer.from(`${timestamp}${partnerId}sid_request`);
    const signature = nodeSign(null, text, theirs.privateKey).toString('base64');
    const truthful = clientOf({ job_complete: false, timestamp, signature }, options);

    const error = await rejection(client.jobs.status(job), HostedSignatureError);
    const seen = await truthful.client.jobs.status(job);

    expect(error).toMatchObject({ reason: 'reflected', outcome: 'answered', attempts: 2 });
    expect(sent).toHaveLength(2);
    expect(sent[1]?.body.sec_key).not.toBe(sent[0]?.body.sec_key);
    expect(seen.state).toBe('pending');
  },
);

test('a service with a key pair of its own may sign for the time of the request', async () => {
  const [own, theirs] = [pairOf(), pairOf()];
  const signer = ed25519({ secretKey: own.seed, servicePublicKey: theirs.publicKey });
  for (const jobTimestampFormat of formats) {
    const reply: Reply = ({ body: { timestamp } }) => {
      const text = Buffer.from(`${timestamp}${partnerId}sid_request`);
      const signature = nodeSign(null, text, theirs.privateKey).toString('base64');
      return Response.json({ job_complete: false, timestamp, signature });
    };
    const { client, sent } = clientOf(reply, { wire: { echoesTimestamp: false, jobTimestampFormat }, signer });

    expect((await client.jobs.status(job)).state).toBe('pending');
    expect(sent).toHaveLength(1);
  }
});

test('a service may sign for the millisecond of the request in another form of the timestamp', async () => {
  const wire = { echoesTimestamp: false, jobTimestampFormat: 'epoch-ms' as const };
  const reply: Reply = ({ body }) => {
    const timestamp = new Date(Number(body.timestamp)).toISOString();
    return Response.json({ job_complete: false, timestamp, signature: sign(timestamp) });
  };
  const { client, sent } = clientOf(reply, { wire });

  expect((await client.jobs.status(job)).state).toBe('pending');
  expect(sent).toHaveLength(1);
});

test('a reflection is recognised in the corrected time of a service whose clock is off', async () => {
  const hour = 60 * minute;
  const date = new Date(now + hour).toUTCString();
  const rejected = Response.json({}, { status: 401, headers: { date } });
  const { client, sent } = clientOf([rejected, get.answer(), mirrorsKey], { ...strictly, clock: recordingClock() });
  await get.call(client);

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ reason: 'reflected', attempts: 2 });
  for (const { body } of sent.slice(1)) {
    expect(Math.abs(Date.parse(String(body.timestamp)) - now - hour)).toBeLessThanOrEqual(2 * second);
  }
});

// Signing anew --------------------------------------------------------------

test('a request is signed anew after two milliseconds, for a second earlier', async () => {
  const clock = passingClock();
  const events: HostedEvent[] = [];
  const { client, sent } = clientOf([mirrorsKey, honest], {
    ...strictly,
    clock,
    onEvent: (event) => events.push(event),
  });

  const { data, response } = await client.jobs.status(job).withResponse();

  expect(data.state).toBe('pending');
  expect(response.attempts).toBe(2);
  expect(sent.map(({ body }) => body.timestamp)).toEqual(['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:04.680Z']);
  expect(clock.slept).toEqual([2]);
  expect(events.filter(({ type }) => type === 'retry')).toMatchObject([{ delayMs: 2, reason: 'signature' }]);
});

// 2026-01-02T03:04:05Z is 1767323045.
test.each<[string, PartOf | undefined, readonly number[]]>([
  ['a call is signed anew after a second, for the one before', undefined, [1_767_323_043, 1_767_323_042]],
  ['a confirmation is, too', { sent: null, issues: null }, [1_767_323_043, 1_767_323_042]],
  [
    'a poll is signed for multiples of ten',
    { sent: createSentSignatures(false), issues: null },
    [1_767_323_040, 1_767_323_030],
  ],
])('in whole seconds %s', async (_what, part, expected) => {
  const clock = passingClock();
  const { poll, sent } = partsOf([mirrorsKey, honest], { wire: { jobTimestampFormat: 'epoch-s' }, clock });

  await poll(part);

  expect(sent.map(({ body }) => body.timestamp)).toEqual(expected);
  expect(clock.slept).toEqual([1_000]);
});

test.each([
  [0, 1],
  [1, 2],
  [10, 2],
])('with maxRetries of %i a reflection makes %i requests', async (maxRetries, requests) => {
  const { client, sent } = clientOf(mirrorsKey, { ...strictly, clock: recordingClock(), maxRetries });

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ reason: 'reflected', attempts: requests });
  expect(sent).toHaveLength(requests);
});

test('signing anew is one of the repeats that maxRetries allows', async () => {
  const clock = recordingClock();
  const first = clientOf([mirrorsKey, unavailable, unavailable], { ...strictly, clock, maxRetries: 2 });
  const last = clientOf([unavailable, mirrorsKey, unavailable], { ...strictly, clock, maxRetries: 1 });

  const errors = [await rejection(first.client.jobs.status(job)), await rejection(last.client.jobs.status(job))];

  expect(errors[0]).toMatchObject({ code: 'server', attempts: 3 });
  expect(errors[1]).toMatchObject({ code: 'signature', reason: 'reflected', attempts: 2 });
});

test('a request is signed anew after an attempt that failed, too', async () => {
  const { client, sent } = clientOf([unavailable, mirrorsKey, honest], { ...strictly, clock: recordingClock() });

  const { data, response } = await client.jobs.status(job).withResponse();

  expect(data.state).toBe('pending');
  expect(response.attempts).toBe(3);
  expect(sent[2]?.body.timestamp).not.toBe(sent[1]?.body.timestamp);
});

test('signing anew is left out where it would outlast the call', async () => {
  const wire = { echoesTimestamp: false, jobTimestampFormat: 'epoch-s' as const };
  const clock = passingClock([30_000, 1_000]);
  const { client, sent } = clientOf(mirrorsKey, { wire, clock, totalTimeoutMs: 1_000 });

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ reason: 'reflected', attempts: 1 });
  expect(sent).toHaveLength(1);
});

test('signing anew costs nothing of what an outage leaves for retries', async () => {
  let requests = 0;
  const replies: Reply = (request, signal) => {
    requests += 1;
    return requests <= 600
      ? (mirrorsKey as (...given: unknown[]) => Response)(request, signal)
      : Response.json({}, { status: 503 });
  };
  const { client, sent } = clientOf(replies, { ...strictly, clock: recordingClock() });

  for (let call = 0; call < 300; call++) await rejection(client.jobs.status(job));
  for (let call = 0; call < 200; call++) await rejection(get.call(client));

  // Two requests a reflection; then 500 tokens, 5 a retry.
  expect(sent).toHaveLength(600 + 300);
});

// Earlier requests ----------------------------------------------------------

test.each([0, 1])("the signature of attempt %i is not trusted in a call's last response", async (index) => {
  let requests: readonly SentRequest[] = [];
  const replies = [unavailable, unavailable, mirrorOfEarlier(() => requests, index)];
  const { client, sent } = clientOf(replies, { ...strictly, clock: recordingClock() });
  requests = sent;

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ code: 'signature', reason: 'reflected', attempts: 3 });
});

test('the signature of the first attempt is not trusted in the response to the one that was signed anew', async () => {
  let requests: readonly SentRequest[] = [];
  const { client, sent } = clientOf([mirrorsKey, mirrorOfEarlier(() => requests)], {
    ...strictly,
    clock: recordingClock(),
  });
  requests = sent;

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ code: 'signature', reason: 'reflected', attempts: 2 });
});

test('a link that carries the signature of an earlier attempt counts as one without', async () => {
  let requests: readonly SentRequest[] = [];
  const replayed: Reply = () => {
    const { timestamp, signature } = requests[0]?.body ?? {};
    return Response.json({ ...get.answer(), timestamp, signature });
  };
  const { client, sent } = clientOf([unavailable, replayed], {
    ...strictly,
    clock: recordingClock(),
    maxResponseAgeMs: 1,
  });
  requests = sent;

  await expect(get.call(client)).resolves.toMatchObject({ refId: 'ref-1' });
  expect(sent).toHaveLength(2);
});

test.each([0, 3, 8])('the signature of poll %i is not trusted in the response to a later poll', async (index) => {
  let requests: readonly SentRequest[] = [];
  const replies = [...Array<Reply>(9).fill(honest), mirrorOfEarlier(() => requests, index)];
  const { poll, sent, createWait } = partsOf(replies);
  requests = sent;
  const wait = createWait();

  for (let count = 0; count < 9; count++) await poll(wait);
  const error = await rejection(poll(wait));

  // Made again once, although polls are not retried.
  expect(error).toMatchObject({ code: 'signature', reason: 'reflected', attempts: 2 });
});

test('calls that remember apart do not know one another', async () => {
  let requests: readonly SentRequest[] = [];
  const { poll, sent, createWait } = partsOf([honest, mirrorOfEarlier(() => requests)]);
  requests = sent;

  await poll(createWait());

  // One signature is nothing but a time: only who remembers it can tell it from the service's.
  await expect(poll(createWait())).resolves.toMatchObject({ data: { state: 'succeeded' } });
});

test('a part of something larger is signed anew once, and not retried, whatever maxRetries says', async () => {
  const reflecting = partsOf(mirrorsKey, { maxRetries: 5 });
  const failing = partsOf(unavailable, { maxRetries: 5 });
  const meeting = partsOf([mirrorsKey, honest], { maxRetries: 0 });
  const date = new Date(now + 10 * minute).toUTCString();
  const correcting = partsOf([Response.json({}, { status: 401, headers: { date } }), honest], { maxRetries: 0 });

  expect(await rejection(reflecting.poll({ sent: null, issues: null }))).toMatchObject({
    reason: 'reflected',
    attempts: 2,
  });
  expect(await rejection(failing.poll({ sent: null, issues: null }))).toMatchObject({ code: 'server', attempts: 1 });
  expect((await meeting.poll({ sent: null, issues: null })).response.attempts).toBe(2);
  expect((await correcting.poll({ sent: null, issues: null })).response.attempts).toBe(2);
});

test('what is part of something larger neither pays into nor takes from what an outage leaves', async () => {
  let isUp = false;
  const { poll, sent } = partsOf(
    () => (isUp ? Response.json(signed({ job_complete: false })) : Response.json({}, { status: 503 })),
    { wire: { echoesTimestamp: true } },
  );
  const requestsOf = async (count: number, part?: PartOf) => {
    const before = sent.length;
    for (let made = 0; made < count; made++) await poll(part).catch(() => undefined);
    return sent.length - before;
  };

  const spent = [await requestsOf(300, { sent: null, issues: null }), await requestsOf(200)];
  isUp = true;
  await requestsOf(500, { sent: null, issues: null });
  isUp = false;
  const after = await requestsOf(100);

  // 500 tokens, 5 a retry, and none for a part.
  expect(spent).toEqual([300, 300]);
  expect(after).toBe(100);
});

// How long they are remembered ----------------------------------------------

test.each<[string, number | false, number, boolean]>([
  ['would be fresh', minute, minute, true],
  ['would be stale', minute, minute + 1, false],
  ['would be fresh at any age', false, 1e12, true],
])('a signature is remembered where a response under it %s', (_when, maxAgeMs, passed, isKept) => {
  const sent = createSentSignatures(maxAgeMs);
  rememberSent(sent, 'first', { signedFor: now, now });

  rememberSent(sent, 'second', { signedFor: now + passed, now: now + passed });

  expect(['first', 'second', 'third'].map((signature) => wasSent(sent, signature))).toEqual([isKept, true, false]);
  expect(sent.forgottenUntil).toBe(isKept ? Number.NEGATIVE_INFINITY : now);
});

test('a wait without end remembers what is fresh, and no more', () => {
  const sent = createSentSignatures(5 * minute);
  const at = (poll: number) => now + poll * 30 * second;

  for (let poll = 0; poll < 10_000; poll++) rememberSent(sent, `poll ${poll}`, { signedFor: at(poll), now: at(poll) });
  const kept = Array.from({ length: 10_000 }, (_, poll) => poll).filter((poll) => wasSent(sent, `poll ${poll}`));

  // The last one, and those of the five minutes before it.
  expect(kept).toEqual(Array.from({ length: 11 }, (_, index) => 9_989 + index));
  expect(sent.forgottenUntil).toBe(at(9_988));
});

test('a signature that was forgotten is not trusted where the clock is set back', async () => {
  const clock = passingClock();
  let requests: readonly SentRequest[] = [];
  const { poll, sent, createWait } = partsOf([honest, unavailable, mirrorOfEarlier(() => requests), later], { clock });
  requests = sent;
  const wait = createWait();

  await poll(wait);
  clock.time += 60 * minute;
  await rejection(poll(wait));
  clock.time -= 60 * minute - 5;
  const error = await rejection(poll(wait));

  expect(error).toMatchObject({ code: 'signature', reason: 'stale' });
  await expect(poll(wait)).resolves.toMatchObject({ data: { state: 'pending' } });
});

// Any order -----------------------------------------------------------------

const steps = fc.array(
  fc.record({
    /** Which of the requests so far is handed back; none where the response is honest or an error. */
    reply: fc.oneof(fc.nat({ max: 100 }), fc.constantFrom('honest', 'unavailable')),
    member: fc.constantFrom('sec_key', 'signature'),
    setBy: fc.constantFrom(0, 0, 0, 60 * minute, -60 * minute),
    passed: fc.constantFrom(1, 3, second, 30 * second, 10 * minute),
  }),
  { minLength: 1, maxLength: 20 },
);

test.each(['iso', 'epoch-ms', 'epoch-s'] as const)(
  'in %s no response of a wait is trusted under a signature of its polls, in whatever order they come back',
  async (jobTimestampFormat) => {
    const property = fc.asyncProperty(steps, async (wait) => {
      const clock = passingClock();
      let step = wait[0] as (typeof wait)[number];
      let requests: readonly SentRequest[] = [];
      let setBy = 0;
      const { poll, sent, createWait } = partsOf(
        (request) => {
          if (step.reply === 'unavailable') return Response.json({}, { status: 503 });
          if (step.reply === 'honest') {
            // The service's own clock is not set.
            const timestamp = new Date(clock.time - setBy + 2).toISOString();
            return Response.json(signed({ job_complete: false }, { timestamp }));
          }
          const { timestamp, sec_key } = (requests[Number(step.reply) % requests.length] ?? request).body;
          return Response.json({
            job_complete: true,
            job_success: true,
            user_id: 'user-1',
            job_id: 'job-1',
            timestamp,
            [step.member]: sec_key,
          });
        },
        { clock, wire: { jobTimestampFormat } },
      );
      requests = sent;
      const part = createWait();
      const isSteady = wait.every((each) => each.setBy === 0);
      for (step of wait) {
        setBy += step.setBy;
        clock.time += step.setBy;
        const state = await poll(part).then(
          ({ data }) => data.state,
          ({ reason, code }: HostedSignatureError) => reason ?? code,
        );

        if (step.reply === 'unavailable') expect(state).toBe('server');
        else if (step.reply !== 'honest') expect(['reflected', 'stale']).toContain(state);
        else if (isSteady) expect(state).toBe('pending');
        else expect(state).not.toBe('succeeded');
        clock.time += step.passed;
      }
    });

    await fc.assert(property, { seed: 1, numRuns: 150 });
  },
);
