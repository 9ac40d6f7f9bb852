/** Callbacks as they are posted, signed by node:crypto, and a client that receives them. */

import { createHash } from 'node:crypto';
import { type HostedClientOptions, HostedResponseError, HostedSignatureError } from 'hosted-client';
import { expect } from 'vitest';
import { apiKey, clientOf, rejection, sign } from '../support/fake-fetch.js';

export const nowText = '2026-01-02T03:04:05.678Z';
export const fiveMinutes = 300_000;
export const day = 24 * 60 * 60 * 1000;

/** A result with no more in it than a callback needs. */
export const result = {
  ResultCode: '0810',
  ResultText: 'Enroll User',
  ResultType: 'SAIA',
  HostedJobID: '0000001111',
  IsFinalResult: 'true',
  PartnerParams: { user_id: 'user-1', job_id: 'job-1', job_type: '1' },
};

/** The same job, with another result. */
export const otherResult = { ...result, ResultCode: '0811', ResultText: 'Failed Enroll' };

export interface Signing {
  readonly timestamp?: string | number;
  /** What is signed, where that is not the timestamp as it stands. */
  readonly over?: string;
  readonly member?: 'signature' | 'sec_key';
  readonly key?: string;
}

/** A callback as it is posted, signed by node:crypto. */
export function posted(
  members: object,
  { timestamp = nowText, over = String(timestamp), member = 'signature', key = apiKey }: Signing = {},
): string {
  return JSON.stringify({ ...members, timestamp, [member]: sign(over, key) });
}

export function receiver(options: Partial<HostedClientOptions> = {}) {
  return clientOf({}, options).client.callbacks;
}

/** SHA-256 over the six facts that make a result the same, by node:crypto. */
export function idOf(
  ...facts: readonly [string, string, string | null, string | null, string | null, boolean | null]
): string {
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

export async function expectSignatureError(
  receiving: Promise<unknown>,
  reason: HostedSignatureError['reason'],
): Promise<HostedSignatureError> {
  const error = await rejection(receiving, HostedSignatureError);
  expect(error).toMatchObject({ reason });
  return error;
}

export async function expectResponseError(
  receiving: Promise<unknown>,
  reason: HostedResponseError['reason'],
): Promise<HostedResponseError> {
  const error = await rejection(receiving, HostedResponseError);
  expect(error).toMatchObject({ reason });
  return error;
}
