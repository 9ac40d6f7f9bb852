/**
 * The parts that the console's pages share: the navigation with its counts, rows, ids, times and small forms.
 *
 * @module
 */

import type { Child } from 'hono/jsx';
import { environments } from '../../options.js';
import { isCallback, type StreamEntry, verdictOf } from '../stream.js';
import type { SandboxCallback, SandboxRequest } from '../types.js';
import { ago } from './console-script.js';
import { Layout } from './layout.js';

/** What the navigation counts. */
export type Counts = Readonly<Record<'all' | 'failed' | 'callbacks' | 'links' | 'jobs' | 'faults', number>>;

/** What every page of the console needs. */
export interface ConsoleFrame {
  readonly counts: Counts;
  /** What was just done, as {@link doneTexts} names it. */
  readonly done?: string | undefined;
}

/** What was done, in words. */
const doneTexts = {
  cancelled: 'The fault was cancelled.',
  completed: 'The job was completed.',
  created: 'The link was created.',
  disabled: 'The link was disabled.',
  fault: 'The next request for this operation will fail.',
  played: 'The outcome was played: this is the new job.',
  replayed: 'The request was sent again: this is the new request.',
  resent: 'The callback was sent again: this is the new callback.',
  retried: 'The callback was posted now.',
  stopped: 'The callback is not posted any more.',
} as const;

export type Done = keyof typeof doneTexts;

const sections = [
  ['all', '/', 'All'],
  ['failed', '/?show=failed', 'Failed'],
  ['callbacks', '/?show=callbacks', 'Callbacks'],
  ['links', '/console/links', 'Links'],
  ['jobs', '/console/jobs', 'Jobs'],
  ['faults', '/console/faults', 'Faults'],
  ['connect', '/console/connect', 'Connect'],
] as const;

interface ConsolePageProps extends ConsoleFrame {
  readonly title: string;
  /** The URL of the section that the page belongs to. */
  readonly at?: string;
  readonly children: Child;
}

export function ConsolePage({ title, at, counts, done, children }: ConsolePageProps) {
  const text = Object.hasOwn(doneTexts, done ?? '') ? doneTexts[done as Done] : null;
  return (
    <Layout title={title} isLive isWide>
      <nav aria-label="Console" data-live="nav" data-failed={counts.failed}>
        <ul>
          {sections.map(([name, url, label]) => (
            <li>
              <a
                href={url}
                class={name === 'failed' && counts.failed > 0 ? 'bad' : ''}
                aria-current={url === at && 'page'}
              >
                {label} {name !== 'connect' && <span class="count">{counts[name].toLocaleString('en')}</span>}
              </a>
            </li>
          ))}
        </ul>
        <form method="get" action="/">
          <input
            id="search"
            type="search"
            name="q"
            placeholder="Ref, job or user id"
            aria-label="Search by ref, job or user id"
          />
        </form>
      </nav>
      {text !== null && (
        <p class="done" role="status">
          {text}
        </p>
      )}
      {children}
      <p class="live" role="status" data-follow>
        This page shows what happened before it was loaded.
      </p>
      <p class="keys">
        <kbd>/</kbd> search <kbd>j</kbd> <kbd>k</kbd> move <kbd>Enter</kbd> open <kbd>Esc</kbd> back
      </p>
    </Layout>
  );
}

/** How long ago something happened, with the time in UTC. The page's script shows the local time instead. */
export function Ago({ at }: { at: number | Date }) {
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} title={`${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`}>
      {ago(iso, Date.now())}
    </time>
  );
}

export interface RowProps {
  readonly id: string;
  readonly at: number | Date;
  /** The URL of its page, if it has one. */
  readonly href?: string;
  readonly what: string;
  readonly ids?: Child;
  /** Why it failed, or another fact. */
  readonly note?: string | null;
  readonly status?: string | number | null;
  readonly durationMs?: number | undefined;
  readonly isFailed?: boolean;
}

/** How many characters of a name a row shows. The page behind the row shows them all. */
const longestName = 300;

export function Row({ id, at, href, what, ids, note, status, durationMs, isFailed = false }: RowProps) {
  const name = what.length > longestName ? `${what.slice(0, longestName)}…` : what;
  const What = href === undefined ? 'strong' : 'a';
  return (
    <li id={id} class={isFailed ? 'failed' : ''}>
      <Ago at={at} />
      <What class="what" href={href}>
        <bdi>{name}</bdi>
      </What>
      {ids && <span class="ids">{ids}</span>}
      {note && <span class="why">{note}</span>}
      {status != null && <span class="status">{status}</span>}
      {durationMs !== undefined && <span class="duration">{Math.round(durationMs)} ms</span>}
    </li>
  );
}

/** A request or callback. `ids` are left out where the page says what the entry is about. */
export function EntryRow({ entry, ids }: { entry: StreamEntry; ids?: Child }) {
  return <Row {...(isCallback(entry) ? describeCallback(entry) : describeRequest(entry))} ids={ids} />;
}

function describeRequest(request: SandboxRequest): RowProps {
  const { id, at, operation, method, path, status, durationMs, reason, code, notes } = request;
  return {
    id: `request-${id}`,
    at,
    href: `/console/requests/${id}`,
    what: operation ?? `${method} ${path}`,
    note: reason === null ? notes.join('; ') : `${code ?? ''} ${reason}`,
    status: status === 0 ? 'No response' : status,
    durationMs,
    isFailed: reason !== null,
  };
}

function describeCallback(callback: SandboxCallback): RowProps {
  const { id, at, variant, resultCode, attempts, copyOf } = callback;
  const { title, isFailed, reason } = verdictOf(callback);
  return {
    id: `callback-${id}`,
    at,
    href: `/console/callbacks/${id}`,
    what: `Callback ${id} · ${variant === null ? resultCode : `${variant} copy of ${copyOf}`}`,
    note: reason,
    status: title,
    durationMs: attempts.at(-1)?.durationMs,
    isFailed,
  };
}

/** The ids of a link and of a job, each as a link to its page. */
export function Ids({ linkRefId, job }: Pick<SandboxRequest, 'linkRefId' | 'job'>) {
  return (
    <>
      {linkRefId !== null && <Id href={`/console/links/${encodeURIComponent(linkRefId)}`} kind="link" id={linkRefId} />}
      {job !== null && <Id href={jobUrl(job.jobId)} kind="job" id={job.jobId} />}
    </>
  );
}

export function jobUrl(jobId: string): string {
  return `/?job=${encodeURIComponent(jobId)}`;
}

export function Id({ href, kind, id }: { href: string; kind: string; id: string }) {
  return (
    <a href={href} title={id}>
      {kind} <bdi class="id">{id.length > 12 ? `${id.slice(0, 8)}…` : id}</bdi>
    </a>
  );
}

/** Rows, the newest first, with a link to older ones. */
export function Rows({ name, older, children }: { name: string; older?: string | null; children: Child }) {
  return (
    <div data-live={name}>
      <ul class="rows">{children}</ul>
      {older != null && <Older href={older} />}
    </div>
  );
}

export function Older({ href }: { href: string }) {
  return (
    <p>
      <a href={href} rel="next">
        Older
      </a>
    </p>
  );
}

/** The values of a select, each with its text. */
type Options = readonly (readonly [value: string, text: string])[];

/** A form with one button. */
export function Act({ action, children }: { action: string; children: Child }) {
  return (
    <form method="post" action={action}>
      <button type="submit" class="quiet">
        {children}
      </button>
    </form>
  );
}

/** A button that copies a text. It is shown only if the script runs. */
export function Copy({ text, what }: { text: string; what: string }) {
  return (
    <button type="button" class="quiet copy" data-copy={text} aria-label={`Copy ${what}`}>
      Copy
    </button>
  );
}

export function Facts({ facts }: { facts: Readonly<Record<string, Child>> }) {
  return (
    <dl>
      {Object.entries(facts).map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value ?? 'none'}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A whole id or URL, with a button that copies it. */
export function Value({ text, what, href }: { text: string; what: string; href?: string }) {
  const code = <bdi class="id">{text}</bdi>;
  return (
    <span class="value">
      {href === undefined ? code : <a href={href}>{code}</a>} <Copy text={text} what={what} />
    </span>
  );
}

export function Select({ label, name, options }: { label: string; name: string; options: Options }) {
  return (
    <label>
      {label}
      <select name={name}>
        {options.map(([value, text]) => (
          <option value={value}>{text}</option>
        ))}
      </select>
    </label>
  );
}

export const environmentOptions = environments.map((name) => [name, name] as const);
