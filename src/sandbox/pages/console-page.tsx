/**
 * The console: what happens in the sandbox, and what a developer can do about it.
 *
 * @module
 */

import type { Child } from 'hono/jsx';
import type { Environment } from '../../options.js';
import { type OperationName, routes } from '../../protocol/routes.js';
import type { StoredJob, StoredLink } from '../../testing/store.js';
import type { StoryEvent } from '../stories.js';
import type { Sandbox, SandboxCallback, SandboxRequest } from '../types.js';
import { countryName, idTypeName, methodName } from './id-types.js';
import { Badge, Layout, Time } from './layout.js';
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

export interface ConsoleView {
  readonly sandbox: Pick<Sandbox, 'baseUrls'>;
  readonly partnerId: string;
  /** Null where the scheme has no such keys. */
  readonly apiKeys: Readonly<Record<Environment, string>> | null;
  readonly links: Latest<ShownLink>;
  readonly jobs: Latest<ShownJob>;
  readonly requests: Latest<SandboxRequest>;
  readonly callbacks: Latest<SandboxCallback>;
  readonly hasDescription: boolean;
}

/** The latest of many, newest first, and how many there are. */
export interface Latest<T> {
  readonly entries: readonly T[];
  readonly total: number;
}

/** How many of each the front page shows. */
export const mostShown = 50;

export function ConsolePage(view: ConsoleView) {
  const { links, jobs, requests, callbacks } = view;
  return (
    <Layout title="Console" isLive isWide>
      <h1>Sandbox console</h1>
      <nav aria-label="Sections">
        <ul>
          {['Links', 'Jobs', 'Requests', 'Callbacks', 'Faults', 'Connect'].map((name) => (
            <li>
              <a href={`#${name.toLowerCase()}`}>{name}</a>
            </li>
          ))}
        </ul>
      </nav>
      <p class="live" role="status" data-follow>
        This page shows what happened until it was loaded.
      </p>
      <Rows id="links" title="Links" latest={links} empty="No link yet: create one with links.create().">
        {(shown: ShownLink) => <LinkRow {...shown} />}
      </Rows>
      <Rows id="jobs" title="Jobs" latest={jobs} empty="No job yet: open a link, or play an outcome.">
        {(shown: ShownJob) => <JobRow {...shown} />}
      </Rows>
      <Rows id="requests" title="Requests" latest={requests} empty="No request yet: the addresses are under “Connect”.">
        {(request: SandboxRequest) => <RequestRow {...request} />}
      </Rows>
      <Rows
        id="callbacks"
        title="Callbacks"
        latest={callbacks}
        empty="No callback yet: results of links with a callback URL are posted."
      >
        {(callback: SandboxCallback) => <CallbackRow {...callback} />}
      </Rows>
      <Faults />
      <Connect {...view} />
    </Layout>
  );
}

interface RowsProps<T> {
  readonly id: string;
  readonly title: string;
  readonly latest: Latest<T>;
  readonly empty: string;
  readonly children: (entry: T) => Child;
}

function Rows<T>({ id, title, latest: { entries, total }, empty, children: toRow }: RowsProps<T>) {
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

function LinkRow({ environment, link, closed }: ShownLink) {
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

function LinkState({ closed }: Pick<ShownLink, 'closed'>) {
  return closed === null ? <Badge kind="good">Open</Badge> : <Badge kind="plain">{sentence(closed)}</Badge>;
}

function LinkActions({ link, closed }: Pick<ShownLink, 'link' | 'closed'>) {
  const name = link.name ?? link.companyName;
  return (
    <div class="actions">
      <a class="button" href={`/links/${link.refId}`} aria-label={`Open the link ${name}`}>
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

function JobRow({ environment, job }: ShownJob) {
  const { kind, title } = stateOf(job);
  return (
    <li id={`job-${job.hostedJobId}-${environment}`}>
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

function RequestRow({ id, at, environment, operation, method, path, status, durationMs, signature }: SandboxRequest) {
  return (
    <li id={`request-${id}`}>
      <p class="heading">
        <span>{operation ?? `${method} ${path}`}</span>
        <Badge kind={status >= 200 && status < 300 ? 'good' : 'bad'}>{status === 0 ? 'No response' : status}</Badge>
        {signature.problem !== null && <Badge kind="bad">Signature: {signature.problem}</Badge>}
      </p>
      {signature.problem !== null && <p>{signature.message}.</p>}
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
  ['altered', 'altered: another result under the same signature'],
  ['unsigned', 'unsigned'],
] as const;

function CallbackRow({ id, environment, job, resultCode, url, state, attempts }: SandboxCallback) {
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

const faultKinds = [
  ['status-503', 'responds with 503'],
  ['status-500', 'responds with 500'],
  ['status-429', 'responds with 429 and Retry-After'],
  ['network', 'breaks the connection'],
  ['stall', 'never responds'],
  ['truncate', 'breaks off in the middle of the body'],
  ['html', 'responds with an HTML page'],
  ['bad-signature', 'signs with another key'],
  ['missing-signature', 'does not sign'],
  ['stale-timestamp', 'signs with an hour-old timestamp'],
] as const;

function Faults() {
  return (
    <section id="faults" aria-labelledby="faults-title">
      <h2 id="faults-title">Faults</h2>
      <p>The next request for the operation fails.</p>
      <form method="post" action="/console/faults" class="card fields">
        <label>
          Environment
          <select name="environment">
            <option value="sandbox">sandbox</option>
            <option value="production">production</option>
          </select>
        </label>
        <label>
          Operation
          <select name="operation">
            {(Object.keys(routes) as OperationName[]).map((name) => (
              <option value={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          Fault
          <select name="fault">
            {faultKinds.map(([value, text]) => (
              <option value={value}>{text}</option>
            ))}
          </select>
        </label>
        <button type="submit">Fail the next request</button>
      </form>
    </section>
  );
}

function Connect({ sandbox, partnerId, apiKeys, hasDescription }: ConsoleView) {
  const lines = [
    `HOSTED_PARTNER_ID=${partnerId}`,
    ...(apiKeys === null ? [] : [`HOSTED_API_KEY=${apiKeys.sandbox}`]),
    'HOSTED_ENVIRONMENT=sandbox',
    `HOSTED_SANDBOX_BASE_URL=${sandbox.baseUrls.sandbox}`,
    `HOSTED_PRODUCTION_BASE_URL=${sandbox.baseUrls.production}`,
  ];
  return (
    <section id="connect" aria-labelledby="connect-title">
      <h2 id="connect-title">Connect</h2>
      <p>For HostedClient.fromEnv(). These are test keys: they open nothing but this sandbox.</p>
      <pre>{lines.join('\n')}</pre>
      {apiKeys !== null && (
        <p>
          The key of production is <code>{apiKeys.production}</code>.
        </p>
      )}
      {hasDescription && (
        <p>
          <a href="/openapi.yaml">OpenAPI description of the service</a>
        </p>
      )}
      <form method="post" action="/console/reset" class="actions">
        <button type="submit" class="quiet">
          Delete links, jobs, requests and callbacks
        </button>
      </form>
    </section>
  );
}

export interface LinkStoryView extends ShownLink {
  readonly story: readonly StoryEvent[];
  readonly jobs: Latest<ShownJob>;
}

export function LinkStoryPage({ environment, link, closed, story, jobs }: LinkStoryView) {
  const name = link.name ?? link.companyName;
  return (
    <Layout title={name} isLive isWide>
      <p>
        <a href="/">Console</a>
      </p>
      <h1>
        <span class="eyebrow">Link of {environment}</span> {name}
      </h1>
      <section aria-label="State" data-live="link">
        <p class="heading">
          <LinkState closed={closed} />
        </p>
        <LinkActions link={link} closed={closed} />
      </section>
      <section aria-labelledby="facts-title">
        <h2 id="facts-title">Facts</h2>
        <dl>
          <Fact name="Company">{link.companyName}</Fact>
          <Fact name="Reference">
            <code>{link.refId}</code>
          </Fact>
          <Fact name="URL">
            <code>{link.url}</code>
          </Fact>
          <Fact name="Callback URL">
            <code>{link.callbackUrl ?? 'none'}</code>
          </Fact>
          <Fact name="Single use">{link.isSingleUse === true ? 'yes' : 'no'}</Fact>
          <Fact name="Expires">{link.expiresAt ?? 'never'}</Fact>
          <Fact name="ID types">
            {link.idTypes.length === 0
              ? 'any'
              : link.idTypes
                  .map((each) => `${idTypeName(each)} of ${countryName(each.country)} (${methodName(each)})`)
                  .join('; ')}
          </Fact>
        </dl>
      </section>
      <section aria-labelledby="story-title">
        <h2 id="story-title">Story</h2>
        <ol class="timeline" data-live="story">
          {story.map(({ at, title, details }) => (
            <li>
              <Time at={at} /> <strong>{title}</strong> {details !== '' && <span>{details}</span>}
            </li>
          ))}
        </ol>
      </section>
      <Rows id="jobs" title="Jobs" latest={jobs} empty="No job yet.">
        {(shown: ShownJob) => <JobRow {...shown} />}
      </Rows>
    </Layout>
  );
}

function Fact({ name, children }: { name: string; children: Child }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function sentence(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
