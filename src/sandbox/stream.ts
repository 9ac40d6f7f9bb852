/**
 * Requests and callbacks as one list, the newest first, with filters.
 *
 * @module
 */

import type { Sandbox, SandboxCallback, SandboxRequest } from './types.js';

/** An entry of the list. */
export type StreamEntry = SandboxRequest | SandboxCallback;

/** What can be chosen by itself. */
export const shows = { failed: 'Failed', links: 'Links', status: 'Job status', callbacks: 'Callbacks' };

/** A filter, as it is in the URL of the page. `before` is the key of an entry: only older entries are wanted. */
export type StreamFilter = Readonly<Partial<Record<'show' | 'link' | 'job' | 'q' | 'before', string | undefined>>>;

export function isCallback(entry: StreamEntry): entry is SandboxCallback {
  return 'attempts' in entry;
}

export function isFailed(entry: StreamEntry): boolean {
  return isCallback(entry) ? verdictOf(entry).isFailed : entry.reason !== null;
}

/** The key of an entry: keys are sorted as the entries are by time. */
export function keyOf(entry: StreamEntry): string {
  const [time, id] = [entry.at.getTime(), entry.id].map((number) => String(number).padStart(16, '0'));
  return `${time}${isCallback(entry) ? 'c' : 'r'}${id}`;
}

/** Lists the requests and callbacks that a filter lets through, the newest first. */
export function listStream(
  { requests, callbacks }: Pick<Sandbox, 'requests' | 'callbacks'>,
  { show, link, job, q = '', before }: StreamFilter = {},
): readonly StreamEntry[] {
  const wanted = q.toLowerCase();
  const isShown = (entry: StreamEntry): boolean => {
    if (show === 'failed') return isFailed(entry);
    if (show === 'callbacks') return isCallback(entry);
    const operation = isCallback(entry) ? null : entry.operation;
    if (show === 'status') return operation === 'jobs.status';
    return show !== 'links' || operation?.startsWith('links.') === true;
  };
  const isWanted = ({ linkRefId, job: about }: StreamEntry): boolean =>
    wanted === '' || [linkRefId, about?.userId, about?.jobId].some((id) => id?.toLowerCase().includes(wanted));
  return [...requests, ...callbacks]
    .filter(
      (entry) =>
        isShown(entry) &&
        (link === undefined || entry.linkRefId === link) &&
        (job === undefined || entry.job?.jobId === job) &&
        isWanted(entry) &&
        (before === undefined || keyOf(entry) < before),
    )
    .sort((a, b) => b.at.getTime() - a.at.getTime() || Number(isCallback(a)) - Number(isCallback(b)) || b.id - a.id);
}

/** How a callback stands. A copy with a mistake is as it should be if it was rejected. */
export function verdictOf({ state, variant, attempts }: SandboxCallback): {
  title: string;
  isFailed: boolean;
  reason: string | null;
} {
  const last = attempts.at(-1);
  const reason = last?.problem ?? null;
  const isRejection = last?.status != null && last.status >= 400 && last.status < 500;
  if (variant !== null && isRejection) return { title: `Rejected, as it should be`, isFailed: false, reason: null };
  if (state === 'delivered' && reason !== null) return { title: 'Accepted', isFailed: true, reason };
  if (state === 'waiting')
    return { title: last === undefined ? 'Waiting' : 'Will retry', isFailed: reason !== null, reason };
  const titles = { delivered: 'Delivered', gave_up: 'Gave up', not_allowed: 'Not allowed' } as const;
  return { title: titles[state], isFailed: state !== 'delivered', reason };
}
