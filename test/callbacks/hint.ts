// Callbacks that are hints, what job status says about them, and what a handler reports.

import type { ConfirmedEvent, JobStatus } from 'hosted-client';
import { expect, vi } from 'vitest';
import { clientOf, now, type Reply, type SentRequest, sign, signed } from '../support/fake-fetch.js';
import { nowText } from './posted-callback.js';

export function listener() {
  return vi.fn<(event: ConfirmedEvent, status: JobStatus) => void | Promise<void>>();
}

export interface Posted {
  readonly jobId?: string;
  readonly timestamp?: string | number;
  readonly properties?: object;
}

/** A callback, signed with the key of `clientOf` by node:crypto. */
export function post({ jobId = 'job-1', timestamp = nowText, properties = {} }: Posted = {}): Request {
  const body = JSON.stringify({
    ResultCode: '0810',
    HostedJobID: '0000001111',
    PartnerParams: { user_id: 'user-1', job_id: jobId },
    ...properties,
    timestamp,
    signature: sign(String(timestamp)),
  });
  return new Request('https://partner.test/callbacks', { method: 'POST', body });
}

/** The status of each job that is asked for: it has succeeded, on a clock that a test moves. */
export function succeeded(time: () => number = () => now): Reply {
  return ({ body }) => Response.json(succeededStatus(body, time()));
}

export function succeededStatus({ user_id, job_id }: SentRequest['body'], at: number): object {
  const history = [{ ResultCode: '0810', HostedJobID: '0000001111', PartnerParams: { user_id, job_id } }];
  const record = { job_complete: true, job_success: true, user_id, job_id, history };
  return signed(record, { timestamp: new Date(at).toISOString() });
}

export async function statusOf(response: Promise<Response>): Promise<number> {
  return (await response).status;
}

/** Records the calls of onError. */
export function recordErrors() {
  const errors: { readonly error: unknown; readonly phase: string; readonly status: number }[] = [];
  const onError = (error: unknown, { phase, status }: { phase: string; status: number }) => {
    errors.push({ error, phase, status });
  };
  return { errors, onError };
}

/** Posts callbacks with one signed time for two jobs more than the limit. */
export async function expectLimit(most: number, timestamp: string | number): Promise<void> {
  const { client, sent } = clientOf(succeeded());
  const { errors, onError } = recordErrors();
  const handle = client.callbacks.handler({ onEvent: listener(), onError });

  const statuses: number[] = [];
  for (let job = 0; job < most + 2; job++)
    statuses.push(await statusOf(handle(post({ jobId: `job-${job}`, timestamp }))));

  expect(statuses).toEqual([...Array(most).fill(200), 503, 503]);
  expect(sent).toHaveLength(most);
  expect(errors.map(({ phase }) => phase)).toEqual(['guard', 'guard']);
  expect(await statusOf(handle(post({ jobId: 'job-0', timestamp })))).toBe(200);
}
