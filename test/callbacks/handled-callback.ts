// A mock service with one job, a client of it, and what its handlers can be given.

import {
  type CallbackEvent,
  type ConfirmedEvent,
  HostedClient,
  type HostedClientOptions,
  type JobStatus,
  type ReplayGuard,
} from 'hosted-client';
import { createMockService, createTestClock, type MockServiceOptions } from 'hosted-client/testing';
import { vi } from 'vitest';
import { deferred, now } from '../support/fake-fetch.js';

/** A service with one pending job, and a client of it that does not retry. */
export function start(options: MockServiceOptions = {}, clientOptions: Partial<HostedClientOptions> = {}) {
  const clock = createTestClock(now);
  const service = createMockService({ clock, ...options });
  const { sandbox } = service;
  const warned: string[] = [];
  const others: string[] = [];
  const logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message: string) => {
      warned.push(message);
    },
    error: (message: string) => {
      others.push(message);
    },
  };
  const client = new HostedClient({
    ...sandbox.clientOptions,
    fetch: service.fetch,
    maxRetries: 0,
    logger,
    ...clientOptions,
  } as HostedClientOptions);
  const job = sandbox.jobs.start();
  return { clock, service, sandbox, client, job, warned, others };
}

/** The same, with an approved job. */
export function startApproved(options: MockServiceOptions = {}, clientOptions: Partial<HostedClientOptions> = {}) {
  const started = start(options, clientOptions);
  started.sandbox.jobs.complete(started.job, 'approved');
  return started;
}

export function listener() {
  return vi.fn<(event: CallbackEvent) => void>();
}

export function confirmedListener() {
  return vi.fn<(event: ConfirmedEvent, status: JobStatus) => void>();
}

export async function statusOf(response: Promise<Response>): Promise<number> {
  return (await response).status;
}

/** A guard for which every callback is new, with changes. */
export function guardWith(changes: Partial<ReplayGuard>) {
  const guard = {
    begin: vi.fn<ReplayGuard['begin']>(async () => 'new'),
    commit: vi.fn<ReplayGuard['commit']>(async () => undefined),
    forget: vi.fn<ReplayGuard['forget']>(async () => undefined),
  };
  return Object.assign(guard, changes);
}

/** A step that settles when a test wants it, and a promise that it has begun. */
export function held<T>() {
  const settled = deferred<T>();
  const begun = deferred();
  const step = vi.fn((..._given: readonly unknown[]) => {
    begun.resolve();
    return settled.promise;
  });
  return { step, begun: begun.promise, resolve: settled.resolve };
}
