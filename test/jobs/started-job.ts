// One job of a mock service, a client that waits for it, and a clock of both.

import { HostedClient, type HostedClientOptions, type HostedEvent, type WaitOptions } from 'hosted-client';
import { createMockService, type MockFault } from 'hosted-client/testing';
import { expect } from 'vitest';
import { createCountingClock } from '../support/counting-clock.js';
import { createImmediateSigner } from '../support/immediate-signer.js';
import { createTestClock } from './idle-clock.js';

export type OnPoll = NonNullable<WaitOptions['onPoll']>;
export type Poll = Parameters<OnPoll>[0];

export const steady = { jitter: false } as const;

/** A service and its client, on a clock that a test moves, and one pending job. */
export function start(options: Partial<HostedClientOptions> = {}) {
  const clock = createTestClock();
  const startedAt = clock.now();
  const { fetch, sandbox } = createMockService({ clock });
  const counting = createCountingClock(clock);
  const events: HostedEvent[] = [];
  const { apiKey = '', ...settings } = sandbox.clientOptions;
  const client = new HostedClient({
    ...settings,
    signer: createImmediateSigner(apiKey),
    fetch,
    clock: counting,
    onEvent: (event: HostedEvent) => events.push(event),
    ...options,
  } as HostedClientOptions);
  const job = sandbox.jobs.start({ userId: 'user-4711', jobId: 'job-0815' });
  return {
    client,
    clock,
    sandbox,
    fetch,
    job,
    events,
    sleeping: counting.asleep,
    fail: (fault: MockFault, times = 1) => sandbox.failNext('jobs.status', fault, times),
    complete: (outcome: 'approved' | 'rejected' = 'approved') => sandbox.jobs.complete(job, outcome),
    /** When polls arrived, in ms since the start. */
    polledAt: () => sandbox.requests.map(({ at }) => at - startedAt),
  };
}

/** The state of a promise, without waiting for it. */
export function outcomeOf(promise: Promise<unknown>) {
  const outcome: { state: 'pending' | 'resolved' | 'rejected'; value: unknown } = {
    state: 'pending',
    value: undefined,
  };
  promise.then(
    (value) => Object.assign(outcome, { state: 'resolved', value }),
    (error: unknown) => Object.assign(outcome, { state: 'rejected', value: error }),
  );
  return outcome;
}

export const late = { userId: 'user-late', jobId: 'job-late' };

/** What happens during a wait: so many ms pass, the job completes, the next polls fail, or the late job starts. */
type Step = number | 'approved' | 'rejected' | 'the late job starts' | MockFault | readonly [MockFault, times: number];

interface End {
  /** Properties of the status, or of the error. */
  readonly is: object;
  readonly error?: abstract new (...given: never[]) => unknown;
  /** When the polls arrived, in ms. */
  readonly polls?: readonly number[];
  /** When the wait ended, in ms. */
  readonly at?: number;
  readonly steps?: readonly Step[];
  readonly client?: Partial<HostedClientOptions>;
  /** Waits for a job that the service does not know yet. */
  readonly isLate?: true;
}

/** A test of a wait: its name, its options besides `jitter: false`, and how it ends. */
export type Wait = readonly [what: string, options: WaitOptions, end: End];

/** Waits for a job, takes the steps and an hour more, and expects this end. */
export async function expectEnd(
  options: WaitOptions,
  { is, error, polls, at, steps = [], ...given }: End,
): Promise<void> {
  const { client, clock, sandbox, job, fail, complete, polledAt, sleeping, events } = start(given.client);
  const startedAt = clock.now();
  let endedAt = Number.NaN;

  const wait = outcomeOf(
    client.jobs.waitForCompletion(given.isLate ? late : job, { ...steady, ...options }).finally(() => {
      endedAt = clock.now() - startedAt;
    }),
  );
  for (const step of steps) {
    if (typeof step === 'number') await clock.advance(step);
    else if (step === 'the late job starts') sandbox.jobs.start(late);
    else if (typeof step === 'string') given.isLate ? sandbox.jobs.complete(late, step) : complete(step);
    else if ('kind' in step) fail(step);
    else fail(...step);
  }
  await clock.advance(3_600_000);

  expect(wait.state).toBe(error ? 'rejected' : 'resolved');
  expect(wait.value).toMatchObject(is);
  if (error) expect(wait.value).toBeInstanceOf(error);
  if (polls) expect(polledAt()).toEqual(polls);
  if (at !== undefined) expect(endedAt).toBe(at);
  expect(sleeping()).toBe(0);
  expect(events.filter(({ type }) => type === 'retry')).toEqual([]);
}
