/** The kinds of calls that a soak makes in turn: successes, faults, aborts and waits. */

import type { HostedClient } from 'hosted-client';

/** The clients and the signal that the calls use. */
export interface World {
  /** A client of the service in memory, with shortened waits. */
  readonly memory: HostedClient;
  /** A client of the server on loopback, with the platform's timers. */
  readonly loopback: HostedClient;
  readonly signal: AbortSignal;
}

const job = { userId: 'user-1', jobId: 'job-1' };
const newLink = {
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://partner.hosted.test/privacy',
  callbackUrl: 'https://partner.hosted.test/callback',
};

/** The name of a call, and the function that makes the call. */
export type Kind = readonly [name: string, call: (world: World) => Promise<unknown>];

/** Calls to the service in memory; the soak makes them in turn. */
export const inMemory: readonly Kind[] = [
  ['create', ({ memory, signal }) => memory.links.create(newLink, { signal })],
  ['update', ({ memory, signal }) => memory.links.update('good', { idTypes: [] }, { signal })],
  ['get', ({ memory, signal }) => memory.links.get('good', { signal })],
  ['list', ({ memory, signal }) => memory.links.list({ signal })],
  ['status', ({ memory, signal }) => memory.jobs.status(job, { signal })],
  ['wait', ({ memory, signal }) => memory.jobs.waitForCompletion(job, { signal })],
  ['wait for several', ({ memory, signal }) => waitForSeveral(memory, signal)],
  [
    'watch, left early',
    ({ memory, signal }) => readFirst(memory.jobs.watch({ userId: 'user-1', jobId: 'pending' }, { signal })),
  ],
  [
    'wait, out of time',
    ({ memory, signal }) =>
      memory.jobs.waitForCompletion({ userId: 'user-1', jobId: 'pending' }, { signal, deadlineMs: 3, minDelayMs: 100 }),
  ],
  ['walk, left early', ({ memory, signal }) => readFirst(memory.links.list({ signal, prefetch: 2 }))],
  ['one 503', ({ memory, signal }) => memory.links.get('once-503', { signal })],
  ['503', ({ memory, signal }) => memory.links.get('503', { signal })],
  ['429', ({ memory, signal }) => memory.links.get('429', { signal })],
  ['404', ({ memory, signal }) => memory.links.get('404', { signal })],
  ['401', ({ memory, signal }) => memory.links.get('401', { signal })],
  ['reset', ({ memory, signal }) => memory.links.get('reset', { signal })],
  ['body that breaks', ({ memory, signal }) => memory.links.get('break', { signal })],
  ['HTML', ({ memory, signal }) => memory.links.get('html', { signal })],
  ['too large', ({ memory, signal }) => memory.links.get('large', { signal })],
  ['redirect', ({ memory, signal }) => memory.links.get('redirect', { signal })],
  ['no link id', ({ memory, signal }) => memory.links.get('..', { signal })],
  ['timeout', ({ memory, signal }) => memory.links.get('stall', { signal, timeoutMs: 2, maxRetries: 0 })],
  ['deaf timeout', ({ memory, signal }) => memory.links.get('deaf', { signal, timeoutMs: 2, maxRetries: 0 })],
  ['total timeout', ({ memory, signal }) => memory.links.get('stall', { signal, totalTimeoutMs: 2 })],
  ['abort before', ({ memory }) => memory.links.get('good', { signal: AbortSignal.abort() })],
  ['abort during fetch', ({ memory }) => abortSoon((signal) => memory.links.get('stall', { signal }))],
  [
    'abort during back-off',
    ({ memory }) => abortSoon((signal) => memory.links.get('sleepy', { signal, maxRetries: 9 })),
  ],
  [
    'abort of a wait',
    ({ memory }) =>
      abortSoon((signal) =>
        memory.jobs.waitForCompletion(
          { userId: 'user-1', jobId: 'pending' },
          { signal, minDelayMs: 60_000, maxDelayMs: 60_000 },
        ),
      ),
  ],
];

/** Calls to the server on loopback; the soak makes them in turn. */
export const overLoopback: readonly Kind[] = [
  ['socket: create', ({ loopback, signal }) => loopback.links.create(newLink, { signal })],
  ['socket: status', ({ loopback, signal }) => loopback.jobs.status(job, { signal })],
  ['socket: get', ({ loopback, signal }) => loopback.links.get('good', { signal })],
  ['socket: 503', ({ loopback, signal }) => loopback.links.get('503', { signal })],
  ['socket: reset', ({ loopback, signal }) => loopback.links.get('reset', { signal })],
  ['socket: body that breaks', ({ loopback, signal }) => loopback.links.get('break', { signal })],
  ['socket: too large', ({ loopback, signal }) => loopback.links.get('large', { signal })],
  ['socket: redirect', ({ loopback, signal }) => loopback.links.get('redirect', { signal })],
  ['socket: timeout', ({ loopback, signal }) => loopback.links.get('stall', { signal, timeoutMs: 10 })],
  ['socket: abort', ({ loopback }) => abortSoon((signal) => loopback.links.get('stall', { signal }))],
];

async function readFirst(iterable: AsyncIterable<unknown>): Promise<unknown> {
  for await (const first of iterable) return first;
  return undefined;
}

async function waitForSeveral(client: HostedClient, signal: AbortSignal): Promise<void> {
  const jobs = Array.from({ length: 5 }, (_, index) => ({ ...job, jobId: `job-${index}` }));
  for await (const entry of client.jobs.waitForAll(jobs, { signal })) void entry;
}

async function abortSoon(call: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
  const ending = new AbortController();
  const calling = call(ending.signal);
  const timer = setTimeout(() => ending.abort(), 2);
  return calling.finally(() => clearTimeout(timer));
}
