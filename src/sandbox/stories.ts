/**
 * Lists what happened to a link: first the link itself, then each of its jobs. Most events are in the service's data. The
 * sandbox itself records two kinds of events: a page was opened, and a result was fetched.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { Environment } from '../options.js';
import type { StoredJob, StoredLink } from '../testing/store.js';
import { isCallback, type StreamEntry } from './stream.js';
import type { SandboxCallback, SandboxRequest } from './types.js';

/** An event of the simulation. */
interface Happening {
  readonly at: Date;
  readonly title: string;
  readonly details: string;
}

/** What happened to a link or job: an event of the simulation, a request, or a callback. */
export type StoryEvent = Happening | StreamEntry;

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

export function jobKey({ environment, job: { userId, jobId } }: { environment: Environment; job: JobRef }): string {
  return JSON.stringify([environment, userId, jobId]);
}

/** How many requests and callbacks of a link or a job are listed. Older ones are in the list of the console. */
const mostListed = 10;

export interface StorySource {
  readonly requests: readonly SandboxRequest[];
  readonly callbacks: readonly SandboxCallback[];
  readonly sightings: Sightings;
}

/** A job, and what happened to it, oldest first. */
export interface JobStory {
  readonly environment: Environment;
  readonly job: StoredJob;
  readonly story: readonly StoryEvent[];
}

/** Lists what happened to a link itself, oldest first. */
export function describeLink(environment: Environment, link: StoredLink, source: StorySource): readonly StoryEvent[] {
  const about = (entry: SandboxRequest) => entry.environment === environment && entry.linkRefId === link.refId;
  return inOrder([
    eventAt(link.createdAt, 'Created', link.name ?? ''),
    eventAt(source.sightings.opened.get(linkKey(environment, link.refId)), 'Opened'),
    eventAt(link.disabledAt, 'Disabled'),
    ...source.requests.filter(about).slice(-mostListed),
  ]);
}

/** Lists what happened to each of these jobs. */
export function describeJobs(
  environment: Environment,
  jobs: readonly StoredJob[],
  { requests, callbacks, sightings }: StorySource,
): readonly JobStory[] {
  // There are thousands of entries, so they are read once for all jobs.
  const found = new Map(jobs.map((job) => [jobKey({ environment, job }), { job, own: [] as StreamEntry[] }]));
  for (const entry of [...callbacks, ...requests]) {
    if (entry.job !== null) found.get(jobKey({ environment: entry.environment, job: entry.job }))?.own.push(entry);
  }
  return [...found.values()].map(({ job, own }) => {
    const story = inOrder([
      ...job.results.map(({ at, code, text }) => eventAt(at, `Result ${code}`, text)),
      ...own.filter(isCallback).slice(-mostListed),
      ...own.filter((entry) => !isCallback(entry)).slice(-mostListed),
      eventAt(
        sightings.confirmed.get(jobKey({ environment, job })),
        'Confirmed',
        'the job status was fetched, with the result',
      ),
    ]);
    return { environment, job, story };
  });
}

function eventAt(at: number | null | undefined, title: string, details = ''): Happening | null {
  return at == null ? null : { at: new Date(at), title, details };
}

function inOrder(events: readonly (StoryEvent | null)[]): readonly StoryEvent[] {
  return events.filter((event) => event !== null).sort((a, b) => a.at.getTime() - b.at.getTime());
}
