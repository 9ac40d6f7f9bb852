/**
 * Lists the events of a link, in order. Most events are in the service's data. The sandbox itself records two kinds of
 * events: a page was opened, and a result was fetched.
 *
 * @module
 */

import type { Environment } from '../options.js';
import type { StoredJob, StoredLink } from '../testing/store.js';
import type { SandboxCallback } from './types.js';

/** An event of a link. */
export interface StoryEvent {
  readonly at: number;
  readonly title: string;
  readonly details: string;
}

/** The times of events that the service does not record: one time for each link or job. */
export interface Sightings {
  /** When a link's page was first opened. {@link linkKey} gives the key. */
  readonly opened: ReadonlyMap<string, number>;
  /** When the final status of a job was first fetched. {@link jobKey} gives the key. */
  readonly confirmed: ReadonlyMap<string, number>;
}

export function linkKey(environment: Environment, refId: string): string {
  return JSON.stringify([environment, refId]);
}

export function jobKey(environment: Environment, { userId, jobId }: { userId: string; jobId: string }): string {
  return JSON.stringify([environment, userId, jobId]);
}

export interface LinkStory {
  readonly environment: Environment;
  readonly link: StoredLink;
  readonly jobs: readonly StoredJob[];
  readonly callbacks: readonly SandboxCallback[];
  readonly sightings: Sightings;
}

/** Lists the events of a link, oldest first. */
export function describeStory({ environment, link, jobs, callbacks, sightings }: LinkStory): readonly StoryEvent[] {
  const events: StoryEvent[] = [{ at: link.createdAt, title: 'Created', details: link.name ?? '' }];
  const openedAt = sightings.opened.get(linkKey(environment, link.refId));
  if (openedAt !== undefined) events.push({ at: openedAt, title: 'Opened', details: '' });
  if (link.disabledAt !== null) events.push({ at: link.disabledAt, title: 'Disabled', details: '' });
  for (const job of jobs) events.push(...describeJob(environment, job, sightings));
  const own = callbacks.filter((callback) => callback.environment === environment && callback.linkRefId === link.refId);
  for (const callback of own) events.push(...describeCallback(callback));
  return events.sort((a, b) => a.at - b.at);
}

function describeJob(environment: Environment, job: StoredJob, { confirmed }: Sightings): readonly StoryEvent[] {
  const confirmedAt = confirmed.get(jobKey(environment, job));
  return [
    { at: job.startedAt, title: 'Job started', details: job.jobId },
    ...job.results.map(({ at, code, text }) => ({ at, title: `Result ${code}`, details: text })),
    ...(confirmedAt === undefined
      ? []
      : [{ at: confirmedAt, title: 'Confirmed', details: 'the job status was fetched, with the result' }]),
  ];
}

function describeCallback({ id, resultCode, attempts }: SandboxCallback): readonly StoryEvent[] {
  return attempts.map(({ at, status, problem }) => ({
    at: at.getTime(),
    title: problem === null ? 'Callback delivered' : 'Callback not delivered',
    details: `callback ${id}, result ${resultCode}: ${problem ?? status}`,
  }));
}
