/**
 * The front page of the console: what failed, and all requests and callbacks.
 *
 * @module
 */

import type { Child } from 'hono/jsx';
import { type StreamEntry, type StreamFilter, shows } from '../stream.js';
import { CallbackRow, type ConsoleFrame, ConsolePage, RequestRow, Rows } from './console-layout.js';

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

const titles: Readonly<Record<string, string>> = {
  failed: 'Failed',
  links: 'Links',
  status: 'Job status',
  callbacks: 'Callbacks',
};

export function StreamPage({ filter, entries, forgotten, children, ...frame }: StreamView) {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const shown = entries.slice(0, mostShown);
  const older = entries.length > mostShown ? urlOf({ ...filter, before: shown.at(-1)?.key }) : null;
  const failures = isFiltered ? [] : entries.filter(({ isFailed }) => isFailed).slice(0, mostFailures);
  const at = filter.show === undefined ? '/' : urlOf({ show: filter.show });
  return (
    <ConsolePage title="Console" at={at} {...frame}>
      <h1>Sandbox console</h1>
      {children}
      <section aria-label="Latest failures" data-live="failures">
        {failures.length > 0 && (
          <>
            <h2 id="failures-title">Latest failures</h2>
            <ul class="rows first">{failures.map((entry) => toRow(entry))}</ul>
          </>
        )}
      </section>
      <section id="stream" aria-labelledby="stream-title">
        <h2 id="stream-title">Requests and callbacks</h2>
        <ul class="chips">
          {shows.map((show) => (
            <Chip
              filter={filter}
              change={{ show: filter.show === show ? undefined : show }}
              isOn={filter.show === show}
            >
              {titles[show]}
            </Chip>
          ))}
          {(['link', 'job', 'q'] as const).map(
            (name) =>
              filter[name] !== undefined && (
                <Chip filter={filter} change={{ [name]: undefined }} isOn>
                  {name === 'q' ? 'search' : `one ${name}`}: {filter[name]}
                </Chip>
              ),
          )}
        </ul>
        <Rows name="stream" older={older}>
          {shown.map((entry) => toRow(entry))}
        </Rows>
        <p class="empty" data-live="total">
          {entries.length === 0
            ? isFiltered
              ? 'Nothing matches. '
              : 'No request and no callback yet. '
            : `${shown.length} of ${entries.length.toLocaleString('en')}. `}
          {forgotten > 0 &&
            `${forgotten.toLocaleString('en')} older entries were forgotten (see the option keepRequests).`}
        </p>
      </section>
    </ConsolePage>
  );
}

function toRow({ request, callback }: StreamEntry) {
  if (request !== null) return <RequestRow {...request} />;
  return callback && <CallbackRow {...callback} />;
}

interface ChipProps {
  readonly filter: StreamFilter;
  readonly change: StreamFilter;
  readonly isOn: boolean;
  readonly children: Child;
}

function Chip({ filter, change, isOn, children }: ChipProps) {
  return (
    <li>
      <a href={urlOf({ ...filter, before: undefined, ...change })} aria-current={isOn && 'true'}>
        {children}
        {isOn && ' ×'}
      </a>
    </li>
  );
}

function urlOf(filter: StreamFilter): string {
  const given = Object.entries(filter).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? '/' : `/?${new URLSearchParams(given)}`;
}
