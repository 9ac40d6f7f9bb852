// The service's clock and ours: what is learnt of the difference, from which responses, and what is never judged by it.

import { HostedAuthenticationError, type HostedSignatureError } from 'hosted-client';
import { expect, test } from 'vitest';
import { createClockSkew, describeOffset, describeSkew } from '../../src/call/clock-skew.js';
import { createAgeNotice } from '../../src/call/response.js';
import {
  clientOf,
  deferred,
  manualClock,
  now,
  operations,
  type Reply,
  recordingClock,
  rejection,
  type SentRequest,
  sign,
  signed,
} from '../support/fake-fetch.js';

const [create, , get] = operations;
const job = { userId: 'user-1', jobId: 'job-1' };
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A response dated by a clock that is `offsetMs` off, to the second as HTTP has it. */
function dated(body: object, offsetMs: number, more: ResponseInit & { headers?: Record<string, string> } = {}) {
  const date = new Date(now + offsetMs).toUTCString();
  return Response.json(body, { ...more, headers: { date, ...more.headers } });
}

const rejectedAt = (offsetMs: number, status = 401) => dated({}, offsetMs, { status });

/** How far ahead of the test's time each request was signed. */
const aheadOf = (sent: readonly SentRequest[]) => sent.map(({ body }) => Date.parse(String(body.timestamp)) - now);

/** Signed by a clock that is this far off: `Date` is exact to a second. */
function expectAhead(request: SentRequest | undefined, offsetMs: number): void {
  const [ahead = Number.NaN] = aheadOf(request ? [request] : []);
  expect(Math.abs(ahead - offsetMs)).toBeLessThanOrEqual(second);
}

/** Signed on our own clock. */
function expectOwnTime(request: SentRequest | undefined): void {
  const [ahead = Number.NaN] = aheadOf(request ? [request] : []);
  expect(ahead).toBeGreaterThanOrEqual(0);
  expect(ahead).toBeLessThan(10);
}

const signedAhead = (offsetMs: number) =>
  signed({ job_complete: false }, { timestamp: new Date(now + offsetMs).toISOString() });

const callbackAhead = (offsetMs: number) => {
  const entry = { ResultCode: '0810', PartnerParams: { user_id: job.userId, job_id: job.jobId } };
  return JSON.stringify(signed(entry, { timestamp: new Date(now + offsetMs).toISOString() }));
};

/** A logger that keeps its warnings. */
function warnings() {
  const lines: string[] = [];
  const ignore = () => undefined;
  const warn = (line: string) => void lines.push(line);
  return { lines, logger: { debug: ignore, info: ignore, warn, error: ignore } };
}

// What is learnt, and from what ---------------------------------------------

const rejections: readonly [string, (offsetMs: number) => Response][] = [
  ['status 401', (offset) => rejectedAt(offset, 401)],
  ['status 403', (offset) => rejectedAt(offset, 403)],
  ['code 2204', (offset) => dated({ error: 'text', code: '2204' }, offset, { status: 400 })],
  ['code 2205', (offset) => dated({ error: 'text', code: '2205' }, offset, { status: 400 })],
  ['code 2305', (offset) => dated({ code: 2305 }, offset, { status: 400 })],
];

test.each(
  rejections.flatMap(([what, rejected]) =>
    operations.flatMap((operation) =>
      [10 * minute, -10 * minute].map((offset) => ({ name: operation.name, what, offset, rejected, operation })),
    ),
  ),
)('$name after $what is repeated once in the time of a clock $offset ms off', async (row) => {
  const { operation, rejected, offset } = row;
  const { client, sent } = clientOf([rejected(offset), () => Response.json(operation.answer())]);

  const { response } = await operation.call(client).withResponse();
  const later = await operation.call(client).withResponse();

  expect(response.attempts).toBe(2);
  expect(later.response.attempts).toBe(1);
  expectOwnTime(sent[0]);
  expectAhead(sent[1], offset);
  expectAhead(sent[2], offset);
  const member = operation.name === 'jobs.status' ? 'sec_key' : 'signature';
  for (const { body } of sent) expect(body[member]).toBe(sign(String(body.timestamp)));
  expect(new Set(sent.map(({ body }) => body[member])).size).toBe(3);
});

const codesWithStatuses = ['2204', '2205', '2305'].flatMap((code) =>
  [200, 202, 400, 401, 403, 404, 422, 500, 502, 503].map((status) => ({ code, status })),
);

test.each(codesWithStatuses)(
  'a create that is rejected with code $code and status $status is sent again only after a 4xx',
  async ({ code, status }) => {
    const rejected = () => dated({ code }, 5 * minute, { status });
    const { client, sent } = clientOf([rejected, create.answer()], { clock: recordingClock() });

    const end = await create.call(client).catch((error: unknown) => error);

    const is4xx = status >= 400 && status < 500;
    const unclear = { code: 'authentication', status, mayHaveActed: true, retryable: false, attempts: 1 };
    expect(sent).toHaveLength(is4xx ? 2 : 1);
    expect(end).toMatchObject(is4xx ? { refId: 'ref-1' } : unclear);
    if (!is4xx) expect((end as Error).message).toContain('the link may exist');
  },
);

test.each(operations.filter(({ repeatable }) => repeatable))(
  '$name that is rejected with a code and status 200 is sent again',
  async ({ call, answer }) => {
    const { client, sent } = clientOf([dated({ code: '2205' }, 5 * minute), answer()], { clock: recordingClock() });

    await call(client);

    expect(sent).toHaveLength(2);
    expectAhead(sent[1], 5 * minute);
  },
);

const otherResponses: readonly [string, Reply][] = [
  ...[200, 202, 400, 404, 408, 409, 422, 429, 500, 501, 502, 503, 504].map((status): [string, Reply] => [
    `status ${status}`,
    () => dated({}, hour, { status }),
  ]),
  ['a redirect', () => new Response(null, { status: 302, headers: { date: new Date(now + hour).toUTCString() } })],
  ['code 2301', () => dated({ code: '2301' }, hour)],
  ['code 2304', () => dated({ code: '2304' }, hour)],
  ['code 2313', () => dated({ code: '2313' }, hour, { status: 400 })],
  ['an error of another code', () => dated({ error: 'text', code: '2215' }, hour, { status: 400 })],
  ['a good response', () => dated(get.answer(), hour)],
  ['a list', () => dated([], hour)],
];

test.each(otherResponses)('the Date of %s teaches nothing', async (_what, reply) => {
  const { client, sent } = clientOf([reply, get.answer()], { maxRetries: 0, clock: recordingClock() });

  await get.call(client).catch(() => undefined);
  await get.call(client);

  for (const request of sent) expectOwnTime(request);
});

const withDate = (date: string) => Response.json({}, { status: 401, headers: { date } });

test.each<[string, Response]>([
  ['no Date', Response.json({}, { status: 401 })],
  ['a Date that agrees', rejectedAt(0)],
  ['a Date within seconds', rejectedAt(4 * second)],
  ['an empty Date', withDate('')],
  ['a Date in ISO form', withDate('2030-01-02T03:04:05Z')],
  ['the Date of no day', withDate('Fri, 99 Jan 2026 09:04:05 GMT')],
  ...['0', '1', '3600', 'old', ''].map((age): [string, Response] => [
    `a Date beside Age "${age}"`,
    dated({}, hour, { status: 401, headers: { age } }),
  ]),
])('a rejection with %s teaches nothing, is not repeated, and does not speak of the time', async (_what, rejected) => {
  const { client, sent } = clientOf([rejected, get.answer()]);

  const error = await rejection(get.call(client));
  await get.call(client);

  expect(error).toMatchObject({ code: 'authentication', attempts: 1, message: expect.not.stringContaining('clock') });
  expect(sent).toHaveLength(2);
  expectOwnTime(sent[1]);
});

test.each([
  [10 * second, 2],
  [10 * second + 1, 1],
  [29 * second, 1],
])('a Date after a round trip of %i ms leads to %i requests', async (trip, attempts) => {
  const clock = manualClock();
  const slow: Reply = () => {
    clock.advance(trip);
    // Dated in the middle of the way.
    return dated({}, 10 * minute + trip / 2, { status: 401 });
  };
  const { client, sent } = clientOf([slow, get.answer()], { clock });

  await get.call(client).catch(() => undefined);

  expect(sent).toHaveLength(attempts);
  if (attempts === 2) expectAhead(sent[1], trip + 10 * minute);
});

test('a round trip is what has passed, though the clock was set meanwhile', async () => {
  const clock = manualClock();
  const slow: Reply = () => {
    clock.time -= hour;
    // By the clock as it stands now, the service is ten minutes ahead.
    return dated({}, 10 * minute - hour, { status: 401 });
  };
  const { client, sent } = clientOf([slow, get.answer()], { clock });

  await get.call(client);

  expectAhead(sent[1], 10 * minute - hour);
});

// A clock at half a second measures exactly, as `Date` is cut to the second.
const atHalf = now - (now % second) + second / 2;

test.each<[readonly number[], number]>([
  [[minute], 0],
  [[-minute], 0],
  [[minute + second], minute + second],
  [[-minute - second], -minute - second],
  [[hour, hour + minute], hour],
  [[hour, hour - minute], hour],
  [[hour, hour + minute + second], hour + minute + second],
  [[hour, minute], 0],
  [[day], day],
  [[-day], -day],
  [[day + second], 0],
  [[-day - second], 0],
  [[hour, day + second], hour],
  [[3 * 365 * day], 0],
])('after differences of %o ms the offset is %i ms: over a minute, and a day at most', (differences, offset) => {
  const skew = createClockSkew('auto');
  const before = differences.map((ahead) => {
    const offsetBefore = skew.offsetMs;
    const headers = new Headers({ date: new Date(atHalf + ahead).toUTCString() });
    return { changed: skew.learn(headers, { receivedAt: atHalf, tookMs: 0 }), offsetBefore };
  });

  expect(skew.offsetMs).toBe(offset);
  expect(before.at(-1)?.changed).toBe(before.at(-1)?.offsetBefore !== offset);
});

test('a time that is no number teaches nothing', () => {
  const skew = createClockSkew('auto');
  const headers = new Headers({ date: new Date(now + hour).toUTCString() });

  const learnt = [
    skew.learn(headers, { receivedAt: now, tookMs: Number.NaN }),
    skew.learn(headers, { receivedAt: Number.NaN, tookMs: 0 }),
  ];

  expect(learnt).toEqual([false, false]);
  expect(skew.offsetMs).toBe(0);
});

test('an offset is forgotten when the clocks agree again', async () => {
  const replies = [hour, 0, -hour, 0].flatMap((offset) => [rejectedAt(offset), get.answer()]);
  const { client, sent } = clientOf(replies);

  for (let call = 0; call < 4; call++) await get.call(client);

  expect(sent).toHaveLength(8);
  for (const index of [0, 3, 4, 7]) expectOwnTime(sent[index]);
  for (const index of [1, 2]) expectAhead(sent[index], hour);
  for (const index of [5, 6]) expectAhead(sent[index], -hour);
});

test('clients made by withOptions() learn the clock for themselves', async () => {
  const { client, sent } = clientOf([rejectedAt(hour), get.answer()]);

  await get.call(client);
  await get.call(client.withOptions({}));

  expectOwnTime(sent[2]);
});

// One repeat ----------------------------------------------------------------

test.each(operations)('$name that is rejected in the corrected time too is not made a third time', async ({ call }) => {
  const { client, sent } = clientOf([rejectedAt(hour), rejectedAt(2 * hour), rejectedAt(3 * hour)], { maxRetries: 10 });

  const error = await rejection(call(client), HostedAuthenticationError);

  expect(error).toMatchObject({ outcome: 'refused', attempts: 2, retryable: false });
  expect(sent).toHaveLength(2);
});

test('a rejection in a time that is known already is not repeated', async () => {
  const { client, sent } = clientOf([rejectedAt(hour), get.answer(), rejectedAt(hour)]);
  await get.call(client);

  const error = await rejection(get.call(client));

  expect(error).toMatchObject({ code: 'authentication', attempts: 1 });
  expect(sent).toHaveLength(3);
});

test('maxRetries of 0 is one request, and what was learnt counts from the next call on', async () => {
  const { client, sent } = clientOf([rejectedAt(hour), get.answer()]);

  const error = await rejection(get.call(client, { maxRetries: 0 }));
  await get.call(client, { maxRetries: 0 });

  expect(error).toMatchObject({ code: 'authentication', attempts: 1 });
  expect(sent).toHaveLength(2);
  expectOwnTime(sent[0]);
  expectAhead(sent[1], hour);
});

test('a call rejected in its old time is repeated when another call has learnt the new one', async () => {
  const gate = deferred<void>();
  const undated: Reply = async () => {
    await gate.promise;
    return Response.json({}, { status: 401 });
  };
  const { client, sent } = clientOf([undated, rejectedAt(hour), get.answer()]);

  const rejected = get.call(client).withResponse();
  await get.call(client);
  gate.resolve();
  const { response } = await rejected;

  expect(response.attempts).toBe(2);
  expectOwnTime(sent[0]);
  expectAhead(sent[3], hour);
});

test('an error of another kind is not repeated because another call has learnt the time meanwhile', async () => {
  const gate = deferred<void>();
  const failing: Reply = async () => {
    await gate.promise;
    return Response.json({}, { status: 400 });
  };
  const { client, sent } = clientOf([failing, rejectedAt(hour), get.answer()]);

  const failed = rejection(create.call(client));
  await get.call(client);
  gate.resolve();

  expect(await failed).toMatchObject({ code: 'api', status: 400, attempts: 1 });
  expect(sent).toHaveLength(3);
});

test('a client learns the time as well once it has run for hours', async () => {
  const clock = manualClock();
  const { client, sent } = clientOf([() => rejectedAt(4 * hour), get.answer()], { clock });
  clock.advance(3 * hour);

  const { response } = await client.links.get('ref-1').withResponse();

  expect(response.attempts).toBe(2);
  expectAhead(sent[1], 4 * hour);
});

// clockSkew: 'off' ----------------------------------------------------------

test("clockSkew of 'off' learns nothing, and repeats no authentication error", async () => {
  const { client, sent } = clientOf([rejectedAt(hour), rejectedAt(-hour), get.answer()], { clockSkew: 'off' });

  const errors = [await rejection(get.call(client)), await rejection(get.call(client))];
  await get.call(client);

  for (const error of errors) expect(error).toMatchObject({ code: 'authentication', attempts: 1 });
  expect(sent).toHaveLength(3);
  for (const request of sent) expectOwnTime(request);
});

// What people are told ------------------------------------------------------

// `Date` is half a second late on average, and the test's clock stands at .678 of one.
test.each<[number, string]>([
  [7 * second, '7 s behind'],
  [-800 * day, '800 days ahead of'],
])('a rejection dated %i ms from now says how far the clocks are apart', async (offset, apart) => {
  const { client } = clientOf(rejectedAt(offset));

  const error = await rejection(get.call(client, { maxRetries: 0 }));

  expect(error).toHaveProperty(
    'message',
    `Cannot get a link: the service does not accept the signature (status 401); check that partner id and key are those of the sandbox environment, not of production; this machine's clock is ${apart} the service's "Date": set the clock (NTP); "npx hosted-client doctor" checks the rest of the configuration`,
  );
});

test.each<[number, string]>([
  [1_999, '1999 ms'],
  [2 * second, '2 s'],
  [2 * minute - 1, '120 s'],
  [2 * minute, '2 min'],
  [2 * hour - 1, '120 min'],
  [2 * hour, '2 h'],
  [2 * day - 1, '48 h'],
  [2 * day, '2 days'],
])('a difference of %i ms is written as %s', (ms, text) => {
  expect(describeOffset(ms)).toContain(`is ${text} behind the service's`);
  expect(describeOffset(-ms)).toContain(`is ${text} ahead of the service's`);
});

// A difference of five seconds is not suspicious, nor is one that the round trip explains.
test.each([
  [14 * second, false],
  [16 * second, true],
])('a rejection after ten seconds, dated %i ms ahead, speaks of the time: %s', async (ahead, speaks) => {
  const clock = manualClock();
  const reply = () => {
    clock.advance(10 * second);
    return rejectedAt(clock.time - now + ahead);
  };
  const { client } = clientOf(reply, { clock });
  clock.advance(3 * hour);

  const error = await rejection(get.call(client));

  expect((error as Error).message.includes('set the clock (NTP)')).toBe(speaks);
});

test('a stale response says how far the clocks are apart, and what to do', async () => {
  const { client } = clientOf(dated(signedAhead(6 * minute), 6 * minute));

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({
    code: 'signature',
    reason: 'stale',
    message: `Cannot get the status of a job: the response cannot be trusted: this machine's clock is 6 min behind the service's "Date": set the clock (NTP), or raise "maxResponseAgeMs"`,
  });
});

test('a response under another signature does not speak of the time, though the clocks are apart', async () => {
  const { client } = clientOf(dated({ ...signedAhead(0), sec_key: sign('another text') }, 6 * minute));

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ code: 'signature', reason: 'mismatch' });
  expect((error as Error).message).not.toContain('clock');
});

test('a stale response of a clock that agrees says what is accepted', async () => {
  const { client } = clientOf(dated(signedAhead(-6 * minute), 0));

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ reason: 'stale', message: expect.stringContaining('signed too far in the past') });
  expect((error as Error).message).not.toContain('clock is');
});

test('each change of the time that is signed is one warning', async () => {
  const { lines, logger } = warnings();
  const replies = [hour, hour, 0].flatMap((offset) => [rejectedAt(offset), get.answer()]);
  const { client } = clientOf(replies, { logger });

  await get.call(client);
  await rejection(get.call(client));
  await get.call(client);
  await get.call(client);

  expect(lines).toEqual([
    `hosted-client: this machine's clock is 60 min behind the service's "Date": requests are signed for the service's time`,
    `hosted-client: this machine's clock agrees with the service's "Date" again: requests are signed for the time of this machine`,
  ]);
});

test('a response more than half of what is accepted away is one warning an hour', async () => {
  const clock = manualClock();
  const { lines, logger } = warnings();
  let aheadMs = 150 * second;
  const reply: Reply = () => {
    const timestamp = new Date(clock.time + aheadMs).toISOString();
    return Response.json(signed({ job_complete: false }, { timestamp }));
  };
  const { client } = clientOf(reply, { clock, logger });
  const ask = async (ms: number) => {
    aheadMs = ms;
    await client.jobs.status(job);
    return lines.length;
  };

  const counts = [await ask(150 * second), await ask(-151 * second), await ask(200 * second)];
  clock.advance(hour - 1);
  counts.push(await ask(200 * second));
  clock.advance(1);
  counts.push(await ask(200 * second));

  expect(counts).toEqual([0, 1, 1, 1, 2]);
  expect(lines).toEqual([
    `hosted-client: a response was signed 3 min behind this machine's clock, and "maxResponseAgeMs" allows at most 5 min: set the clock (NTP)`,
    `hosted-client: a response was signed 3 min ahead of this machine's clock, and "maxResponseAgeMs" allows at most 5 min: set the clock (NTP)`,
  ]);
});

test('a response of any age is none to warn of where any age is accepted', () => {
  const lines: string[] = [];
  const clock = { elapsed: () => 0 };

  createAgeNotice({ maxResponseAgeMs: false, clock }, (line) => lines.push(line))(new Date(0), now);
  createAgeNotice({ maxResponseAgeMs: 1_000, clock }, (line) => lines.push(line))(new Date(now - 501), now);

  expect(lines).toEqual([
    `a response was signed 501 ms behind this machine's clock, and "maxResponseAgeMs" allows at most 1000 ms: set the clock (NTP)`,
  ]);
});

// What is fresh -------------------------------------------------------------

test('after any rejection, nothing is signed for another day, and what is fresh is what it was before', async () => {
  const learnt: number[] = [];
  const statuses = [0, -hour, -800 * day].map((ms) => signedAhead(ms));
  const { logger } = warnings();
  const edges = [59, 61, 3_600, 86_399, 86_400, 86_401, 400 * 86_400].flatMap((seconds) => [seconds, -seconds]);
  for (const [, rejected] of rejections) {
    for (const seconds of edges) {
      const { client, sent } = clientOf([rejected(seconds * second), ...statuses], { maxRetries: 0, logger });
      await rejection(get.call(client));

      const ends = [
        ...statuses.map(() => () => client.jobs.status(job)),
        ...[0, -3 * day, 3 * day].map((ms) => () => client.callbacks.receive(callbackAhead(ms))),
      ].map(async (act) =>
        act().then(
          () => 'fresh',
          ({ reason }: HostedSignatureError) => reason,
        ),
      );

      expect(await Promise.all(ends)).toEqual(['fresh', 'stale', 'stale', 'fresh', 'stale', 'stale']);
      for (const ms of aheadOf(sent)) expect(Math.abs(ms)).toBeLessThanOrEqual(day);
      learnt.push(...aheadOf(sent).filter((ms) => Math.abs(ms) > minute));
    }
  }

  // From more than a minute to a day. Because `Date` is cut to the second, a day behind is more than that.
  expect(learnt).toHaveLength(rejections.length * 7 * statuses.length);
});

test('a clock that is off by the least that counts is not named, and one that is off by more is', () => {
  // `Date` has only whole seconds, so it counts as written in the middle of its second.
  const at = Math.floor(now / second) * second + 500;
  const { headers } = dated({}, 10 * minute);

  expect(describeSkew(headers, at, 10 * minute)).toBeNull();
  expect(describeSkew(headers, at, 10 * minute - 1)).toBe(`this machine's clock is 10 min behind the service's "Date"`);
});
