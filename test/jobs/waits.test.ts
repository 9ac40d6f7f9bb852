// How a wait for one job ends, after which polls, and when.

import {
  HostedApiError,
  HostedAuthenticationError,
  HostedConnectionError,
  HostedNotFoundError,
  HostedPollTimeoutError,
  HostedRateLimitError,
  HostedResponseError,
  HostedServerError,
  HostedSignatureError,
  HostedTimeoutError,
} from 'hosted-client';
import type { MockFault } from 'hosted-client/testing';
import { test } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { failWhenClockIsIdle } from './idle-clock.js';
import { expectEnd, type Wait } from './started-job.js';

failWhenClockIsIdle();

failOnStrayRejections();

const succeeded = { state: 'succeeded', complete: true, success: true, code: '2302' };
const job = { userId: 'user-4711', jobId: 'job-0815' };
const timedOut = { code: 'poll_timeout', operation: 'jobs.status', job };
const status = (code: number, retryAfter?: string): MockFault => ({
  kind: 'status',
  status: code,
  ...(retryAfter && { retryAfter }),
});
const coded = (code: number, serviceCode: string, retryAfter?: string): MockFault =>
  ({
    ...status(code, retryAfter),
    body: { error: 'no', code: serviceCode },
  }) as MockFault;
const network: MockFault = { kind: 'network' };
const pollsTo10s = [0, 2_000, 5_000, 9_500, 10_000];

const polls: readonly Wait[] = [
  [
    'a job that completes between two polls ends the wait with the next poll',
    {},
    { is: { ...job, ...succeeded }, steps: [4_000, 'approved'], polls: [0, 2_000, 5_000], at: 5_000 },
  ],
  ['a job that is complete takes one poll, at once', {}, { is: succeeded, steps: ['approved'], polls: [0], at: 0 }],
  [
    'a person who was not verified is a value',
    {},
    { is: { state: 'failed', complete: true, success: false }, steps: ['rejected'], polls: [0] },
  ],
  [
    'initialDelayMs passes before the first poll',
    { initialDelayMs: 7_000 },
    { is: succeeded, steps: ['approved'], polls: [7_000], at: 7_000 },
  ],
  [
    'an initialDelayMs beyond the deadline ends there, for one poll',
    { initialDelayMs: 60_000, deadlineMs: 5_000 },
    { is: { ...timedOut, elapsedMs: 5_000 }, error: HostedPollTimeoutError, polls: [5_000], at: 5_000 },
  ],
  ...(
    [
      [503, '20', 20_000],
      [503, '1', 2_000],
      [503, '0', 2_000],
      [429, '20', 20_000],
      [429, '2', 2_000],
      [500, 'soon', 2_000],
    ] as const
  ).map(
    ([code, retryAfter, next]): Wait => [
      `after ${code} with Retry-After ${retryAfter}, the next poll comes after ${next} ms`,
      {},
      { is: succeeded, steps: ['approved', status(code, retryAfter)], polls: [0, next] },
    ],
  ),
  [
    'a Retry-After beyond the deadline ends there, for one more poll',
    { deadlineMs: 10_000 },
    { is: succeeded, steps: ['approved', status(503, '50')], polls: [0, 10_000] },
  ],
  ...[0, 2, 5].map(
    (maxRetries): Wait => [
      `a poll is not retried with maxRetries ${maxRetries}`,
      { maxRetries },
      { is: succeeded, client: { maxRetries: 4 }, steps: ['approved', [status(503), 2]], polls: [0, 2_000, 5_000] },
    ],
  ),
];

const deadlines: readonly Wait[] = [
  [
    'the last poll comes at the deadline, and the error has the job and its last status',
    { deadlineMs: 10_000 },
    {
      is: { ...timedOut, elapsedMs: 10_000, lastStatus: { ...job, state: 'pending', code: '2314' } },
      error: HostedPollTimeoutError,
      polls: pollsTo10s,
      at: 10_000,
    },
  ],
  [
    'a job that completes just before the deadline is found there',
    { deadlineMs: 10_000 },
    { is: succeeded, steps: [9_999, 'approved'], polls: pollsTo10s },
  ],
  [
    'the deadline is ten minutes by default',
    {},
    { is: { ...timedOut, elapsedMs: 600_000 }, error: HostedPollTimeoutError, at: 600_000 },
  ],
  [
    'a deadline of 0 is one poll',
    { deadlineMs: 0 },
    {
      is: { ...timedOut, elapsedMs: 0, lastStatus: { state: 'pending' } },
      error: HostedPollTimeoutError,
      polls: [0],
      at: 0,
    },
  ],
  [
    'a deadline of 0 is enough for a complete job',
    { deadlineMs: 0 },
    { is: succeeded, steps: ['approved'], polls: [0] },
  ],
  [
    'an infinite deadline waits for days',
    { deadlineMs: Number.POSITIVE_INFINITY, maxDelayMs: 3_600_000 },
    { is: succeeded, steps: [7 * 86_400_000, 'approved'] },
  ],
  [
    'after polls without a response, there is no last status',
    { deadlineMs: 6_000, maxConsecutiveErrors: 99 },
    {
      is: {
        ...timedOut,
        lastStatus: null,
        message:
          'Cannot get the status of a job: "deadlineMs" has passed, and no poll returned the status of the job; to wait again, you need only the job\'s two ids',
        outcome: 'unknown',
        attempts: 4,
        retryable: true,
      },
      error: HostedPollTimeoutError,
      steps: [[network, 99]],
      polls: [0, 2_000, 5_000, 6_000],
    },
  ],
  [
    'the error says that the job was still pending',
    { deadlineMs: 6_000 },
    {
      is: {
        message:
          'Cannot get the status of a job: "deadlineMs" has passed, and the job was still pending; to wait again, you need only the job\'s two ids',
        outcome: 'answered',
        attempts: 4,
        retryable: true,
      },
      error: HostedPollTimeoutError,
    },
  ],
  [
    'a transient error at the deadline keeps the last status',
    { deadlineMs: 10_000 },
    { is: { ...timedOut, lastStatus: { state: 'pending' } }, error: HostedPollTimeoutError, steps: [9_999, network] },
  ],
];

// Errors --------------------------------------------------------------------

type Kind = abstract new (...given: never[]) => Error;

const ending: readonly (readonly [what: string, fault: MockFault, error: Kind, is: object])[] = [
  ['status 401', status(401), HostedAuthenticationError, { code: 'authentication' }],
  ['code 2313', coded(200, '2313'), HostedApiError, { code: 'api' }],
  ['a blocked ID number', coded(429, '2222', '1'), HostedRateLimitError, { code: 'rate_limit', serviceCode: '2222' }],
  ['a forged signature', { kind: 'bad-signature' }, HostedSignatureError, { code: 'signature', reason: 'mismatch' }],
  ['no signature', { kind: 'missing-signature' }, HostedSignatureError, { code: 'signature', reason: 'missing' }],
  [
    'an unsigned completion',
    { kind: 'status', status: 200, body: { job_complete: true, job_success: true, code: '2302' } },
    HostedSignatureError,
    { code: 'signature', reason: 'missing' },
  ],
  ['a redirect', status(307), HostedResponseError, { code: 'response', reason: 'redirect' }],
  ['a list', { kind: 'status', status: 200, body: [] }, HostedResponseError, { code: 'response', reason: 'shape' }],
];

const transient: readonly (readonly [what: string, fault: MockFault, error: Kind])[] = [
  ['a reset connection', network, HostedConnectionError],
  ['a response that breaks off', { kind: 'truncate' }, HostedConnectionError],
  ['no response in time', { kind: 'stall' }, HostedTimeoutError],
  ['status 408', status(408), HostedTimeoutError],
  ['status 429', status(429), HostedRateLimitError],
  ['status 503', status(503), HostedServerError],
  ['code 2301', coded(400, '2301'), HostedServerError],
];

const errors: readonly Wait[] = [
  ...ending.flatMap(([what, fault, error, is]): readonly Wait[] => [
    [
      `${what} ends a wait at once`,
      {},
      { is: { ...is, operation: 'jobs.status', attempts: 1 }, error, steps: ['approved', fault], polls: [0], at: 0 },
    ],
    [
      `${what} ends a wait at once after a response of the job`,
      {},
      { is, error, steps: [0, fault], polls: [0, 2_000], at: 2_000 },
    ],
  ]),
  [
    'a response that is too large ends a wait at once',
    {},
    { is: { reason: 'too_large' }, error: HostedResponseError, client: { maxResponseBytes: 10 }, polls: [0] },
  ],
  ...transient.flatMap(([what, fault, error]): readonly Wait[] => [
    [
      `${what} is tolerated three times in a row`,
      { timeoutMs: 1_000 },
      {
        is: succeeded,
        steps: ['approved', [fault, 3]],
        ...(fault.kind !== 'stall' && { polls: [0, 2_000, 5_000, 9_500] }),
      },
    ],
    [
      `${what} ends a wait with its error when it comes four times in a row`,
      {},
      { is: { operation: 'jobs.status', attempts: 1, retryable: true }, error, steps: ['approved', [fault, 4]] },
    ],
  ]),
  [
    'four different transient errors in a row end a wait with the fourth',
    {},
    {
      is: { status: 504 },
      error: HostedServerError,
      steps: [network, { kind: 'truncate' }, { kind: 'stall' }, status(504)],
    },
  ],
  [
    'the count of transient errors begins again after a response',
    { backoffFactor: 1 },
    {
      is: succeeded,
      steps: [[status(503), 3], 8_000, [status(503), 3], 8_000, [status(503), 3], 8_000, 'approved'],
      polls: Array.from({ length: 14 }, (_, index) => index * 2_000),
    },
  ],
  ...(
    [
      [0, [0]],
      [1, [0, 2_000]],
      [5, [0, 2_000, 5_000, 9_500, 16_250, 26_375]],
    ] as const
  ).map(
    ([maxConsecutiveErrors, polls]): Wait => [
      `a wait tolerates as many transient errors as maxConsecutiveErrors: ${maxConsecutiveErrors}`,
      { maxConsecutiveErrors },
      { is: { code: 'server' }, error: HostedServerError, steps: [[status(503), 20]], polls },
    ],
  ),
  [
    'the time limits of a wait are those of each poll',
    { timeoutMs: 1_000, totalTimeoutMs: 900 },
    { is: succeeded, steps: ['approved', [{ kind: 'stall' }, 2]], polls: [0, 2_900, 6_800] },
  ],
];

const unknown: readonly Wait[] = [
  [
    'a job that is not known yet is waited for',
    {},
    { is: succeeded, isLate: true, steps: [12_000, 'the late job starts', 10_000, 'approved'] },
  ],
  [
    'a job that stays unknown ends a wait with the first poll after its grace',
    {},
    {
      is: { code: 'not_found', serviceCode: '2304' },
      error: HostedNotFoundError,
      isLate: true,
      polls: [0, 2_000, 5_000, 9_500, 16_250, 26_375, 30_000],
      at: 30_000,
    },
  ],
  [
    'notFoundGraceMs sets how long a job may be unknown',
    { notFoundGraceMs: 5_000 },
    { is: { code: 'not_found' }, error: HostedNotFoundError, isLate: true, polls: [0, 2_000, 5_000] },
  ],
  [
    'notFoundGraceMs of 0 ends a wait for an unknown job at once',
    { notFoundGraceMs: 0 },
    { is: { code: 'not_found' }, error: HostedNotFoundError, isLate: true, polls: [0] },
  ],
  [
    'code 2304 ends a wait at once after a response of the job, also within the grace',
    {},
    { is: { code: 'not_found' }, error: HostedNotFoundError, steps: [0, coded(400, '2304')], polls: [0, 2_000] },
  ],
  [
    'code 2304 is tolerated within the grace however often it comes, and among transient errors',
    { minDelayMs: 1_000, backoffFactor: 1, maxConsecutiveErrors: 1 },
    {
      is: { state: 'failed' },
      isLate: true,
      steps: [9_000, network, 2_000, network, 2_000, 'the late job starts', 'rejected'],
      polls: Array.from({ length: 15 }, (_, index) => index * 1_000),
    },
  ],
  [
    'the poll at the end of the grace is not the last one where the deadline is later',
    { deadlineMs: 40_000 },
    {
      is: succeeded,
      isLate: true,
      steps: [28_000, 'the late job starts', 5_000, 'approved'],
      polls: [0, 2_000, 5_000, 9_500, 16_250, 26_375, 30_000, 40_000],
    },
  ],
  [
    'a deadline within the grace of an unknown job is a timeout without a last status',
    { deadlineMs: 6_000 },
    {
      is: { lastStatus: null },
      error: HostedPollTimeoutError,
      isLate: true,
      polls: [0, 2_000, 5_000, 6_000],
    },
  ],
];

test.each([...polls, ...deadlines, ...errors, ...unknown])('waitForCompletion(): %s', (_what, options, end) =>
  expectEnd(options, end),
);
