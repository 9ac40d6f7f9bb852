/**
 * Identifies what a job's status says: the version of its results, and the link that they name. A signature covers
 * neither, so both are read from verified responses only.
 *
 * @module
 */

import { digestOf } from '../runtime/sha256.js';
import type { HistoryEntry, JobRef, JobResult, JobStatus } from './types.js';

/**
 * The version of a status: SHA-256 over its state and its results, in the order of the history. It does not cover what a
 * service may change without a new result: times, texts, image links, confidence. Without a history, the version covers
 * the one result.
 */
export function versionOf(status: JobStatus): Promise<string> {
  return digestOf([status.state, ...resultsOf(status).map(identify)]);
}

/** The results of a status that say anything: those of the history or, if none of them does, the one result. */
export function resultsOf({ history, result }: JobStatus): readonly (JobResult | HistoryEntry)[] {
  const results = (history ?? []).filter(saysAnything);
  return results.length > 0 || result === null ? results : [result].filter(saysAnything);
}

function saysAnything(result: JobResult | HistoryEntry): boolean {
  return identify(result).some((value) => value !== null);
}

function identify(result: JobResult | HistoryEntry): readonly (string | boolean | null)[] {
  const { hostedJobId, resultCode, resultType, isFinal } = result;
  const identity = 'identity' in result ? result.identity : null;
  return [hostedJobId, resultCode, resultType, isFinal, identity?.idType ?? null, identity?.country ?? null];
}

/**
 * The reference id of the job's link: that of the result, else that of the history entries that name both ids of the
 * job. It is null if these entries name no link, or different ones.
 */
export function linkIdOf({ result, history, userId, jobId }: JobStatus): string | null {
  const linkId = result?.partnerParams?.linkId;
  if (linkId) return linkId;
  const own = (history ?? []).filter((entry) => namesJob(entry, { userId, jobId }));
  const linkIds = new Set(own.map((entry) => entry.partnerParams?.linkId || null).filter((id) => id !== null));
  const [only = null] = linkIds;
  return linkIds.size === 1 ? only : null;
}

/** Whether a result names both ids of a job. */
export function namesJob({ partnerParams }: JobResult, { userId, jobId }: JobRef): boolean {
  return partnerParams?.userId === userId && partnerParams.jobId === jobId;
}
