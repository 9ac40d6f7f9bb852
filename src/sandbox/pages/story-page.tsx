/**
 * The console's page of one link: its state, what can be done with it, and what happened to it and to its jobs.
 *
 * @module
 */

import type { Environment } from '../../options.js';
import type { StoredJob } from '../../testing/store.js';
import { maskUrl } from '../kept-bodies.js';
import { outcomeNames, outcomes } from '../outcomes.js';
import type { FoundLink } from '../simulation.js';
import type { JobStory, StoryEvent } from '../stories.js';
import {
  Act,
  Ago,
  type ConsoleFrame,
  ConsolePage,
  EntryRow,
  Facts,
  jobUrl,
  Older,
  Row,
  Rows,
  Select,
  Value,
} from './console-layout.js';
import { countryName, idTypeName, methodName } from './id-types.js';
import { Badge } from './layout.js';
import { stateOf } from './link-page.js';

export interface ShownJob {
  readonly environment: Environment;
  readonly job: StoredJob;
}

export interface LinkStoryView extends FoundLink, ConsoleFrame {
  readonly story: readonly StoryEvent[];
  /** The latest jobs, newest first. */
  readonly jobs: readonly JobStory[];
  readonly jobCount: number;
  /** The URL of the page with older jobs. */
  readonly older: string | null;
}

export function LinkStoryPage({ environment, link, closed, story, jobs, jobCount, older, ...frame }: LinkStoryView) {
  const name = link.name ?? link.companyName;
  const own = `/console/links/${link.refId}`;
  const { createdAt, updatedAt, disabledAt } = link;
  return (
    <ConsolePage title={name} at="/console/links" {...frame}>
      <h1>
        <span class="eyebrow">Link of {environment}</span> <bdi>{name}</bdi>
      </h1>
      <section aria-label="State" data-live="link">
        <p class="heading">
          <Badge kind="plain">{closed ?? 'active'}</Badge> <a href={`/?link=${link.refId}`}>Requests and callbacks</a>
        </p>
        <div class="actions">
          <a class={closed === null ? 'button' : 'button quiet'} href={`/links/${link.refId}`}>
            Open the page of the end user
          </a>
          {closed !== 'disabled' && <Act action={`${own}/disable`}>Disable</Act>}
          {closed === null && (
            <form method="post" action={`${own}/play`} class="actions">
              <Select
                label="Outcome"
                name="outcome"
                options={outcomeNames.map((each) => [each, outcomes[each].title])}
              />
              {link.idTypes.length > 1 && (
                <Select
                  label="ID"
                  name="idType"
                  options={link.idTypes
                    .slice(0, 50)
                    .map((each, index) => [String(index), `${idTypeName(each)} of ${each.country}`])}
                />
              )}
              <button type="submit">Play</button>
            </form>
          )}
        </div>
      </section>
      <Facts
        facts={{
          Reference: <Value text={link.refId} what="the reference" />,
          URL: <Value text={link.url} what="the URL of the link" />,
          'Callback URL': <code>{link.callbackUrl === null ? 'none' : maskUrl(link.callbackUrl)}</code>,
          Company: <bdi>{link.companyName}</bdi>,
          Name: link.name && <bdi>{link.name}</bdi>,
          'User id': <bdi class="id">{link.userId}</bdi>,
          'Privacy policy': <code>{link.dataPrivacyPolicyUrl}</code>,
          Logo: <code>{link.logoUrl ?? 'none'}</code>,
          'Single use': link.isSingleUse === true ? 'yes' : 'no',
          Created: <Ago at={createdAt} />,
          Changed: updatedAt === createdAt ? 'never' : <Ago at={updatedAt} />,
          Disabled: disabledAt === null ? 'no' : <Ago at={disabledAt} />,
          Expires: link.expiresAt ?? 'never',
          'ID types':
            link.idTypes
              .slice(0, 50)
              .map((each) => `${idTypeName(each)} of ${countryName(each.country)} (${methodName(each)})`)
              .join('; ') || 'any',
        }}
      />
      <section aria-labelledby="story-title">
        <h2 id="story-title">Story</h2>
        <Rows name="story">
          {story.map((event, index) => (
            <EventRow event={event} id={`link-${index}`} />
          ))}
        </Rows>
      </section>
      <section aria-labelledby="jobs-title">
        <h2 id="jobs-title">Jobs</h2>
        <div data-live="jobs">
          <p class="empty">
            {jobCount === 0 ? 'No job yet.' : `${jobs.length} of ${jobCount.toLocaleString('en')}, the latest first.`}
          </p>
          {jobs.map(({ environment: of, job, story: events }) => (
            <section id={jobRowId(of, job)} aria-label={`Job ${job.jobId}`}>
              <JobHeading environment={of} job={job} />
              <ul class="rows">
                {events.map((event, index) => (
                  <EventRow event={event} id={`${jobRowId(of, job)}-${index}`} />
                ))}
              </ul>
            </section>
          ))}
          {older !== null && <Older href={older} />}
        </div>
      </section>
    </ConsolePage>
  );
}

function EventRow({ event, id }: { event: StoryEvent; id: string }) {
  if (!('title' in event)) return <EntryRow entry={event} />;
  return <Row id={id} at={event.at} what={event.title} note={event.details} />;
}

/** The id of a job's row. It uses the service's own id of the job, because `jobId` may contain blanks. */
export function jobRowId(environment: Environment, { hostedJobId }: StoredJob): string {
  return `job-${hostedJobId}-${environment}`;
}

/** A job, its state, and the buttons that end it. */
export function JobHeading({ environment, job }: ShownJob) {
  const { userId, jobId, outcome } = job;
  const { kind, title } = stateOf(job);
  const complete = new URLSearchParams({ environment, userId, jobId });
  return (
    <div class="heading">
      <a href={jobUrl(jobId)}>
        Job <bdi class="id">{jobId}</bdi>
      </a>
      <Badge kind={kind === 'bad' ? 'bad' : 'plain'}>{title}</Badge>
      <small>
        {environment}, user <bdi class="id">{userId}</bdi>, <Ago at={job.startedAt} />
      </small>
      {outcome === null && (
        <form method="post" action={`/console/jobs/complete?${complete}`} class="actions">
          <button type="submit" class="quiet" name="outcome" value="approved">
            Complete the job
          </button>
          <button type="submit" class="quiet" name="outcome" value="rejected">
            Fail the job
          </button>
        </form>
      )}
    </div>
  );
}

/** The page of a link that is not there, for example after a reset. An open page of the link shows this, too. */
export function LinkGonePage({ refId, ...frame }: ConsoleFrame & { refId: string }) {
  return (
    <ConsolePage title="Link gone" at="/console/links" {...frame}>
      <h1>
        Link <bdi>{refId}</bdi>
      </h1>
      <section aria-label="State" data-live="link">
        <p class="problems">
          This link is gone: the sandbox was reset, or restarted without a folder, or it never had this link.
        </p>
        <a href="/console/links">See all links</a>
      </section>
      <div data-live="story" />
      <div data-live="jobs" />
    </ConsolePage>
  );
}
