// What Retry-After asks for: waited for up to a minute, and left to the caller beyond.

import { HostedRateLimitError, HostedServerError } from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { clientOf, operations, type Reply, recordingClock, rejection } from '../support/fake-fetch.js';

const [create, , get] = operations;
const asking = (retryAfter: string, status = 503) =>
  Response.json({}, { status, headers: { 'retry-after': retryAfter } });

/** A random number that is always the same, for clients made afterwards. */
function randomIs(value: number): void {
  vi.spyOn(Math, 'random').mockReturnValue(value);
}

afterEach(() => {
  vi.restoreAllMocks();
});

/** What a call that is answered like this sleeps before its one retry. */
async function sleptAfter(reply: Reply): Promise<readonly number[]> {
  const clock = recordingClock();
  const { client } = clientOf(reply, { clock, maxRetries: 1 });
  await rejection(get.call(client));
  return clock.slept;
}

// 2026-01-02 was a Friday; the test's clock stands at 03:04:05.678.
test.each<[string, number]>([
  ['7', 7_000],
  [' 7 ', 7_000],
  ['0', 0],
  ['60', 60_000],
  ['Fri, 02 Jan 2026 03:04:15 GMT', 9_322],
  ['Fri, 02 Jan 2026 03:05:05 GMT', 59_322],
  ['Fri, 02 Jan 2026 03:04:05 GMT', 0],
  ['Thu, 01 Jan 2026 00:00:00 GMT', 0],
])('Retry-After "%s" is waited for', async (header, expected) => {
  randomIs(0);

  expect(await sleptAfter(asking(header))).toEqual([expected]);
});

test('a wait is never shorter than Retry-After asks', async () => {
  randomIs(1 - Number.EPSILON);

  const [ms] = await sleptAfter(asking('7'));

  expect(ms).toBeGreaterThanOrEqual(7_000);
});

test.each<[string, number]>([
  ['61', 61_000],
  ['3600', 3_600_000],
  ['9999999999', 9_999_999_999_000],
  ['Fri, 02 Jan 2026 03:05:06 GMT', 60_322],
  ['Fri, 02 Jan 2026 04:04:05 GMT', 3_599_322],
  ['Fri, 31 Dec 9999 23:59:59 GMT', Date.UTC(9999, 11, 31, 23, 59, 59) - Date.UTC(2026, 0, 2, 3, 4, 5, 678)],
])('Retry-After "%s", more than a minute, is reported to the caller at once', async (header, retryAfterMs) => {
  const clock = recordingClock();
  const { client, sent } = clientOf([asking(header), get.answer()], { clock, maxRetries: 5 });

  const error = await rejection(get.call(client), HostedServerError);

  expect(error).toMatchObject({ status: 503, attempts: 1, retryable: true, retryAfterMs });
  expect(sent).toHaveLength(1);
  expect(clock.slept).toEqual([]);
});

test('a create that is asked to wait more than a minute rejects at once, and may be made again later', async () => {
  const clock = recordingClock();
  const { client, sent } = clientOf([asking('3600', 429), create.answer()], { clock });

  const error = await rejection(create.call(client), HostedRateLimitError);

  expect(error).toMatchObject({ outcome: 'refused', attempts: 1, retryable: true, retryAfterMs: 3_600_000 });
  expect(sent).toHaveLength(1);
  expect(clock.slept).toEqual([]);
});

test('a call that was retried before rejects as soon as it is asked to wait more than a minute', async () => {
  randomIs(0);
  const clock = recordingClock();
  const { client, sent } = clientOf([asking('1'), asking('61')], { clock, maxRetries: 5 });

  const error = await rejection(get.call(client));

  expect(error).toMatchObject({ attempts: 2, retryAfterMs: 61_000 });
  expect(sent).toHaveLength(2);
  expect(clock.slept).toEqual([1_000]);
});

test.each([
  '-5',
  '1.5',
  '1e3',
  '0x10',
  'NaN',
  'Infinity',
  '99999999999',
  '5, 10',
  'soon',
  '',
  '2026-01-02T04:00:00Z',
  'Fri, 99 Jan 2026 03:04:15 GMT',
  'Fri, 02 Foo 2026 03:04:15 GMT',
])('Retry-After "%s" counts as none', async (header) => {
  randomIs(0);
  const clock = recordingClock();
  const { client } = clientOf(asking(header), { clock, maxRetries: 1 });

  const error = await rejection(get.call(client));

  expect(clock.slept).toEqual([0]);
  expect(error).toMatchObject({ code: 'server', retryAfterMs: null });
});

test('a Retry-After that has passed asks for no wait at all', async () => {
  const { client } = clientOf(asking('Thu, 01 Jan 2026 00:00:00 GMT'), { clock: recordingClock(), maxRetries: 0 });

  const error = await rejection(get.call(client));

  expect(error).toMatchObject({ code: 'server', retryAfterMs: 0 });
});

test('a Retry-After beyond what is left of totalTimeoutMs gives the original error at once', async () => {
  randomIs(0);
  const clock = recordingClock([30_000, 10_000]);
  const { client, sent } = clientOf(asking('11'), { clock, totalTimeoutMs: 10_000 });

  const error = await rejection(get.call(client), HostedServerError);

  expect(error).toMatchObject({ status: 503, retryAfterMs: 11_000, attempts: 1 });
  expect(sent).toHaveLength(1);
  expect(clock.slept).toEqual([]);
});
