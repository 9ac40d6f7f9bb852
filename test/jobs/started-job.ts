/** One job of a mock service, a client that waits for it, and a clock that both go by. */

import { HostedClient, type HostedClientOptions, type HostedEvent, type WaitOptions } from 'hosted-client';
import { createMockService, createTestClock, type MockFault } from 'hosted-client/testing';
import { partnerId, sign } from '../support/fake-fetch.js';

export type TestClock = ReturnType<typeof createTestClock>;
export type OnPoll = NonNullable<WaitOptions['onPoll']>;
export type Poll = Parameters<OnPoll>[0];

export const steady = { jitter: false } as const;

/** What is done at once, so that no thread decides what happens when. */
export function signerOf(apiKey: string) {
  return {
    name: 'immediate',
    sign: ({ timestamp }: { timestamp: string }) => sign(timestamp, apiKey, partnerId),
    verify: (signature: string, { timestamp }: { timestamp: string }) =>
      signature === sign(timestamp, apiKey, partnerId),
  };
}

/** A clock that tells how many sleep on it. */
function countingSleepers(clock: TestClock) {
  const sleeping = new Set<object>();
  const sleep = async (ms: number, signal?: AbortSignal) => {
    const sleeper = {};
    sleeping.add(sleeper);
    try {
      await clock.sleep?.(ms, signal);
    } finally {
      sleeping.delete(sleeper);
    }
  };
  return { now: () => clock.now(), sleep, sleeping: () => sleeping.size };
}

/** A service and a client of it, both on a clock that moves only when told; and one job, started. */
export function start(options: Partial<HostedClientOptions> = {}) {
  const clock = createTestClock();
  const startedAt = clock.now();
  const { fetch, sandbox } = createMockService({ clock });
  const counting = countingSleepers(clock);
  const events: HostedEvent[] = [];
  const { apiKey = '', ...settings } = sandbox.clientOptions;
  const client = new HostedClient({
    ...settings,
    signer: signerOf(apiKey),
    fetch,
    clock: counting,
    onEvent: (event) => events.push(event),
    ...options,
  });
  const job = sandbox.jobs.start({ userId: 'user-4711', jobId: 'job-0815' });
  return {
    client,
    clock,
    sandbox,
    fetch,
    job,
    events,
    sleeping: counting.sleeping,
    fail: (fault: MockFault, times = 1) => sandbox.failNext('jobs.status', fault, times),
    complete: (outcome: 'approved' | 'rejected' = 'approved') => sandbox.jobs.complete(job, outcome),
    /** When polls arrived, in ms since the start. */
    polledAt: () => sandbox.requests.map(({ at }) => at - startedAt),
  };
}

/** How a promise stands, without waiting for it. */
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
