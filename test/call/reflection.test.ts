// Our own signature coming back: never trusted, and no matter for an honest service.

import { generateKeyPairSync } from 'node:crypto';
import { ed25519, type HostedEvent, HostedSignatureError, hmacSha256, type Signer } from 'hosted-client';
import { expect, test } from 'vitest';
import type { Repeater } from '../../src/call/attempt.js';
import {
  apiKey,
  clientOf,
  now,
  operations,
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

const succeeded = { job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1' };

/** Hands back what was sent, as if it were a response. */
const mirror =
  (answerOf: (body: Body) => object): Reply =>
  ({ body }) =>
    Response.json({ ...succeeded, timestamp: body.timestamp, ...answerOf(body) });

const mirrorsKey = mirror(({ sec_key }) => ({ sec_key }));
const unavailable: Reply = () => Response.json({}, { status: 503, headers: { 'retry-after': '0' } });
const honest: Reply = () =>
  Response.json(signed({ job_complete: false }, { timestamp: new Date(now - 7).toISOString() }));

const task: Repeater = { issues: null };
const strictly = { wire: { echoesTimestamp: false } };

// One request ---------------------------------------------------------------

const mirrored: readonly [string, (body: Body) => object][] = [
  ['sec_key', ({ sec_key }) => ({ sec_key })],
  ['sec_key and signature', ({ sec_key }) => ({ sec_key, signature: sec_key })],
  [
    'sec_key beside another signature',
    ({ sec_key, timestamp }) => ({ sec_key, signature: sign(String(timestamp), 'old') }),
  ],
  ['signature in a spelling that the signer accepts', ({ sec_key }) => ({ signature: `v2=${sec_key}` })],
];

const rotating = hmacSha256({ apiKey: [apiKey, 'old'] });

/** A caller's own signer, which accepts a name of the scheme before a signature. */
const lenient: Signer = {
  name: 'lenient',
  sign: (input) => rotating.sign(input),
  verify: (signature, input) => rotating.verify(signature.replace(/^v2=/, ''), input),
};

test.each(mirrored)(
  'our own signature coming back as %s is asked about once more, and then rejected',
  async (...row) => {
    const [, answerOf] = row;
    const { client, sent } = clientOf(mirror(answerOf), { ...strictly, clock: recordingClock(), signer: lenient });

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

test.each(mirrored)(
  'our own signature coming back as %s is honest where the service echoes the timestamp',
  async (_what, answerOf) => {
    const { client, sent } = clientOf(mirror(answerOf), { wire: { echoesTimestamp: true }, signer: lenient });

    const seen = await client.jobs.status(job);

    expect(seen.state).toBe('succeeded');
    expect(sent).toHaveLength(1);
  },
);

// Seeds are not what DER is for: the last 32 bytes of either form are the raw key.
const pairOf = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privateKey,
    seed: privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(-32),
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32),
  };
};

test('with ed25519 our own signature is the signature of a stranger', async () => {
  const [own, theirs] = [pairOf(), pairOf()];
  const signer = ed25519({ secretKey: own.seed, servicePublicKey: theirs.publicKey });
  const { client } = clientOf(mirrorsKey, { ...strictly, signer, clock: recordingClock() });

  const error = await rejection(client.jobs.status(job), HostedSignatureError);

  expect(error).toMatchObject({ reason: 'mismatch', attempts: 1 });
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
  const options = { ...strictly, clock: recordingClock(), maxResponseAgeMs: false as const };
  const { client, sent } = clientOf([rejected, get.answer(), mirrorsKey], options);
  await get.call(client);

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ reason: 'reflected', attempts: 2 });
  for (const { body } of sent.slice(1)) {
    expect(Math.abs(Date.parse(String(body.timestamp)) - now - hour)).toBeLessThanOrEqual(3 * second);
  }
});

// Signing anew --------------------------------------------------------------

test('a request is signed anew at once, for two seconds earlier', async () => {
  const clock = passingClock();
  const events: HostedEvent[] = [];
  const onEvent = (event: HostedEvent) => events.push(event);
  const { client, sent } = clientOf([mirrorsKey, honest], { ...strictly, clock, onEvent });

  const { data, response } = await client.jobs.status(job).withResponse();

  expect(data.state).toBe('pending');
  expect(response.attempts).toBe(2);
  expect(sent.map(({ body }) => body.timestamp)).toEqual(['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:03.678Z']);
  expect(clock.slept).toEqual([]);
  expect(events.filter(({ type }) => type === 'retry')).toMatchObject([{ delayMs: 0, reason: 'signature' }]);
});

test('what a collision shows is learnt where it is seen, also by a call that makes no second request', async () => {
  const clock = passingClock();
  const level: Reply = () => {
    const timestamp = new Date(clock.time).toISOString();
    return Response.json(signed({ job_complete: false }, { timestamp }));
  };
  const { client, sent } = clientOf(level, { ...strictly, clock, maxRetries: 0 });

  expect(await rejection(client.jobs.status(job))).toMatchObject({ reason: 'reflected', attempts: 1 });
  for (let call = 0; call < 3; call++) expect((await client.jobs.status(job)).state).toBe('pending');

  expect(sent).toHaveLength(4);
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

// Other requests ------------------------------------------------------------

test('a response under the pair of another request is trusted: both sides sign alike', async () => {
  let requests: readonly SentRequest[] = [];
  const underFirst: Reply = () => {
    const { timestamp, sec_key } = requests[0]?.body ?? {};
    return Response.json({ ...succeeded, timestamp, sec_key });
  };
  const { client, sent } = clientOf([honest, underFirst], { ...strictly, clock: passingClock() });
  requests = sent;

  await client.jobs.status(job);

  // Only who is inside the TLS connection can do so, and SECURITY.md says it.
  expect((await client.jobs.status(job)).state).toBe('succeeded');
});

test('a part of something larger is signed anew once, and not retried, whatever maxRetries says', async () => {
  const reflecting = partsOf(mirrorsKey, { maxRetries: 5 });
  const failing = partsOf(unavailable, { maxRetries: 5 });
  const meeting = partsOf([mirrorsKey, honest], { maxRetries: 0 });
  const date = new Date(now + 10 * minute).toUTCString();
  const correcting = partsOf([Response.json({}, { status: 401, headers: { date } }), honest], { maxRetries: 0 });

  expect(await rejection(reflecting.poll(task))).toMatchObject({
    reason: 'reflected',
    attempts: 2,
  });
  expect(await rejection(failing.poll(task))).toMatchObject({ code: 'server', attempts: 1 });
  expect((await meeting.poll(task)).response.attempts).toBe(2);
  expect((await correcting.poll(task)).response.attempts).toBe(2);
});

test('what is part of something larger neither pays into nor takes from what an outage leaves', async () => {
  let isUp = false;
  const { poll, sent } = partsOf(
    () => (isUp ? Response.json(signed({ job_complete: false })) : Response.json({}, { status: 503 })),
    { wire: { echoesTimestamp: true } },
  );
  const requestsOf = async (count: number, repeater?: Repeater) => {
    const before = sent.length;
    for (let made = 0; made < count; made++) await poll(repeater).catch(() => undefined);
    return sent.length - before;
  };

  const spent = [await requestsOf(300, task), await requestsOf(200)];
  isUp = true;
  await requestsOf(500, task);
  isUp = false;
  const after = await requestsOf(100);

  // 500 tokens, 5 a retry, and none for a part.
  expect(spent).toEqual([300, 300]);
  expect(after).toBe(100);
});
