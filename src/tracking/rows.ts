/**
 * Converts between rows of the tables and the public types.
 *
 * @module
 */

import type { HostedErrorCode } from '../errors/client-errors.js';
import type { JobRef } from '../jobs/types.js';
import { contextOf, dateOf, isSet, numberOf, textOf } from './columns.js';
import { readHandedOver } from './deliver/compare-status.js';
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
    failing: numberOf(row, 'failing'),
    oldestFailingMs: Math.max(0, Math.round(numberOf(row, 'failing_ms'))),
    lastPollAt: dateOf(row, 'polled_at'),
    pausedUntil: dateOf(row, 'paused_until'),
    requestsSent: numberOf(row, 'requests_sent'),
    problem: readProblem(row, newerSince),
  };
}

function readProblem(row: Row, newerSince: Date | null): TrackerStats['problem'] {
  // Tables that do not fit stop this process, and not the others.
  if (textOf(row, 'mismatch') === 'newer') return { code: 'newer', since: newerSince ?? new Date() };
  const code = textOf(row, 'problem_code') as HostedErrorCode | null;
  const pausedSince = dateOf(row, 'paused_since');
  if (code === null) return pausedSince && { code: 'paused', since: pausedSince };
  return { code, since: dateOf(row, 'problem_since') ?? new Date() };
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
    key: String(row.end_key),
    job: numberOf(row, 'kind') === kinds.job ? jobOf(row) : null,
    context: contextOf<C>(row),
    attempts: numberOf(row, 'attempts'),
    failedAt: dateOf(row, 'failed_at') ?? new Date(0),
    error: { name: textOf(row, 'failure_name') ?? 'Error', code: textOf(row, 'failure_code') },
  };
}

/** A job or link that was taken to be polled. */
export type TakenRow = Readonly<ReturnType<typeof readTaken>>;

/** Reads a row of the statement `claim`. */
export function readTaken(row: Row) {
  return {
    key: String(row.key),
    isLink: numberOf(row, 'kind') === kinds.link,
    /** True if the job has ended, and is polled only because its verdict may have changed. */
    hasEnded: numberOf(row, 'state') === states.done || numberOf(row, 'state') === states.dead,
    ...readHandedOver(row),
    ...jobOf(row),
    linkRefId: textOf(row, 'link_ref_id'),
    lastError: textOf(row, 'last_error') as HostedErrorCode | null,
    /** True if the caller tracks the job, or the service knows it. False if only a callback has mentioned it. */
    isProven: isSet(row, 'is_proven'),
    /** True if the caller tracks the job, or a verified status has named its link. */
    isLinkProven: isSet(row, 'is_link_proven'),
    /**
     * For a job that only callbacks have mentioned: 0 until a poll has shown that the service knows nothing about the
     * job, or rejects its ids. After that, the number of polls since then, including this poll.
     */
    mentionedPolls: numberOf(row, 'mentioned_polls'),
    /** True if the deadline has passed. Then this is the last poll, unless it fails. */
    isLate: isSet(row, 'is_late'),
    /** How many polls have failed after the deadline. */
    latePolls: numberOf(row, 'late_polls'),
    /** How long ago, in ms, the first of these polls failed. */
    lateMs: numberOf(row, 'late_ms'),
    /** For a link: how many jobs were missing at the previous poll. */
    missingSeen: numberOf(row, 'missing_seen'),
    /** For a link: how many jobs were reported as missing. */
    missingReported: numberOf(row, 'missing'),
    /** For a link: how many jobs were reported as missing, and then mentioned by a callback. */
    missingMentioned: numberOf(row, 'missing_mentioned'),
  };
}

/** Reads the two ids of a job. */
export function jobOf(row: Row): JobRef {
  return { userId: textOf(row, 'user_id') ?? '', jobId: textOf(row, 'job_id') ?? '' };
}
