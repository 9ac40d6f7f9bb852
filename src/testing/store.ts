/**
 * What one environment keeps: links, jobs and their results.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { Random } from './random.js';

/** An ID type entry as it travels (docs/protocol.md §2.1). */
export interface WireIdType {
  readonly country: string;
  readonly id_type: string;
  readonly verification_method: string;
}

/** What a link is created from; null where the request has no such property. */
export interface LinkDraft {
  readonly name: string | null;
  readonly idTypes: readonly WireIdType[];
  readonly isSingleUse: boolean | null;
  readonly callbackUrl: string | null;
  readonly companyName: string;
  readonly dataPrivacyPolicyUrl: string;
  readonly logoUrl: string | null;
  readonly userId: string | null;
  readonly expiresAt: string | null;
}

/** A link as it is kept. Times are in milliseconds; `expiresAt` is as written by the partner. */
export interface StoredLink extends Omit<LinkDraft, 'userId'> {
  readonly refId: string;
  readonly url: string;
  readonly userId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly disabledAt: number | null;
}

/** One result of a job. */
export interface StoredResult {
  readonly code: string;
  readonly text: string;
  readonly type: string | null;
  readonly final: boolean;
}

/** A job as it is kept. */
export interface StoredJob extends JobRef {
  /** The service's own id of the job. */
  readonly hostedJobId: string;
  readonly linkRefId: string | null;
  /** Every result sent to the callback, oldest first. */
  readonly results: readonly StoredResult[];
  /** Null until the job is complete. */
  readonly outcome: { readonly result: StoredResult; readonly success: boolean } | null;
}

/** The store of one environment. Records are replaced, never changed. */
export interface Store {
  addLink(draft: LinkDraft): StoredLink;
  findLink(refId: string): StoredLink | undefined;
  changeLink(link: StoredLink, changes: Partial<StoredLink>): StoredLink;
  countLinks(): number;
  /** At most `length` links in order of creation, from the `start`th. */
  sliceLinks(start: number, length: number): readonly StoredLink[];
  addJob(job: JobRef, linkRefId: string | null): StoredJob;
  findJob(job: JobRef): StoredJob | undefined;
  jobsOf(linkRefId: string): readonly StoredJob[];
  addResult(job: StoredJob, result: StoredResult, outcome?: { success: boolean }): void;
}

export interface StoreSettings {
  readonly linkBaseUrl: string;
  readonly ids: Random;
  now(): number;
}

/** Creates an empty store. */
export function createStore({ linkBaseUrl, ids, now }: StoreSettings): Store {
  const links = new Map<string, StoredLink>();
  const refIds: string[] = [];
  const jobs = new Map<string, StoredJob>();
  const jobKeysOfLinks = new Map<string, string[]>();

  function addLink(draft: LinkDraft): StoredLink {
    const refId = ids.hex(24);
    const createdAt = now();
    const link: StoredLink = {
      ...draft,
      refId,
      url: `${linkBaseUrl}/${refId}`,
      userId: draft.userId ?? ids.uuid(),
      createdAt,
      updatedAt: createdAt,
      disabledAt: null,
    };
    links.set(refId, link);
    refIds.push(refId);
    return link;
  }

  function changeLink(link: StoredLink, changes: Partial<StoredLink>): StoredLink {
    const changed = { ...link, ...changes, updatedAt: now() };
    links.set(link.refId, changed);
    return changed;
  }

  function addJob({ userId, jobId }: JobRef, linkRefId: string | null): StoredJob {
    const key = keyOf({ userId, jobId });
    const hostedJobId = String(jobs.size + 1).padStart(10, '0');
    const job: StoredJob = { userId, jobId, hostedJobId, linkRefId, results: [], outcome: null };
    jobs.set(key, job);
    if (linkRefId !== null) {
      const keys = jobKeysOfLinks.get(linkRefId);
      if (keys === undefined) jobKeysOfLinks.set(linkRefId, [key]);
      else keys.push(key);
    }
    return job;
  }

  function jobsOf(linkRefId: string): readonly StoredJob[] {
    return (jobKeysOfLinks.get(linkRefId) ?? []).flatMap((key) => jobs.get(key) ?? []);
  }

  function addResult(job: StoredJob, result: StoredResult, outcome?: { success: boolean }): void {
    jobs.set(keyOf(job), {
      ...job,
      results: [...job.results, result],
      outcome: outcome === undefined ? job.outcome : { result, success: outcome.success },
    });
  }

  return {
    addLink,
    findLink: (refId) => links.get(refId),
    changeLink,
    countLinks: () => refIds.length,
    sliceLinks: (start, length) => refIds.slice(start, start + length).flatMap((refId) => links.get(refId) ?? []),
    addJob,
    findJob: (job) => jobs.get(keyOf(job)),
    jobsOf,
    addResult,
  };
}

/** A job is identified by both ids: two users may have jobs of the same job id. */
function keyOf({ userId, jobId }: JobRef): string {
  return JSON.stringify([userId, jobId]);
}
