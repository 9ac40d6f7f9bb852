// The turns of jobs, and how the requests of all turns share their places.

import { createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { createRequestQueue } from '../../src/callbacks/request-queue.js';
import { createTurns } from '../../src/callbacks/turns.js';
import { createWaitingClock } from '../../src/runtime/clock.js';
import { now, rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { forever, post, type Says, type Sequence, startHandler } from './deliveries.js';

failOnStrayRejections();

const slow = { takesMs: 3_000 };
const failed = { state: 'failed', codes: ['0810', '0811'] } as const;
const job2 = { job: 'job-2' };
const one = { maxConfirmations: 1 };
const oneAtOnce = (says: readonly Says[]) => ({ says, handler: one });
const lateEvent = (ms: number) => (call: number, clock: { sleep?(ms: number): Promise<void> }) =>
  call === 1 ? clock.sleep?.(ms) : undefined;

const sequences: readonly Sequence[] = [
  [
    'a delivery that arrives while a turn runs takes the next, which all that arrive until then join',
    { says: [slow, { ...failed, at: 3_001 }] },
    '0 ask, 3000 hand, 3000 ask, 3000 200 accepted, 3000 hand failed 0810 0811, 3000 200 accepted, 3000 200 accepted, 3000 200 accepted',
    [{}, 1_000, {}, 1_000, {}, {}],
  ],
  [
    'a delivery waits for the turn before it, although the one before that has ended',
    { says: [slow, { ...failed, at: 3_001, takesMs: 3_000 }, { ...failed, at: 6_000 }] },
    '0 ask, 3000 hand, 3000 ask, 3000 200 accepted, 6000 hand failed 0810 0811, 6000 ask, 6000 200 accepted, 6000 200 repeat',
    [{}, 1_000, {}, 3_000, { at: 4_000 }],
  ],
  [
    'a status that was handed over must answer the newest of those that joined',
    {},
    '0 ask, 0 hand, 0 200 accepted, 1000 ask, 3001 ask, 3001 200 repeat, 3001 200 repeat',
    [{}, 100, { at: -5_000 }, 100, {}],
  ],
  [
    'a change is handed over after the one before it, however slow that is',
    { says: [{}, failed], onEvent: lateEvent(5_000) },
    '0 ask, 0 hand, 5000 ask, 5000 200 accepted, 5000 hand failed 0810 0811, 5000 200 accepted',
    [{}, {}],
  ],
  [
    'a turn whose request would be the second within a second waits, and can be joined meanwhile',
    {},
    '0 ask, 0 hand, 0 200 accepted, 1000 ask, 1000 200 repeat, 1000 200 repeat',
    [{}, 100, { at: -5_000 }, 800, { at: -5_000 }],
  ],
  [
    'of those that joined, only the final ones wait for a pending job',
    { says: [slow, { state: 'pending', at: 3_000 }] },
    '0 ask, 3000 hand, 3000 ask, 3000 200 accepted, 5001 ask, 5001 200 repeat, 5001 503 pending, 5001 200 repeat',
    [{}, { isFinal: false }, {}, { isFinal: false }],
  ],
  ...[
    [{ at: -20_000 }, {}],
    [{}, { at: -20_000 }],
  ].map(
    (joined): Sequence => [
      `a status that is too old for one hint answers the other that joined: ${joined.map(({ at = 0 }) => at)}`,
      { says: [slow, { at: -10_001 }] },
      `0 ask, 3000 hand, 3000 ask, 3000 200 accepted, 5001 ask, ${joined.map(({ at }) => `5001 ${at ? '200 repeat' : '503 stale'}`).join(', ')}`,
      [{}, 1_000, ...joined],
    ],
  ),
  [
    'who waits ten seconds for a turn leaves it, and who came later gets it',
    { onEvent: lateEvent(12_000) },
    '0 ask, 0 hand, 11000 503 busy, 12000 ask, 12000 200 accepted, 12000 200 repeat',
    [{}, 1_000, {}, 4_000, {}],
  ],
  [
    'a turn that all have left is dropped',
    { onEvent: lateEvent(12_000) },
    '0 ask, 0 hand, 11000 503 busy, 12000 200 accepted',
    [{}, 1_000, {}, 11_000, 1_000],
  ],
  [
    'after leaseMs the next turn begins, and the response of the one before it waits on',
    { onEvent: lateEvent(8_000), handler: { leaseMs: 5_000 } },
    '0 ask, 0 hand, 5000 ask, 5000 hand, 5000 200 accepted, 8000 200 accepted',
    [{}, 1_000, {}],
  ],
  [
    'a place is held for a request, not for a turn',
    { handler: one, onEvent: lateEvent(5_000) },
    '0 ask, 0 hand, 0 ask job-2, 0 hand, 0 200 accepted job-2, 5000 200 accepted',
    [{}, job2],
  ],
  [
    'turns of different jobs share maxConfirmations requests in flight',
    oneAtOnce([slow]),
    '0 ask, 3000 ask job-2, 3000 hand, 3000 200 accepted, 6000 hand, 6000 200 accepted job-2',
    [{}, job2],
  ],
  [
    'the wait between two requests of a turn leaves its place to others',
    oneAtOnce([{ state: 'pending' }, { takesMs: 1_000 }, {}]),
    '0 ask, 0 ask job-2, 1000 hand, 1000 200 accepted job-2, 2001 ask, 2001 hand, 2001 200 accepted',
    [{}, job2],
  ],
  [
    'a second request that gets no place within ten seconds fails, and takes none later; who gets no first one is busy',
    oneAtOnce([{ state: 'pending' }, { takesMs: 20_000 }]),
    '0 ask, 0 ask job-2, 12001 503 timeout, 15000 503 busy job-3, 20000 hand, 20000 200 accepted job-2, 21000 ask job-4, 41000 hand, 41000 200 accepted job-4',
    [{}, job2, 5_000, { job: 'job-3' }, 16_000, { job: 'job-4' }],
  ],
];

for (const [what, setup, log, steps] of sequences) {
  test(what, async () => {
    expect(await startHandler(setup).run(steps)).toBe(log);
  });
}

test('many bodies about one job cause one request a second', async () => {
  const { run, sent, handed } = startHandler();

  await run(Array.from({ length: 100 }, () => [{ at: -60_000, says: { ResultText: 'any' } }, 50]).flat());

  // At 0, 1,000, … and 5,000 ms.
  expect(sent).toHaveLength(6);
  expect(handed).toHaveLength(1);
});

test('handlers of one client share the places of requests, and the memory of what was handed over', async () => {
  const { client, handle, clock, log } = startHandler({ says: [slow], handler: one });
  const other = client.callbacks.handler({ maxConfirmations: 1, onEvent: forever });

  const responses = [handle(post({ at: -60_000 }))];
  await clock.advance(0);
  responses.push(other(post({ at: -60_000 })));
  await clock.advance(6_000);
  const words = await Promise.all(responses.map(async (response) => (await response).text()));

  expect(log.filter((line) => line.includes('ask'))).toEqual(['0 ask', '3000 ask']);
  expect(words).toEqual(['accepted', 'repeat']);
});

test('a delivery leaves no timer behind', async () => {
  const { now: read, sleep } = createTestClock(now);
  const timers = new Set<object>();
  const clock = {
    now: read,
    sleep(ms: number, signal?: AbortSignal) {
      const timer = { ms };
      timers.add(timer);
      signal?.addEventListener('abort', () => timers.delete(timer));
      return sleep?.(ms, signal) ?? Promise.resolve();
    },
  };

  expect(await startHandler({ client: { clock } }).deliver()).toBe('200 accepted');

  expect([...timers]).toEqual([]);
});

// The queue -----------------------------------------------------------------

function startQueue() {
  const clock = createTestClock(now);
  const queue = createRequestQueue(createWaitingClock(clock));
  const begun: string[] = [];
  const enter = (job: string, ...times: readonly number[]) => {
    const hints = new Set(times.map((time) => ({ signedAt: new Date(time) })));
    const place = queue.enter(job, hints, 1).then(() => void begun.push(job));
    place.catch(() => undefined);
    return { hints, place };
  };
  /** Lets so many ms pass, and returns the requests that have begun. */
  const advance = async (ms = 0) => {
    await clock.advance(ms);
    return begun.splice(0).join();
  };
  /** Ends the request that runs, and returns all that have begun. */
  const release = () => {
    queue.release();
    return advance();
  };
  return { enter, release, advance };
}

test('signed times take turns, so a flood under some delays a genuine callback by its share only', async () => {
  const { enter, release } = startQueue();
  enter('running', 0);
  for (const time of [1, 2]) for (const at of ['a', 'b', 'c']) enter(`${time}${at}`, time);
  enter('genuine', 3);

  const order = [];
  for (let count = 0; count < 8; count++) order.push(await release());

  expect(order).toEqual(['running,1a', '2a', 'genuine', '1b', '2b', '1c', '2c', '']);
});

test('a request waits under each of its signed times, also under one that joins, and takes one place', async () => {
  const { enter, release } = startQueue();
  enter('running', 0);
  for (const at of ['a', 'b', 'c']) enter(`1${at}`, 1);
  enter('joined', 1).hints.add({ signedAt: new Date(2) });

  const order = [];
  for (let count = 0; count < 5; count++) order.push(await release());

  expect(order).toEqual(['running,1a', 'joined', '1b', '1c', '']);
});

test('a request that all deliveries have left takes no place', async () => {
  const { enter, release } = startQueue();
  enter('first', 1);
  const second = enter('second', 1);
  enter('third', 1);
  second.hints.clear();

  expect([await release(), await release()]).toEqual(['first,third', '']);
  expect(await rejection(second.place)).toMatchObject({ code: 'timeout' });
});

test('two requests about one job that wait for a place are sent a second apart, whichever handler asks', async () => {
  const clock = createTestClock(now);
  const queue = createRequestQueue(createWaitingClock(clock));
  const sent: number[] = [];
  const ask = async (job: string) => {
    await queue.enter(job, new Set([{ signedAt: new Date(now) }]), 1);
    sent.push(clock.now() - now);
    await clock.sleep?.(100);
    queue.release();
  };

  const asked = Promise.all([ask('job-2'), ask('job-1'), ask('job-1')]);
  await clock.advance(5_000);
  await asked;

  expect(sent).toEqual([0, 100, 1_100]);
});

test('after a turn that could not wait for a place, the next delivery takes another', async () => {
  const clock = createWaitingClock(createTestClock(now));
  const queue = createRequestQueue(clock);
  let fails = true;
  const enter: typeof queue.enter = async (...given) => {
    if (fails) throw new Error('the clock failed');
    return queue.enter(...given);
  };
  const turns = createTurns<string>(clock, { ...queue, enter }, 1);
  const hint = { userId: 'user-1', jobId: 'job-1', linkId: null, isFinal: true, signedAt: new Date(now) };

  await expect(turns.take('job-1', hint, async () => 'first')).rejects.toThrow('the clock failed');
  fails = false;

  expect(await turns.take('job-1', hint, async () => 'second')).toBe('second');
});

/** Turns whose clock fails at one reading: the `failsAt`-th that is counted. */
function startFailing() {
  const test = createTestClock(now);
  let failsAt = 0;
  const read = () => {
    failsAt -= 1;
    if (failsAt === 0) throw new Error('the clock failed');
    return test.now();
  };
  const clock = createWaitingClock({ ...test, now: read });
  const turns = createTurns<string>(clock, createRequestQueue(clock), 1);
  const hint = { userId: 'user-1', jobId: 'job-1', linkId: null, isFinal: true, signedAt: new Date(now) };
  const ask = () => turns.take('job-1', hint, (turn) => turn.ask(async () => 'asked')).catch(() => 'failed');
  const failAt = (reading: number) => {
    failsAt = reading;
  };
  return { ask, advance: test.advance, failAt };
}

test('a clock that fails once blocks no job, and its error is not stray', async () => {
  for (let reading = 1; reading <= 6; reading++) {
    const { ask, advance, failAt } = startFailing();
    expect(await ask()).toBe('asked');
    const second = ask();
    await advance(500);

    failAt(reading);
    // Deliveries that keep coming join the turn that waits.
    for (let count = 0; count < 10; count++) {
      void ask();
      await advance(4_000);
    }
    await second;

    const last = ask();
    await advance(4_000);
    expect(await last).toBe('asked');
  }
});
