/**
 * The rows of the console: links, jobs, requests and callbacks, each with its controls.
 *
 * @module
 */

import type { Child } from 'hono/jsx';
import type { Environment } from '../../options.js';
import type { StoredJob, StoredLink } from '../../testing/store.js';
import type { SandboxCallback, SandboxRequest } from '../types.js';
import { countryName, idTypeName } from './id-types.js';
import { Badge, Time } from './layout.js';
import { stateOf } from './link-page.js';

/** A link as the console shows it. */
export interface ShownLink {
  readonly environment: Environment;
  readonly link: StoredLink;
  readonly closed: 'disabled' | 'expired' | 'used' | null;
}

export interface ShownJob {
  readonly environment: Environment;
  readonly job: StoredJob;
}

/** The latest entries of a list, newest first, and the number of all its entries. */
export interface Latest<T> {
  readonly entries: readonly T[];
  readonly total: number;
}

interface RowsProps<T> {
  readonly id: string;
  readonly title: string;
  readonly latest: Latest<T>;
  readonly empty: string;
  readonly children: (entry: T) => Child;
}

export function Rows<T>({ id, title, latest: { entries, total }, empty, children: toRow }: RowsProps<T>) {
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      <div data-live={id}>
        {total === 0 ? <p class="empty">{empty}</p> : <ul class="rows">{entries.map((entry) => toRow(entry))}</ul>}
        {total > entries.length && (
          <p>
            The latest {entries.length} of {total}.
          </p>
        )}
      </div>
    </section>
  );
}

export function LinkRow({ environment, link, closed }: ShownLink) {
  return (
    <li id={`link-${link.refId}`}>
      <p class="heading">
        <a href={`/console/links/${link.refId}`}>{link.name ?? link.companyName}</a>
        <LinkState closed={closed} />
      </p>
      <p class="facts">
        {environment}, created <Time at={link.createdAt} />, reference <code>{link.refId}</code>
      </p>
      <LinkActions link={link} closed={closed} />
    </li>
  );
}

export function LinkState({ closed }: Pick<ShownLink, 'closed'>) {
  return closed === null ? <Badge kind="good">Active</Badge> : <Badge kind="plain">{sentence(closed)}</Badge>;
}

export function LinkActions({ link, closed }: Pick<ShownLink, 'link' | 'closed'>) {
  const name = link.name ?? link.companyName;
  return (
    <div class="actions">
      <a
        class={closed === null ? 'button' : 'button quiet'}
        href={`/links/${link.refId}`}
        aria-label={`Open the link ${name}`}
      >
        Open
      </a>
      {closed !== 'disabled' && (
        <form method="post" action={`/console/links/${link.refId}/disable`}>
          <button type="submit" class="quiet" aria-label={`Disable the link ${name}`}>
            Disable
          </button>
        </form>
      )}
    </div>
  );
}

/** The id of a job's row. It uses the service's own id of the job, because `jobId` may contain blanks. */
export function jobRowId(environment: Environment, { hostedJobId }: StoredJob): string {
  return `job-${hostedJobId}-${environment}`;
}

export function JobRow({ environment, job }: ShownJob) {
  const { kind, title } = stateOf(job);
  return (
    <li id={jobRowId(environment, job)}>
      <p class="heading">
        <code>{job.jobId}</code>
        <Badge kind={kind}>{title}</Badge>
      </p>
      <p class="facts">
        {environment}, user <code>{job.userId}</code>, started <Time at={job.startedAt} />
        {job.idType !== null && `, ${idTypeName(job.idType)} of ${countryName(job.idType.country)}`}
      </p>
      {job.results.length > 0 && (
        <ol class="history">
          {job.results.map(({ at, code, text }) => (
            <li>
              <Time at={at} /> {code} {text}
            </li>
          ))}
        </ol>
      )}
      {job.outcome === null && (
        <form method="post" action="/console/jobs/complete" class="actions">
          <input type="hidden" name="environment" value={environment} />
          <input type="hidden" name="userId" value={job.userId} />
          <input type="hidden" name="jobId" value={job.jobId} />
          <button
            type="submit"
            class="quiet"
            name="outcome"
            value="approved"
            aria-label={`Complete the job ${job.jobId}`}
          >
            Complete
          </button>
          <button type="submit" class="quiet" name="outcome" value="rejected" aria-label={`Fail the job ${job.jobId}`}>
            Fail
          </button>
        </form>
      )}
    </li>
  );
}

export function RequestRow({
  id,
  at,
  environment,
  operation,
  method,
  path,
  status,
  durationMs,
  notes,
  signature,
}: SandboxRequest) {
  return (
    <li id={`request-${id}`}>
      <p class="heading">
        <span>{operation ?? `${method} ${path}`}</span>
        <Badge kind={status >= 200 && status < 300 ? 'good' : 'bad'}>{status === 0 ? 'No response' : status}</Badge>
        {signature.problem !== null && <Badge kind="bad">Signature: {signature.problem}</Badge>}
      </p>
      {signature.problem !== null && <p>{signature.message}.</p>}
      {notes.map((note) => (
        <p>Note: {note}.</p>
      ))}
      <p class="facts">
        {environment}, <Time at={at} />, {durationMs} ms
      </p>
    </li>
  );
}

const callbackStates = {
  waiting: { kind: 'wait', title: 'Waiting' },
  delivered: { kind: 'good', title: 'Delivered' },
  gave_up: { kind: 'bad', title: 'Gave up' },
  not_allowed: { kind: 'bad', title: 'Not allowed' },
} as const;

const variants = [
  ['genuine', 'as it is'],
  ['forged', 'forged: signed by another key'],
  ['stale', 'stale: signed an hour ago'],
  ['altered', 'altered: the result was changed after signing'],
  ['unsigned', 'unsigned'],
] as const;

export function CallbackRow({ id, environment, job, resultCode, url, state, attempts }: SandboxCallback) {
  return (
    <li id={`callback-${id}`}>
      <p class="heading">
        <span>
          Callback {id}, result {resultCode}
        </span>
        <Badge kind={callbackStates[state].kind}>{callbackStates[state].title}</Badge>
      </p>
      <p class="facts">
        {environment}, job <code>{job.jobId}</code>, to <code>{url}</code>
      </p>
      {attempts.length > 0 && (
        <ol class="history">
          {attempts.map(({ at, status, problem, durationMs }) => (
            <li>
              <Time at={at} /> {problem ?? status}, {durationMs} ms
            </li>
          ))}
        </ol>
      )}
      <form method="post" action={`/console/callbacks/${id}/resend`} class="actions">
        <label>
          Variant
          <select name="variant" aria-label={`Variant of callback ${id}`}>
            {variants.map(([value, text]) => (
              <option value={value}>{text}</option>
            ))}
          </select>
        </label>
        <button type="submit" class="quiet" aria-label={`Send again callback ${id}`}>
          Send again
        </button>
      </form>
    </li>
  );
}

function sentence(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
