/** Callbacks of a mock service with one job, posted as requests, and a client whose handler gets them. */

import {
  type CallbackEvent,
  type ConfirmedEvent,
  HostedClient,
  type HostedClientOptions,
  type JobStatus,
  type ReplayGuard,
} from 'hosted-client';
import { createMockService, createTestClock, type MockServiceOptions } from 'hosted-client/testing';
import { expect, vi } from 'vitest';
import { deferred, now, sign } from '../support/fake-fetch.js';

export const nowText = '2026-01-02T03:04:05.678Z';

/** A service with one job under way, and a client of it that does not try again. */
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

/** A handler's listener that takes what comes. */
export function listener() {
  return vi.fn<(event: CallbackEvent) => void>();
}

export function confirmedListener() {
  return vi.fn<(event: ConfirmedEvent, status: JobStatus) => void>();
}

/** A callback as somebody other than the mock service may post it. */
export function post(body: BodyInit | null, headers: Record<string, string> = {}): Request {
  return new Request('https://partner.test/callbacks', {
    method: 'POST',
    body,
    headers,
    duplex: 'half',
  } as RequestInit);
}

/** A result of a job, signed with the key of `clientOf` by node:crypto. */
export function postedResult(members: object = {}, timestamp = nowText): string {
  const result = {
    ResultCode: '0810',
    ResultText: 'Enroll User',
    HostedJobID: '0000001111',
    PartnerParams: { user_id: 'user-1', job_id: 'job-1' },
  };
  return JSON.stringify({ ...result, ...members, timestamp, signature: sign(timestamp) });
}

export async function statusOf(response: Promise<Response>): Promise<number> {
  return (await response).status;
}

export function expectComeAgain(response: Response): void {
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

/** A guard that takes everything for new, apart from what a test wants of it. */
export function guardWith(changes: Partial<ReplayGuard>) {
  const guard = {
    begin: vi.fn<ReplayGuard['begin']>(async () => 'new'),
    commit: vi.fn<ReplayGuard['commit']>(async () => undefined),
    forget: vi.fn<ReplayGuard['forget']>(async () => undefined),
  };
  return Object.assign(guard, changes);
}

/** A step that settles when a test says so, and says when it was begun. */
export function held<T>() {
  const settled = deferred<T>();
  const begun = deferred();
  const step = vi.fn((..._given: readonly unknown[]) => {
    begun.resolve();
    return settled.promise;
  });
  return { step, begun: begun.promise, resolve: settled.resolve };
}

export const away = () => Promise.reject(new Error('the store is away'));
export const broken = () => {
  throw new Error('the store is broken');
};
