/**
 * Requests, callbacks and jobs as one list, the newest first, with filters; and what a row says of each.
 *
 * @module
 */

import type { Environment } from '../options.js';
import type { StoredJob, StoredLink } from '../testing/store.js';
import { maskUrl } from './kept-bodies.js';
import type { FoundLink } from './simulation.js';
import type { SandboxCallback, SandboxRequest } from './types.js';

/** A job in the list. Its place is when it started. */
export interface StreamJob {
  readonly at: Date;
  readonly environment: Environment;
  readonly job: StoredJob;
  readonly linkRefId: string | null;
  readonly link: StoredLink | undefined;
  /** Whether further results will come by themselves. */
  isWaiting(): boolean;
  /** Whether there is a URL for its callbacks. */
  hasReceiver(): boolean;
}

/** A link in the list. It is only in the list of links, and in what a search finds. */
export interface StreamLink extends FoundLink {
  readonly at: Date;
  readonly linkRefId: string;
  readonly job: null;
}

/** A callback in the list, with the one word that its receiver responded with. */
export interface StreamCallback extends SandboxCallback {
  reasonCode?(): string | undefined;
}

/** An entry of the list. */
export type StreamEntry = SandboxRequest | StreamCallback | StreamJob | StreamLink;

/** A filter, as it is in the URL of the page. `before` is the key of an entry: only older entries are wanted. */
export type StreamFilter = Readonly<Partial<Record<'show' | 'link' | 'job' | 'q' | 'before', string | undefined>>>;

/** What a row says of an entry. */
export interface EntryView {
  readonly id: string;
  readonly href: string;
  readonly what: string;
  /** The name of a link, which may have any characters. */
  readonly name?: string;
  readonly status: string;
  /** The colour of the status. */
  readonly kind: 'good' | 'wait' | 'bad' | 'plain';
  /** Why it failed, or what the response says. */
  readonly note: string;
}

export function isCallback(entry: StreamEntry): entry is SandboxCallback {
  return 'attempts' in entry;
}

export function isJob(entry: StreamEntry): entry is StreamJob {
  return 'hasReceiver' in entry;
}

function isLink(entry: StreamEntry): entry is StreamLink {
  return 'closed' in entry;
}

export function isFailed(entry: StreamEntry): boolean {
  if (isJob(entry) || isLink(entry)) return false;
  return isCallback(entry) ? verdictOf(entry).isFailed : entry.reason !== null;
}

/** The key of an entry: keys are sorted as the entries are by time. */
export function keyOf(entry: StreamEntry): string {
  return pad(entry.at.getTime()) + placeOf(entry);
}

/** The place among entries of one millisecond. */
function placeOf(entry: StreamEntry): string {
  if (isLink(entry)) return `a${entry.linkRefId}`;
  if (isJob(entry)) return `b${entry.job.hostedJobId}${entry.environment}`;
  return `${isCallback(entry) ? 'c' : 'd'}${pad(entry.id)}`;
}

function pad(number: number): string {
  return String(number).padStart(16, '0');
}

/** Lists the entries that a filter lets through, the newest first. */
export function listStream(
  entries: readonly StreamEntry[],
  { show, link, job, q = '', before }: StreamFilter = {},
): readonly StreamEntry[] {
  const wanted = q.toLowerCase();
  const isShown = (entry: StreamEntry): boolean => {
    if (show === 'failed') return isFailed(entry);
    if (show === 'callbacks') return isCallback(entry);
    if (show === 'links') return isLink(entry);
    return show !== 'jobs' || isJob(entry);
  };
  return entries
    .filter(
      (entry) =>
        isShown(entry) &&
        (link === undefined || entry.linkRefId === link) &&
        (job === undefined || entry.job?.jobId === job) &&
        (wanted === '' || textOf(entry).includes(wanted)) &&
        (before === undefined || keyOf(entry) < before),
    )
    .sort((a, b) => b.at.getTime() - a.at.getTime() || (placeOf(a) < placeOf(b) ? 1 : -1));
}

/** What the search looks at: what a row shows, and the whole ids. */
function textOf(entry: StreamEntry): string {
  const { what, name, status, note } = describeEntry(entry);
  return [
    name === undefined ? what : `${what} · ${name}`,
    status,
    note,
    entry.linkRefId,
    entry.job?.userId,
    entry.job?.jobId,
  ]
    .join(' ')
    .replaceAll(/[\u2068\u2069]/g, '')
    .toLowerCase();
}

export function describeEntry(entry: StreamEntry): EntryView {
  if (isJob(entry)) return describeJob(entry);
  if (isLink(entry)) return describeLink(entry);
  return isCallback(entry) ? describeCallback(entry) : describeRequest(entry);
}

/** Names the environment of an entry, if it is not the usual one. */
function suffixOf({ environment }: Pick<StreamEntry, 'environment'>): string {
  return environment === 'sandbox' ? '' : ` · ${environment}`;
}

function describeRequest(request: SandboxRequest): EntryView {
  const { id, operation, method, path, status, reason, code, notes, summary } = request;
  return {
    id: `request-${id}`,
    href: `/console/requests/${id}`,
    what: (operation ?? `${method} ${path}`) + suffixOf(request),
    status: status === 0 ? 'No response' : String(status),
    kind: reason !== null ? 'bad' : notes.length > 0 ? 'wait' : 'good',
    note: joinParts(
      reason === null ? [summary && isolate(summary), ...notes] : [[code, reason].filter(Boolean).join(' ')],
    ),
  };
}

function describeCallback(callback: StreamCallback): EntryView {
  const { id, variant, resultCode, attempts, copyOf, state, url, reasonCode } = callback;
  const { title, isFailed: isBad, reason } = verdictOf(callback);
  const attempt = attempts.length > 1 && `attempt ${attempts.length}`;
  return {
    id: `callback-${id}`,
    href: `/console/callbacks/${id}`,
    what: `Callback ${id} · ${variant === null ? resultCode : `${variant} copy of ${copyOf}`}${suffixOf(callback)}`,
    status: title,
    kind: isBad ? 'bad' : state === 'waiting' ? 'wait' : 'good',
    note: joinParts([reason, attempt, reason === null && reasonCode?.(), `POST ${url}`]),
  };
}

function describeJob(entry: StreamJob): EntryView {
  const { job, environment, link } = entry;
  const { kind, title } = stateOf(job);
  return {
    id: jobRowId(environment, job),
    href: jobUrl(job.jobId),
    what: `Job${suffixOf(entry)}`,
    name: link === undefined ? 'without a link' : (link.name ?? link.companyName),
    status: title,
    kind: kind === 'bad' ? 'plain' : kind,
    note: joinParts([job.results.map(({ code, text }) => `${code} ${text}`).join(', then '), explainSilence(entry)]),
  };
}

function describeLink(entry: StreamLink): EntryView {
  const { link, closed } = entry;
  return {
    id: `link-${link.refId}`,
    href: `/console/links/${link.refId}`,
    what: `Link${suffixOf(entry)}`,
    name: link.name ?? link.companyName,
    status: closed ?? 'active',
    kind: closed === null ? 'good' : 'plain',
    note: link.callbackUrl === null ? 'no callback URL' : `POST ${maskUrl(link.callbackUrl)}`,
  };
}

/** Says why nothing more happens to a job; null if something will, or nothing is missing. */
function explainSilence({ job, isWaiting, hasReceiver, link }: StreamJob): string | null {
  if (job.results.length > 0 && !hasReceiver()) return `Not sent: the ${link ? 'link' : 'job'} has no callback URL`;
  return job.results.length === 0 && !isWaiting() ? 'left before the end, so no result comes' : null;
}

/** Keeps a name from turning the direction of the words around it (UAX #9). */
function isolate(name: string): string {
  return `\u2068${name}\u2069`;
}

function joinParts(parts: readonly (string | null | undefined | false)[]): string {
  return parts.filter(Boolean).join(' · ');
}

export function jobUrl(jobId: string): string {
  return `/?job=${encodeURIComponent(jobId)}`;
}

/** The id of a job's row. It uses the service's own id of the job, because `jobId` may contain blanks. */
export function jobRowId(environment: Environment, { hostedJobId }: StoredJob): string {
  return `job-${hostedJobId}-${environment}`;
}

/** How a callback stands. A copy with a mistake is as it should be if it was rejected. */
export function verdictOf({ state, variant, attempts }: SandboxCallback) {
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

export type JobTitle = 'Verified' | 'Not verified' | 'Under review' | 'Pending';

/** The state of a job, in words. */
export function stateOf({ results, outcome }: StoredJob): { kind: 'good' | 'bad' | 'wait'; title: JobTitle } {
  if (outcome?.success) return { kind: 'good', title: 'Verified' };
  if (outcome !== null) return { kind: 'bad', title: 'Not verified' };
  return { kind: 'wait', title: results.length > 0 ? 'Under review' : 'Pending' };
}
