/**
 * Requests and callbacks as one list, the newest first, with filters.
 *
 * @module
 */

import type { Sandbox, SandboxCallback, SandboxRequest } from './types.js';

/** An entry of the list: a request or a callback. */
export interface StreamEntry {
  /** Sorts entries by time. */
  readonly key: string;
  readonly isFailed: boolean;
  readonly about: Pick<SandboxRequest, 'linkRefId' | 'job'>;
  readonly request: SandboxRequest | null;
  readonly callback: SandboxCallback | null;
}

/** What can be chosen by itself. */
export const shows = ['failed', 'links', 'status', 'callbacks'] as const;

/** A filter, as it is in the URL of the page. */
export interface StreamFilter {
  readonly show?: string | undefined;
  readonly link?: string | undefined;
  readonly job?: string | undefined;
  readonly q?: string | undefined;
  /** Only entries that are older than the entry with this key. */
  readonly before?: string | undefined;
}

/** Lists requests and callbacks, the newest first. */
export function listStream({ requests, callbacks }: Pick<Sandbox, 'requests' | 'callbacks'>): readonly StreamEntry[] {
  const keyOf = (at: Date, kind: string, id: number) =>
    `${String(at.getTime()).padStart(16, '0')}${kind}${String(id).padStart(12, '0')}`;
  return [
    ...requests.map((request) => ({
      key: keyOf(request.at, 'r', request.id),
      isFailed: request.reason !== null,
      about: request,
      request,
      callback: null,
    })),
    ...callbacks.map((callback) => ({
      key: keyOf(callback.at, 'c', callback.id),
      isFailed: verdictOf(callback).isFailed,
      about: callback,
      request: null,
      callback,
    })),
  ].sort((a, b) => (a.key < b.key ? 1 : -1));
}

/** Keeps the entries that a filter lets through. */
export function filterStream(
  entries: readonly StreamEntry[],
  { show, link, job, q = '', before }: StreamFilter,
): readonly StreamEntry[] {
  const wanted = q.trim().toLowerCase();
  return entries.filter(({ key, isFailed, request, callback, about }) => {
    const ids = [about.linkRefId, about.job?.userId, about.job?.jobId].map((id) => (id ?? '').toLowerCase());
    const isShown =
      (show === 'failed' && isFailed) ||
      (show === 'links' && request?.operation?.startsWith('links.')) ||
      (show === 'status' && request?.operation === 'jobs.status') ||
      (show === 'callbacks' && callback !== null) ||
      !shows.some((each) => each === show);
    return (
      isShown &&
      (link === undefined || about.linkRefId === link) &&
      (job === undefined || about.job?.jobId === job) &&
      (wanted === '' || ids.some((id) => id.includes(wanted))) &&
      (before === undefined || key < before)
    );
  });
}

/** How a callback stands. A forged copy that was rejected is as it should be. */
export function verdictOf({ state, variant, attempts, copyOf }: SandboxCallback): {
  title: string;
  isFailed: boolean;
  reason: string | null;
} {
  const last = attempts.at(-1);
  const reason = last?.problem ?? null;
  const isRejection = last?.status != null && last.status >= 400 && last.status < 500;
  if (variant !== null && isRejection) return { title: `Rejected, as it should be`, isFailed: false, reason: null };
  if (variant !== null && variant !== 'altered' && state === 'delivered') {
    const accepted = `the receiver accepted a copy of callback ${copyOf} that is ${variant}: verify the signature of callbacks`;
    return { title: 'Accepted', isFailed: true, reason: accepted };
  }
  if (state === 'waiting')
    return { title: last === undefined ? 'Waiting' : 'Will retry', isFailed: reason !== null, reason };
  const titles = { delivered: 'Delivered', gave_up: 'Gave up', not_allowed: 'Not allowed' } as const;
  return { title: titles[state], isFailed: state !== 'delivered', reason };
}
