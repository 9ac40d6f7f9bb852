/**
 * The data of one environment: links, jobs and their results.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import { type LinkDraft, readDraft, type WireIdType } from './link-fields.js';
import type { Random } from './random.js';
import type { NullsOf } from './saved-text.js';

/** A stored link. Times are in milliseconds; `expiresAt` is the partner's string, unchanged. */
export interface StoredLink extends Omit<LinkDraft, 'userId'> {
  readonly refId: string;
  readonly url: string;
  readonly userId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly disabledAt: number | null;
}

/** The parts of a callback that stay the same when a result is redelivered. */
export interface SignedResult {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly signedAt: number;
}

/** A new result of a job. */
export interface ResultDraft {
  readonly code: string;
  readonly text: string;
  readonly type: string | null;
  readonly final: boolean;
}

/** One result of a job. */
export interface StoredResult extends ResultDraft {
  readonly at: number;
  /** The callback that was written for it; null before the first one is written. */
  signed: SignedResult | null;
}

/** A stored job. */
export interface StoredJob extends JobRef {
  /** The service's own id of the job. */
  readonly hostedJobId: string;
  readonly linkRefId: string | null;
  /** The ID type that the end user chose; null if it is not known. */
  readonly idType: WireIdType | null;
  readonly startedAt: number;
  /** Every result so far, oldest first. */
  readonly results: readonly StoredResult[];
  /** The index of the final result, and whether the job succeeded; null until the job is complete. */
  readonly outcome: { readonly entry: number; readonly success: boolean } | null;
}

/**
 * The part of a store that is saved. The URLs of links are not saved, because a store creates them from the reference
 * ids.
 */
export interface StoredState {
  readonly links: readonly Omit<StoredLink, 'url'>[];
  readonly jobs: readonly StoredJob[];
}

/** The store of one environment. Records are replaced, never changed, but for the callback of a result. */
export type Store = ReturnType<typeof createStore>;

export interface StoreSettings {
  readonly linkBaseUrl: string;
  readonly ids: Random;
  now(): number;
  /** Called after every change. */
  onChange(): void;
}

// What a new record lacks at first, and what a record that an older version saved may lack.
const noLink = { ...readDraft({}), disabledAt: null } satisfies NullsOf<StoredLink>;
const noJob = { linkRefId: null, idType: null, outcome: null } satisfies NullsOf<StoredJob>;
const noResult = { type: null, signed: null } satisfies NullsOf<StoredResult>;

/** Creates a store. It is empty, or has the data of another store. */
export function createStore({ linkBaseUrl, ids, now, onChange }: StoreSettings, saved?: StoredState) {
  const links = new Map<string, StoredLink>();
  const refIds: string[] = [];
  const jobs = new Map<string, StoredJob>();
  const jobKeysOfLinks = new Map<string, string[]>();
  for (const link of saved?.links ?? []) putLink({ ...noLink, ...link, url: urlOf(link.refId) });
  for (const job of saved?.jobs ?? []) {
    putJob({ ...noJob, ...job, results: job.results.map((result) => ({ ...noResult, ...result })) });
  }

  function urlOf(refId: string): string {
    return `${linkBaseUrl}/${refId}`;
  }

  function putLink(link: StoredLink): void {
    links.set(link.refId, link);
    refIds.push(link.refId);
  }

  function putJob(job: StoredJob): void {
    const key = keyOf(job);
    jobs.set(key, job);
    if (job.linkRefId === null) return;
    const keys = jobKeysOfLinks.get(job.linkRefId);
    if (keys === undefined) jobKeysOfLinks.set(job.linkRefId, [key]);
    else keys.push(key);
  }

  function addLink(draft: LinkDraft): StoredLink {
    const refId = ids.hex(24);
    const createdAt = now();
    const link: StoredLink = {
      ...noLink,
      ...draft,
      refId,
      url: urlOf(refId),
      userId: draft.userId ?? ids.uuid(),
      createdAt,
      updatedAt: createdAt,
    };
    putLink(link);
    onChange();
    return link;
  }

  function changeLink(link: StoredLink, changes: Partial<StoredLink>): StoredLink {
    const changed = { ...link, ...changes, updatedAt: now() };
    links.set(link.refId, changed);
    onChange();
    return changed;
  }

  function addJob({ userId, jobId }: JobRef, origin: Pick<StoredJob, 'linkRefId' | 'idType'>): StoredJob {
    const hostedJobId = String(jobs.size + 1).padStart(10, '0');
    const job: StoredJob = { ...noJob, userId, jobId, hostedJobId, ...origin, startedAt: now(), results: [] };
    putJob(job);
    onChange();
    return job;
  }

  function jobsOf(linkRefId: string): readonly StoredJob[] {
    return (jobKeysOfLinks.get(linkRefId) ?? []).flatMap((key) => jobs.get(key) ?? []);
  }

  function addResult(job: StoredJob, result: ResultDraft, outcome?: { success: boolean }): void {
    jobs.set(keyOf(job), {
      ...job,
      results: [...job.results, { ...noResult, ...result, at: now() }],
      outcome: outcome === undefined ? job.outcome : { entry: job.results.length, success: outcome.success },
    });
    onChange();
  }

  return {
    addLink,
    findLink: (refId: string) => links.get(refId),
    changeLink,
    countLinks: () => refIds.length,
    /** At most `length` links in order of creation, from index `start` on. */
    sliceLinks: (start: number, length: number): readonly StoredLink[] =>
      refIds.slice(start, start + length).flatMap((refId) => links.get(refId) ?? []),
    addJob,
    findJob: (job: JobRef) => jobs.get(keyOf(job)),
    jobsOf,
    /** Every job in order of creation. */
    jobs: (): readonly StoredJob[] => [...jobs.values()],
    addResult,
    /** All data. `createStore` can create a copy of the store from it. */
    state: (): StoredState => ({
      links: [...links.values()].map(({ url: _url, ...link }) => link),
      jobs: [...jobs.values()],
    }),
  };
}

function keyOf({ userId, jobId }: JobRef): string {
  return JSON.stringify([userId, jobId]);
}
