/**
 * The console's lists of links, jobs and faults, each with the form that adds an entry.
 *
 * @module
 */

import type { Child } from 'hono/jsx';
import { type OperationName, routes } from '../../protocol/routes.js';
import { parseJson } from '../../runtime/untrusted-objects.js';
import { describeFault, faultTexts } from '../faults.js';
import type { FoundLink } from '../simulation.js';
import type { SandboxFault } from '../types.js';
import {
  Act,
  type ConsoleFrame,
  ConsolePage,
  environmentOptions,
  Id,
  Ids,
  jobUrl,
  Row,
  Rows,
  Select,
} from './console-layout.js';
import { Badge } from './layout.js';
import { stateOf } from './link-page.js';
import { JobHeading, jobRowId, type ShownJob } from './story-page.js';

/** A part of a list, newest first. */
export interface Part<T> {
  readonly entries: readonly T[];
  readonly total: number;
  /** The URL of the page with older entries. */
  readonly older: string | null;
}

/** The fields of a new link. */
const fields = [
  ['company_name', 'Company name', 'Example Partner'],
  ['data_privacy_policy_url', 'Privacy policy URL', 'https://partner.example/privacy'],
  ['callback_url', 'Callback URL', ''],
  ['name', 'Name', ''],
  ['logo_url', 'Logo URL', ''],
  ['user_id', 'User id', ''],
  ['expires_at', 'Expires at (ISO 8601)', ''],
  ['id_types', 'ID types (JSON list)', '[{"country":"NG","id_type":"BVN","verification_method":"enhanced_kyc"}]'],
] as const;

/**
 * Reads the fields of a new link, as the service expects them in a request. Empty fields are left out. A list that is
 * not JSON is sent as it is, so that the service says what is wrong.
 */
export function readNewLink(form: URLSearchParams): object {
  const given = fields.flatMap(([name]) => {
    const value = form.get(name)?.trim() ?? '';
    return value === '' ? [] : [[name, name === 'id_types' ? (parseJson(value) ?? value) : value]];
  });
  return { ...Object.fromEntries(given), ...(form.has('is_single_use') && { is_single_use: true }) };
}

export function LinksPage({ links, ...frame }: ConsoleFrame & { links: Part<FoundLink> }) {
  return (
    <ConsolePage title="Links" at="/console/links" {...frame}>
      <h1>Links</h1>
      <details open={links.total === 0}>
        <summary>Create a link</summary>
        <form method="post" action="/console/links" class="card fields">
          <Select label="Environment" name="environment" options={environmentOptions} />
          {fields.map(([name, label, value]) => (
            <label>
              {label}
              <input type="text" name={name} value={value} />
            </label>
          ))}
          <label class="choice">
            <input type="checkbox" name="is_single_use" value="yes" />
            <span>Single use</span>
          </label>
          <button type="submit">Create the link</button>
        </form>
      </details>
      <List name="links" part={links}>
        {({ environment, link: { refId, name, companyName, createdAt: at }, closed }: FoundLink) => (
          <Row
            {...{ id: `link-${refId}`, at, href: `/console/links/${refId}`, what: name ?? companyName }}
            {...{ note: environment, status: closed ?? 'active' }}
            ids={<Id href={`/?link=${refId}`} kind="link" id={refId} />}
          />
        )}
      </List>
    </ConsolePage>
  );
}

export function JobsPage({ jobs, ...frame }: ConsoleFrame & { jobs: Part<ShownJob> }) {
  return (
    <ConsolePage title="Jobs" at="/console/jobs" {...frame}>
      <h1>Jobs</h1>
      <List name="jobs" part={jobs}>
        {({ environment, job }: ShownJob) => (
          <Row
            {...{ id: jobRowId(environment, job), at: job.startedAt, href: jobUrl(job.jobId), note: environment }}
            {...{ what: `Job ${job.jobId}`, status: stateOf(job).title }}
            ids={<Ids linkRefId={job.linkRefId} job={null} />}
          />
        )}
      </List>
    </ConsolePage>
  );
}

interface ListProps<T> {
  readonly name: string;
  readonly part: Part<T>;
  readonly children: (entry: T) => Child;
}

function List<T>({ name, part: { entries, total, older }, children: toRow }: ListProps<T>) {
  return (
    <>
      <Rows name={name} older={older}>
        {entries.map(toRow)}
      </Rows>
      <p class="empty" data-live="total">
        {total === 0 ? `No ${name} yet.` : `${entries.length} of ${total.toLocaleString('en')}.`}
      </p>
    </>
  );
}

/** The jobs that were searched for, above the list of their requests and callbacks. */
export function JobPanel({ jobs }: { jobs: readonly ShownJob[] }) {
  return (
    <section aria-label="Jobs" data-live="jobs">
      {jobs.map(({ environment, job }) => (
        <div id={jobRowId(environment, job)} class="card">
          <JobHeading environment={environment} job={job} />
          {job.linkRefId !== null && <a href={`/console/links/${job.linkRefId}`}>Its link</a>}
          <ul class="rows">
            {job.results.map(({ at, code, text }, index) => (
              <Row id={`result-${jobRowId(environment, job)}-${index}`} at={at} what={`Result ${code}`} note={text} />
            ))}
          </ul>
        </div>
      ))}
    </section>
  );
}

const faultOptions = [
  ['status-503', 'responds with 503'],
  ['status-500', 'responds with 500'],
  ['status-429', 'responds with 429 and Retry-After'],
  ...Object.entries(faultTexts).filter(([kind]) => kind !== 'status'),
] as const;

export function FaultsPage({ faults, ...frame }: ConsoleFrame & { faults: readonly SandboxFault[] }) {
  return (
    <ConsolePage title="Faults" at="/console/faults" {...frame}>
      <h1>Faults</h1>
      <form method="post" action="/console/faults" class="card fields">
        <Select label="Environment" name="environment" options={environmentOptions} />
        <Select
          label="Operation"
          name="operation"
          options={(Object.keys(routes) as OperationName[]).map((name) => [name, name])}
        />
        <Select label="The service" name="fault" options={faultOptions} />
        <button type="submit">Fail the next request</button>
      </form>
      <section id="faults" aria-label="Waiting faults" data-live="faults">
        {faults.length === 0 && <p class="empty">No fault is waiting.</p>}
        {faults.map(({ id, environment, operation, fault, left }) => (
          <div id={`fault-${id}`} class="heading">
            <Badge kind="plain">{left === 1 ? 'next request' : `next ${left} requests`}</Badge>
            <span>
              {operation} of {environment}: {describeFault(fault)}
            </span>
            <Act action={`/console/faults/${id}/cancel`}>Cancel</Act>
          </div>
        ))}
      </section>
    </ConsolePage>
  );
}
