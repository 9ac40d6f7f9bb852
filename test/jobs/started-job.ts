/** One job of a mock service, a client that waits for it, and a clock that both go by. */

import { HostedClient, type HostedClientOptions, type HostedEvent, type WaitOptions } from 'hosted-client';
import { createMockService, createTestClock, type MockFault } from 'hosted-client/testing';
import { createCountingClock } from '../support/counting-clock.js';
import { createImmediateSigner } from '../support/immediate-signer.js';

export type TestClock = ReturnType<typeof createTestClock>;
export type OnPoll = NonNullable<WaitOptions['onPoll']>;
export type Poll = Parameters<OnPoll>[0];

export const steady = { jitter: false } as const;

/** A service and a client of it, both on a clock that moves only when told; and one job, started. */
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
