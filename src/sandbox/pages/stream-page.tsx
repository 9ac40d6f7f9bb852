/**
 * The front page of the console: what failed, and all requests and callbacks.
 *
 * @module
 */

import type { Child } from 'hono/jsx';
import { isFailed, keyOf, type StreamEntry, type StreamFilter, shows } from '../stream.js';
import { type ConsoleFrame, ConsolePage, EntryRow, Ids, Rows } from './console-layout.js';

/** How many entries of a list a page shows. */
export const mostShown = 50;

/** How many failures stand first. */
const mostFailures = 3;

export interface StreamView extends ConsoleFrame {
  readonly filter: StreamFilter;
  /** The entries that the filter lets through. */
  readonly entries: readonly StreamEntry[];
  /** How many entries were forgotten, because newer ones have taken their place. */
  readonly forgotten: number;
  /** What stands above the list: how to connect, or the job that was searched for. */
  readonly children?: Child;
}

export function StreamPage({ filter, entries, forgotten, children, ...frame }: StreamView) {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const shown = entries.slice(0, mostShown);
  const last = shown.at(-1);
  const older = entries.length > mostShown && last !== undefined ? urlOf({ ...filter, before: keyOf(last) }) : null;
  const failures = isFiltered ? [] : entries.filter(isFailed).slice(0, mostFailures);
  const nothing = isFiltered ? 'Nothing matches. ' : 'No request and no callback yet. ';
  const chips = [
    ...Object.entries(shows).map(([value, text]) => ({ name: 'show', value, text, isOn: filter.show === value })),
    ...(['link', 'job', 'q'] as const).flatMap((name) => {
      const text = `${name === 'q' ? 'search' : `one ${name}`}: ${filter[name]}`;
      return filter[name] === undefined ? [] : [{ name, value: '', text, isOn: true }];
    }),
  ].map(({ name, value, text, isOn }) => {
    return { text, isOn, url: urlOf({ ...filter, before: undefined, [name]: isOn ? undefined : value }) };
  });
  const at = filter.show === undefined ? '/' : urlOf({ show: filter.show });
  return (
    <ConsolePage title="Console" at={at} {...frame}>
      <h1>Sandbox console</h1>
      {children}
      <section aria-label="Latest failures" data-live="failures">
        {failures.length > 0 && (
          <>
            <h2 id="failures-title">Latest failures</h2>
            <ul class="rows first">
              {failures.map((entry) => (
                <EntryRow entry={entry} ids={<Ids {...entry} />} />
              ))}
            </ul>
          </>
        )}
      </section>
      <section id="stream" aria-labelledby="stream-title">
        <h2 id="stream-title">Requests and callbacks</h2>
        <ul class="chips">
          {chips.map(({ text, url, isOn }) => (
            <li>
              <a href={url} aria-current={isOn && 'true'}>
                <bdi>{text}</bdi>
                {isOn && ' ×'}
              </a>
            </li>
          ))}
        </ul>
        <Rows name="stream" older={older}>
          {shown.map((entry) => (
            <EntryRow entry={entry} ids={<Ids {...entry} />} />
          ))}
        </Rows>
        <p class="empty" data-live="total">
          {entries.length > 0 ? `${shown.length} of ${entries.length.toLocaleString('en')}. ` : nothing}
          {forgotten > 0 &&
            `${forgotten.toLocaleString('en')} older entries were forgotten (see the option keepRequests).`}
        </p>
      </section>
    </ConsolePage>
  );
}

function urlOf(filter: StreamFilter): string {
  const given = Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '/' : `/?${new URLSearchParams(given)}`;
}
