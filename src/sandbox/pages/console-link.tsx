/**
 * The console's page of one link: its state, what can be done with it, and what happened to it; and the heading of a job.
 *
 * @module
 */

import type { Child } from 'hono/jsx';
import { linkFields } from '../../links/fields.js';
import type { Field } from '../../protocol/fields.js';
import { maskUrl } from '../kept-bodies.js';
import { outcomeNames, outcomes } from '../outcomes.js';
import type { FoundLink } from '../simulation.js';
import { jobUrl, type StreamEntry, type StreamJob, stateOf } from '../stream.js';
import { Act, Ago, type ConsoleFrame, ConsolePage, Facts, Select, Value } from './console-layout.js';
import { countryName, idTypeName, methodName } from './id-types.js';
import { Badge } from './layout.js';
import { Stream } from './stream-page.js';

export interface ConsoleLinkView extends FoundLink, ConsoleFrame {
  /** What happened to the link and to its jobs. */
  readonly entries: readonly StreamEntry[];
}

export function ConsoleLinkPage({ environment, link, closed, entries, ...frame }: ConsoleLinkView) {
  const name = link.name ?? link.companyName;
  const own = `/console/links/${link.refId}`;
  const { createdAt, updatedAt } = link;
  return (
    <ConsolePage title={name} at="/?show=links" {...frame}>
      <h1>
        <span class="eyebrow">Link of {environment}</span> <bdi>{name}</bdi>
      </h1>
      <section aria-label="State" data-live="link">
        <div class="heading">
          <Badge kind="plain">{closed ?? 'active'}</Badge>
          <a href={`/links/${link.refId}`}>Open the page of the end user</a>
          {closed !== 'disabled' && <Act action={`${own}/disable`}>Disable</Act>}
        </div>
        <div class="actions">
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
      <section aria-labelledby="stream-title">
        <h2 id="stream-title">What happened</h2>
        <Stream filter={{ link: link.refId }} entries={entries} />
      </section>
      <Facts
        facts={{
          ...linkFacts({
            ...link,
            callbackUrl: link.callbackUrl ?? 'none',
            updatedAt: updatedAt !== createdAt && updatedAt,
          }),
          [linkFields.idTypes.label]:
            link.idTypes
              .slice(0, 50)
              .map((each) => `${idTypeName(each)} of ${countryName(each.country)} (${methodName(each)})`)
              .join('; ') || 'any',
        }}
      />
    </ConsolePage>
  );
}

function linkFacts(link: object): Readonly<Record<string, Child>> {
  const facts = Object.entries(linkFields).flatMap(([name, { kind, label }]: readonly [string, Field]) => {
    const value: unknown = Object(link)[name];
    return label && value ? [[label, <LinkValue name={name} kind={kind} value={value} label={label} />] as const] : [];
  });
  return Object.fromEntries(facts);
}

function LinkValue({ name, kind, value, label }: { name: string; kind: string; value: unknown; label: string }) {
  const text = String(value);
  if (name === 'refId' || name === 'url') return <Value text={text} what={`the ${label}`} />;
  if (kind === 'time' && typeof value === 'number') return <Ago at={value} />;
  if (kind === 'code') return <bdi class="id">{text}</bdi>;
  return kind === 'url' ? <code>{maskUrl(text)}</code> : <bdi>{kind === 'flag' ? 'yes' : text}</bdi>;
}

/** A job, its state, and the buttons that end it. */
export function JobHeading({ environment, job }: Pick<StreamJob, 'environment' | 'job'>) {
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
      {job.linkRefId !== null && <a href={`/console/links/${job.linkRefId}`}>Its link</a>}
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
    <ConsolePage title="Link gone" at="/?show=links" {...frame}>
      <h1>
        Link <bdi>{refId}</bdi>
      </h1>
      <section aria-label="State" data-live="link">
        <p class="problems">
          This link is gone: the sandbox was reset, or restarted without a folder, or it never had this link.
        </p>
        <a href="/?show=links">See all links</a>
      </section>
      <div data-live="stream" />
    </ConsolePage>
  );
}
