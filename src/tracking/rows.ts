/**
 * Converts between rows of the tables and the public types.
 *
 * @module
 */

import type { HostedErrorCode } from '../errors/errors.js';
import type { JobRef } from '../jobs/types.js';
import { contextOf, dateOf, numberOf, textOf } from './context.js';
import type { CheckedJob } from './input.js';
import type { Gauges } from './instruments.js';
import { kinds, states } from './rules.js';
import type { Row } from './sql.js';
import type { DeadLetter, Json, TrackedJob, TrackerStats } from './types.js';

/** Writes a job as an input row of the statement `track`. */
export function toTrackRow(key: string, { userId, jobId, context, linkRefId, deadline }: CheckedJob) {
  return {
    key,
    user_id: userId,
    job_id: jobId,
    link_ref_id: linkRefId ?? null,
    context,
    deadline: deadline ?? null,
  };
}

/** Reads the row of the statement `stats`. */
export function toStats(row: Row, newerSince: Date | null): TrackerStats {
  return {
    heard: numberOf(row, 'heard'),
    tracking: numberOf(row, 'tracking'),
    links: numberOf(row, 'links'),
    overdue: numberOf(row, 'overdue'),
    oldestOverdueMs: Math.max(0, Math.round(numberOf(row, 'oldest_ms'))),
    handingOver: numberOf(row, 'handing_over'),
    dead: numberOf(row, 'dead'),
    requestsSent: numberOf(row, 'requests_sent'),
    problem: readProblem(row, newerSince),
  };
}

function readProblem(row: Row, newerSince: Date | null): TrackerStats['problem'] {
  // While the database fails, nothing is handed over, so this problem goes before a problem of the service.
  const failingSince = dateOf(row, 'storage_since');
  const stored = failingSince ? 'storage' : (textOf(row, 'problem_code') as HostedErrorCode | null);
  // Tables that do not fit stop this process, and not the others.
  const misfit = textOf(row, 'misfit');
  const own = misfit === null ? null : misfit.endsWith('newer') ? 'newer' : 'storage';
  const code = own ?? stored;
  const since = own === null ? (failingSince ?? dateOf(row, 'problem_since')) : (newerSince ?? new Date());
  return code === null || since === null ? null : { code, since };
}

/** Reads the row of the statement `gauges`. */
export function toGauges(row: Row): Gauges {
  const counts = JSON.parse(textOf(row, 'jobs') ?? '{}') as Readonly<Record<string, number>>;
  const jobs = Object.entries(stateNames).map(([state, name]) => [name, counts[state] ?? 0]);
  return {
    jobs: Object.fromEntries(jobs),
    overdueMs: Math.max(0, numberOf(row, 'overdue_ms')),
    waitingMs: Math.max(0, numberOf(row, 'waiting_ms')),
    problem: readProblem(row, null)?.code ?? null,
  };
}

export const stateNames: Readonly<Record<number, TrackedJob['state']>> = {
  [states.heard]: 'heard',
  [states.tracking]: 'tracking',
  [states.handingOver]: 'handing_over',
  [states.done]: 'done',
  [states.dead]: 'dead',
};

/** Reads the row of the statement `get`. */
export function toTrackedJob<C extends Json>(row: Row): TrackedJob<C> {
  const state = stateNames[numberOf(row, 'state')] ?? 'done';
  const isFollowed = state === 'tracking';
  return {
    key: String(row.key),
    ...jobOf(row),
    state,
    context: contextOf<C>(row),
    polls: numberOf(row, 'polls'),
    nextPollAt: isFollowed ? dateOf(row, 'due') : null,
    deadline: isFollowed ? dateOf(row, 'deadline') : null,
    lastError: textOf(row, 'last_error') as HostedErrorCode | null,
  };
}

/** Reads a row of the statement `deadLetters`. */
export function toDeadLetter<C extends Json>(row: Row): DeadLetter<C> {
  return {
    key: String(row.key),
    job: numberOf(row, 'kind') === kinds.job ? jobOf(row) : null,
    context: contextOf<C>(row),
    attempts: numberOf(row, 'attempts'),
    failedAt: dateOf(row, 'failed_at') ?? new Date(0),
    error: { name: textOf(row, 'failure_name') ?? 'Error', code: textOf(row, 'failure_code') },
  };
}

function jobOf(row: Row): JobRef {
  return { userId: textOf(row, 'user_id') ?? '', jobId: textOf(row, 'job_id') ?? '' };
}
