/**
 * The front page of the console: all requests, callbacks and jobs, with what failed earlier.
 *
 * @module
 */

import type { Child } from 'hono/jsx';
import { isFailed, keyOf, type StreamEntry, type StreamFilter } from '../stream.js';
import { type ConsoleFrame, ConsolePage, EntryRow } from './console-layout.js';

/** How many entries of a list a page shows. */
export const mostShown = 50;

/** How many failures stand apart, of those that are not among the first rows. */
const mostFailures = 3;
const firstRows = 16;

interface StreamProps {
  readonly filter: StreamFilter;
  /** The entries that the filter lets through. */
  readonly entries: readonly StreamEntry[];
}

export interface StreamView extends ConsoleFrame, StreamProps {
  /** How many entries were forgotten, because newer ones have taken their place. */
  readonly forgotten: number;
  /** What stands above the list: how to connect, or the job that was searched for. */
  readonly children?: Child;
}

export function StreamPage({ filter, entries, forgotten, children, ...frame }: StreamView) {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const failures = isFiltered ? [] : entries.slice(firstRows).filter(isFailed).slice(0, mostFailures);
  const chips = (['link', 'job', 'q'] as const).filter((name) => filter[name] !== undefined);
  const at = filter.show === undefined ? '/' : urlOf({ show: filter.show });
  return (
    <ConsolePage title="Console" at={at} {...frame}>
      <h1 class="unseen">Sandbox console</h1>
      {children}
      <section aria-label="Earlier failures" data-live="failures">
        {failures.length > 0 && (
          <>
            <h2 id="failures-title">Earlier failures</h2>
            <ul class="rows">
              {failures.map((entry) => (
                <EntryRow entry={entry} />
              ))}
            </ul>
          </>
        )}
      </section>
      <section id="stream" aria-labelledby="stream-title">
        <h2 id="stream-title" class="unseen">
          Requests, callbacks and jobs
        </h2>
        {chips.length > 0 && (
          <ul class="chips">
            {chips.map((name) => (
              <li>
                <a href={urlOf({ ...filter, before: undefined, [name]: undefined })} aria-current="true">
                  {name === 'q' ? 'search' : `one ${name}`}: <bdi>{filter[name]}</bdi> ×
                </a>
              </li>
            ))}
          </ul>
        )}
        <Stream filter={filter} entries={entries} />
        <p class="empty" data-live="older">
          {forgotten > 0 &&
            `${forgotten.toLocaleString('en')} older entries were forgotten (see the option keepRequests).`}
        </p>
      </section>
    </ConsolePage>
  );
}

/** The latest entries, with a link to older ones. */
export function Stream({ filter, entries }: StreamProps) {
  const shown = entries.slice(0, mostShown);
  const last = shown.at(-1);
  const older = entries.length > mostShown && last !== undefined ? urlOf({ ...filter, before: keyOf(last) }) : null;
  return (
    <>
      <div data-live="stream">
        <ul class="rows">
          {shown.map((entry) => (
            <EntryRow entry={entry} />
          ))}
        </ul>
        {older !== null && (
          <p>
            <a href={older} rel="next">
              Older
            </a>
          </p>
        )}
      </div>
      <p class="empty" data-live="total">
        {entries.length === 0 ? 'Nothing to show.' : `${shown.length} of ${entries.length.toLocaleString('en')}`}
      </p>
    </>
  );
}

function urlOf(filter: StreamFilter): string {
  const given = Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '/' : `/?${new URLSearchParams(given)}`;
}
