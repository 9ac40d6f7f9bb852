// How time is counted: durations and limits on a clock that may be set, sleeps of every length, and clocks that tell no time.

import { mock } from 'node:test';
import { HostedClient, type HostedClientOptions, HostedConfigError, type HostedError } from 'hosted-client';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createPlatformClock, createWaitingClock, maxTimerMs, withTimeout } from '../../src/runtime/clock.js';
import {
  clientOf,
  manualClock,
  now,
  operations,
  optionsOf,
  type Reply,
  rejection,
  serviceOf,
  signed,
  thrownBy,
} from '../support/fake-fetch.js';

const [create, , get, , status] = operations;
const minute = 60_000;
const hour = 60 * minute;

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A clock that may be set at any time; `pass` is what really passes. */
function settableClock() {
  const sleeping = manualClock();
  let setBy = 0;
  return {
    now: () => sleeping.now() + setBy,
    sleep: sleeping.sleep,
    asleep: sleeping.asleep,
    pass: sleeping.advance,
    set: (ms: number) => {
      setBy += ms;
    },
  };
}

/** What a promise has come to, once everything that is ready to run has run. */
async function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  let outcome: unknown = 'pending';
  const note = (result: unknown) => {
    outcome = result;
  };
  promise.then(note, note);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  return outcome;
}

// Elapsed time --------------------------------------------------------------

test('elapsed() of the platform follows the monotonic clock, whatever Date says', () => {
  const readings = [1_000, 1_250.5, 1_250.5, 4_000];
  vi.spyOn(performance, 'now').mockImplementation(() => readings.shift() ?? Number.NaN);
  const date = vi.spyOn(Date, 'now').mockReturnValue(now);

  const clock = createPlatformClock();
  const elapsed = [clock.elapsed()];
  date.mockReturnValue(now - hour);
  elapsed.push(clock.elapsed());
  date.mockReturnValue(now + hour);
  elapsed.push(clock.elapsed());

  expect(elapsed).toEqual([250.5, 250.5, 3_000]);
  expect(clock.now()).toBe(now + hour);
});

test.each<[string, readonly number[], readonly number[]]>([
  ['goes on', [0, 5, 5, 12], [5, 5, 12]],
  ['is set back an hour', [0, 5, 5 - hour, 10 - hour], [5, 5, 10]],
  ['is set back at every reading', [0, -1, -2, -3], [0, 0, 0]],
  ['is set ahead, and back', [0, hour, 0, 5], [hour, hour, hour + 5]],
])('elapsed() never goes back on a given clock that %s', (_what, readings, expected) => {
  const left = [...readings];
  const read = () => now + (left.shift() ?? Number.NaN);

  const clock = createWaitingClock({ now: read });

  expect([clock.elapsed(), clock.elapsed(), clock.elapsed()]).toEqual(expected);
});

// Sleeps --------------------------------------------------------------------

test('a sleep counts for its length where the timers are faked and the monotonic clock is not', async () => {
  vi.spyOn(performance, 'now').mockReturnValue(7);
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now });
  onTestFinished(() => mock.timers.reset());
  const clock = createPlatformClock();

  const sleep = clock.sleep(minute);
  mock.timers.tick(minute);
  await sleep;

  expect(clock.elapsed()).toBe(minute);
});

test.each([
  ['early', 1.2, 2],
  ['late', 9.5, 9.5],
])('a sleep of 2 ms that ends %s, after %d ms, counts for %d ms', async (_when, took, counted) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const reading = vi.spyOn(performance, 'now').mockReturnValue(100);
  const clock = createPlatformClock();

  const sleep = clock.sleep(2);
  reading.mockReturnValue(100 + took);
  vi.advanceTimersByTime(2);
  await sleep;

  expect(clock.elapsed()).toBe(counted);
});

test('a sleep on a given clock counts for its length, though the clock is set back meanwhile', async () => {
  const clock = settableClock();
  const { sleep, elapsed } = createWaitingClock(clock);

  const sleeping = sleep(minute);
  clock.set(-hour);
  clock.pass(minute);
  await sleeping;
  clock.pass(5);

  expect(elapsed()).toBe(minute + 5);
});

test('sleeps that overlap count once', async () => {
  const clock = settableClock();
  const { sleep, elapsed } = createWaitingClock(clock);

  const sleeps = [sleep(100), sleep(150)];
  clock.pass(150);
  await Promise.all(sleeps);

  expect(elapsed()).toBe(150);
});

test('a sleep of the platform that is longer than a timer takes does not end before its time', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const clock = createPlatformClock();
  const ended = vi.fn();

  void clock.sleep(maxTimerMs + minute).then(ended);
  await vi.advanceTimersByTimeAsync(maxTimerMs + minute - 1);
  const before = ended.mock.calls.length;
  await vi.advanceTimersByTimeAsync(1);

  expect(before).toBe(0);
  expect(ended).toHaveBeenCalledTimes(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('a given clock is never asked for a longer sleep than a timer takes', async () => {
  const slept: number[] = [];
  const given = {
    now: () => now,
    sleep: async (ms: number) => {
      slept.push(ms);
    },
  };

  await createWaitingClock(given).sleep(2 * maxTimerMs + 5);

  expect(slept).toEqual([maxTimerMs, maxTimerMs, 5]);
});

test('a sleep without end lasts until its signal aborts', async () => {
  const controller = new AbortController();
  let parts = 0;
  const given = {
    now: () => now,
    sleep: async (_ms: number, signal?: AbortSignal) => {
      signal?.throwIfAborted();
      parts += 1;
      if (parts === 3) controller.abort('enough');
    },
  };

  const reason = await rejection(createWaitingClock(given).sleep(Number.POSITIVE_INFINITY, controller.signal));

  expect(reason).toBe('enough');
});

// Clocks that are set -------------------------------------------------------

const steps = [-hour, hour, -24 * hour, 24 * hour];
const never: Reply = () => new Promise<Response>(() => undefined);
const busy: Reply = () => Response.json({}, { status: 503, headers: { 'retry-after': '7' } });

/** A client on the platform's clock, which is faked: `set` moves `Date` alone, as an administrator does. */
function onPlatformClock(replies: readonly Reply[], options: Partial<HostedClientOptions> = {}) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'], now });
  const service = serviceOf(replies);
  const { clock: _, ...platform } = optionsOf(service, options);
  return {
    client: new HostedClient(platform),
    arrived: service.arrived,
    pass: (ms: number) => vi.advanceTimersByTimeAsync(ms).then(() => undefined),
    set: (ms: number) => void vi.setSystemTime(Date.now() + ms),
  };
}

/** The same on a given clock. */
function onGivenClock(replies: readonly Reply[], options: Partial<HostedClientOptions> = {}) {
  const { pass, set, ...clock } = settableClock();
  const { client, arrived } = clientOf(replies, { ...options, clock });
  return { client, arrived, pass: async (ms: number) => pass(ms), set };
}

const clocks = [
  ...steps.map((step) => ({ whose: 'the platform’s', step, start: onPlatformClock })),
  // A given clock that is set ahead cannot be told from one on which time has passed.
  ...steps.filter((step) => step < 0).map((step) => ({ whose: 'a given', step, start: onGivenClock })),
];

test.each(clocks)('$whose clock that is set by $step ms moves no time limit of an attempt', async ({ step, start }) => {
  const { client, arrived, pass, set } = start([never], { maxRetries: 0 });

  const call = client.links.get('ref-1');
  await arrived(1);
  await pass(10_000);
  set(step);
  await pass(19_999);
  const before = await outcomeOf(call);
  await pass(1);

  expect(before).toBe('pending');
  expect(await outcomeOf(call)).toMatchObject({ code: 'timeout', phase: 'attempt' });
});

test.each(clocks)('$whose clock that is set by $step ms moves no retry, and no limit of a call', async (row) => {
  const { client, arrived, pass, set } = row.start([busy, busy, never], { totalTimeoutMs: 20_000 });

  const call = client.links.get('ref-1');
  await arrived(1);
  await outcomeOf(call);
  set(row.step);
  await pass(7_000);
  await arrived(2);
  await outcomeOf(call);
  set(row.step);
  await pass(7_000);
  await arrived(3);
  await pass(5_999);
  const before = await outcomeOf(call);
  await pass(1);

  expect(before).toBe('pending');
  expect(await outcomeOf(call)).toMatchObject({ code: 'timeout', phase: 'total', attempts: 3 });
});

// Nothing is known of what passed between the two readings of a clock that was set back: less than nothing it was not.
test.each([
  ['is what has passed, however long the client has run', 0, 1_500],
  ['is not negative, though the clock was set back meanwhile', -hour, 0],
])('the duration of a response %s', async (_what, step, durationMs) => {
  const clock = settableClock();
  const durations: number[] = [];
  const slow: Reply = () => {
    clock.pass(1_500.4);
    clock.set(step);
    return Response.json(get.answer());
  };
  const { client } = clientOf(slow, {
    clock,
    onEvent: (event) => event.type === 'response' && durations.push(event.durationMs),
  });
  clock.pass(hour);

  await client.links.get('ref-1');
  await client.links.get('ref-1');

  expect(durations).toEqual([durationMs, durationMs]);
});

// Clocks that tell no time --------------------------------------------------

const untimely = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, '5', null, undefined, 5n];

const throwing = () => {
  throw new Error('no time');
};

test.each([...untimely.map((time) => () => time), throwing])(
  'a clock that tells no time is refused: case %#',
  (read) => {
    const options = { ...optionsOf(serviceOf({})), clock: { now: read as never }, timeoutMs: 0 };

    const error = thrownBy(() => new HostedClient(options), HostedConfigError);

    expect(error.issues).toEqual([
      expect.objectContaining({ path: 'timeoutMs' }),
      { path: 'clock', message: 'must return the time as a finite number of milliseconds' },
    ]);
  },
);

/** A clock that tells the time so many times, once none, and then again. */
function failingClock(readings: number) {
  const sleeping = manualClock();
  let read = 0;
  return {
    now: () => {
      read += 1;
      return read === readings + 1 ? Number.NaN : sleeping.now();
    },
    sleep: sleeping.sleep,
    sleeping: sleeping.sleeping,
    hasFailed: () => read > readings,
  };
}

test.each([create, status])(
  'a clock that fails at any reading rejects $name with what became of it',
  async (operation) => {
    const outcomes: string[] = [];
    for (let readings = 2; ; readings++) {
      const clock = failingClock(readings);
      let requests = 0;
      let responses = 0;
      const { client } = clientOf(
        async () => {
          requests += 1;
          await new Promise((resolve) => setImmediate(resolve));
          responses += 1;
          return Response.json(operation.answer());
        },
        { clock, maxRetries: 0 },
      );

      const error = await operation.call(client).then(
        () => null,
        (reason: HostedError) => reason,
      );
      if (!clock.hasFailed()) break;

      const outcome = responses > 0 ? 'answered' : requests > 0 ? 'unknown' : 'not_sent';
      outcomes.push(outcome);
      expect(error).toBeInstanceOf(HostedConfigError);
      expect(error).toMatchObject({ operation: operation.name, outcome, retryable: false });
      expect(error?.message).toContain('"clock" must return the time as a finite number of milliseconds');
      if (operation === create) expect(/links\.find\(\)/.test(error?.message ?? '')).toBe(outcome !== 'not_sent');
      expect(clock.sleeping()).toBe(0);
      // It tells the time again.
      await operation.call(client);
    }

    expect(new Set(outcomes)).toEqual(new Set(['not_sent', 'answered']));
  },
);

test('a clock that fails when a time limit is over rejects with HostedConfigError', async () => {
  const clock = { ...manualClock(), failed: false };
  const tell = clock.now;
  const given = { now: () => (clock.failed ? Number.NaN : tell()), sleep: clock.sleep };
  const { client, arrived } = clientOf(never, { clock: given, maxRetries: 0 });

  const call = rejection(create.call(client));
  await arrived(1);
  clock.failed = true;
  clock.advance(30_000);

  expect(await call).toBeInstanceOf(HostedConfigError);
  expect(await call).toMatchObject({ operation: 'links.create', outcome: 'unknown' });
});

test.each([
  [429, create, 'not_sent'],
  [503, get, 'unknown'],
])('a clock that fails while %i is waited out rejects with HostedConfigError', async (code, operation, outcome) => {
  let hasFailed = false;
  const sleeping = manualClock();
  const clock = {
    now: () => (hasFailed ? Number.NaN : sleeping.now()),
    sleep: async (ms: number, signal?: AbortSignal) => {
      hasFailed = ms === 7_000;
      if (!hasFailed) await sleeping.sleep(ms, signal);
    },
  };
  const headers = { 'retry-after': '7' };
  const { client, sent } = clientOf(Response.json({}, { status: code, headers }), { clock });

  const error = await rejection(operation.call(client), HostedConfigError);

  expect(error).toMatchObject({ operation: operation.name, outcome, attempts: 1 });
  expect(sent).toHaveLength(1);
});

test('withTimeout() rejects with what a clock throws when its time is over', async () => {
  const sleeping = manualClock();
  const failure = new Error('no time');
  let readings = 0;
  const now = () => {
    readings += 1;
    if (readings > 2) throw failure;
    return sleeping.now();
  };
  const clock = createWaitingClock({ now, sleep: sleeping.sleep });

  const limited = withTimeout({ clock, ms: 5, timedOut: () => new Error('late') }, () => new Promise(() => undefined));
  sleeping.advance(5);

  expect(await rejection(limited)).toBe(failure);
});

test('a callback on a clock that fails rejects with HostedConfigError', async () => {
  let hasFailed = false;
  const { client } = clientOf({}, { clock: { now: () => (hasFailed ? Number.NaN : now) } });
  const body = JSON.stringify(signed({ ResultCode: '0810', PartnerParams: { user_id: 'user-1', job_id: 'job-1' } }));

  hasFailed = true;
  await rejection(client.callbacks.receive(body), HostedConfigError);
  hasFailed = false;

  await expect(client.callbacks.receive(body)).resolves.toMatchObject({ jobId: 'job-1' });
});
