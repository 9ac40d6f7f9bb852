// Callbacks that are hints, what job status says about them, and what a handler reports.

import type { ConfirmedEvent, JobStatus } from 'hosted-client';
import { vi } from 'vitest';
import { now, type Reply, type SentRequest, sign, signed } from '../support/fake-fetch.js';
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

/** What job status answers about whatever job it is asked about, on a clock that a test moves. */
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

/** What onError was told, as phase and status. */
export function recordErrors() {
  const errors: { readonly error: unknown; readonly phase: string; readonly status: number }[] = [];
  const onError = (error: unknown, { phase, status }: { phase: string; status: number }) => {
    errors.push({ error, phase, status });
  };
  return { errors, onError };
}
