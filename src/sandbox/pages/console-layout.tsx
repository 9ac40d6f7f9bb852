/**
 * The parts that the console's pages share: the bar with its counts, rows, ids, times and small forms.
 *
 * @module
 */

import type { Child } from 'hono/jsx';
import { describeEntry, jobUrl, type StreamEntry } from '../stream.js';
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
  ['links', '/?show=links', 'Links'],
  ['jobs', '/?show=jobs', 'Jobs'],
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
      <nav aria-label="Console">
        <strong class="brand">
          Sandbox <small>simulation</small>
        </strong>
        <ul data-live="nav" data-failed={counts.failed}>
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
          <input id="search" type="search" name="q" placeholder="Search (/)" aria-label="Search what rows show" />
        </form>
        <p class="live" role="status" data-follow="Live">
          Reload to update
        </p>
      </nav>
      {text !== null && (
        <p class="done" role="status">
          {text}
        </p>
      )}
      {children}
      <p class="keys">
        <kbd>/</kbd> search <kbd>j</kbd> <kbd>k</kbd> move <kbd>Enter</kbd> open <kbd>Esc</kbd> back
      </p>
    </Layout>
  );
}

/**
 * How long ago something happened, or in how long it will, with the time in UTC. The page's script shows the local time
 * instead.
 */
export function Ago({ at, isNext = false }: { at: number | Date; isNext?: boolean }) {
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso} title={`${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`} class={isNext ? 'next' : undefined}>
      {ago(iso, Date.now(), isNext)}
    </time>
  );
}

/** How many characters a row shows of a name and of a note. The page behind the row shows them all. */
const longest = { name: 80, note: 300 };

/** An entry of the stream. */
export function EntryRow({ entry }: { entry: StreamEntry }) {
  const { id, href, what, name, note, status, kind } = describeEntry(entry);
  return (
    <li id={id} class={kind === 'bad' ? 'failed' : ''}>
      <Ago at={entry.at} />
      <span class={`status ${kind}`}>{status}</span>
      <a class="what" href={href}>
        <bdi>
          {clamp(what, longest.name)}
          {name !== undefined && [' · ', <bdi>{clamp(name, longest.name)}</bdi>]}
        </bdi>
      </a>
      <span class="ids">
        <Ids {...entry} />
      </span>
      <span class="why">
        <bdi>{clamp(note, longest.note)}</bdi>
      </span>
    </li>
  );
}

function clamp(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** The ids of a link and of a job, each as a link to its page. */
function Ids({ linkRefId, job }: Pick<StreamEntry, 'linkRefId' | 'job'>) {
  return (
    <>
      {linkRefId !== null && <Id href={`/console/links/${encodeURIComponent(linkRefId)}`} kind="link" id={linkRefId} />}
      {job !== null && <Id href={jobUrl(job.jobId)} kind="job" id={job.jobId} />}
    </>
  );
}

function Id({ href, kind, id }: { href: string; kind: string; id: string }) {
  return (
    <a href={href} title={id}>
      {kind} <bdi class="id">{id.length > 12 ? `${id.slice(0, 8)}…` : id}</bdi>
    </a>
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

/** Facts, each with its name. A fact that there is not is left out. */
export function Facts({ facts }: { facts: Readonly<Record<string, Child>> }) {
  return (
    <dl>
      {Object.entries(facts)
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

/** An id or URL, with a button that copies it as a whole. */
export function Value({ text, what, href }: { text: string; what: string; href?: string }) {
  const code = <bdi class="id">{clamp(text, longest.note)}</bdi>;
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
