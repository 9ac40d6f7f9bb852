/**
 * Simulates end users and reviewers: opens links, plays outcomes, and posts each result.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { IdType } from '../links/types.js';
import { type Environment, environments } from '../options.js';
import { type ControlContext, closedMessage, closedStateOf, startJob } from '../testing/controls.js';
import type { WireIdType } from '../testing/link-fields.js';
import type { RunningService } from '../testing/running-service.js';
import type { StoredLink } from '../testing/store.js';
import type { Callbacks } from './callbacks.js';
import { createInputError } from './input.js';
import { jobKey } from './job-key.js';
import type { KeptState, PendingResults } from './kept-state.js';
import { type OutcomeResult, outcomes, splitResults } from './outcomes.js';
import type { SandboxOutcome } from './types.js';
import type { Work } from './work.js';

export interface SimulationSettings {
  readonly running: RunningService;
  readonly callbacks: Callbacks;
  readonly reviewMs: number;
  work(): Work;
  onChange(): void;
}

/** A link, and its environment. */
export interface FoundLink {
  readonly environment: Environment;
  readonly link: StoredLink;
  /** Why no job can start on the link; null if a job can start. */
  readonly closed: 'disabled' | 'expired' | 'used' | null;
}

/** How long a job is pending at most after the form of a page, in ms. */
const momentMs = 500;

type SimulationState = Pick<KeptState, 'reviews' | 'confirmed'>;

interface PlayOptions {
  readonly environment: Environment;
  /** Default: the link's first ID type. */
  readonly idType?: IdType | WireIdType | undefined;
  /** Whether the end user waits on a page: the job is pending for a moment, as it is in reality. */
  readonly isOnPage?: boolean;
}

export type Simulation = ReturnType<typeof createSimulation>;

/** Creates a new simulation, without links and jobs. */
export function createSimulation({ running, callbacks, reviewMs, work, onChange }: SimulationSettings) {
  const confirmed = new Set<string>();
  const reviews = new Map<PendingResults, () => void>();
  const contextOf = (environment: Environment): ControlContext => running.environments[environment].context();

  function findLink(refId: string): FoundLink | null {
    for (const environment of environments) {
      const context = contextOf(environment);
      const link = context.store.findLink(refId);
      if (link !== undefined) return { environment, link, closed: closedStateOf(link, context) };
    }
    return null;
  }

  /** Adds a result to a job, and posts the callback of this result. */
  function report(environment: Environment, job: JobRef, { success, ...result }: OutcomeResult): void {
    const { store } = contextOf(environment);
    const stored = store.findJob(job);
    // `reset` of the testing kit may have deleted the job.
    if (stored === undefined) return;
    store.addResult(stored, result, success === undefined ? undefined : { success });
    callbacks.send(environment, job, stored.results.length);
  }

  function wait(pending: PendingResults): void {
    const act = () => {
      reviews.delete(pending);
      reportPart(pending);
      onChange();
    };
    reviews.set(pending, work().later(Math.max(0, pending.endsAt - Date.now()), act));
  }

  function reportPart(pending: PendingResults): void {
    const { environment, job, outcome, part } = pending;
    const parts = splitResults(outcome);
    for (const result of parts[part]) report(environment, job, result);
    if (part === 0 && parts[1].length > 0) wait({ ...pending, part: 1, endsAt: Date.now() + reviewMs });
  }

  function findWaiting(environment: Environment, job: JobRef): readonly PendingResults[] {
    const key = jobKey({ environment, job });
    return [...reviews.keys()].filter((pending) => jobKey(pending) === key);
  }

  return {
    findLink,
    /** Creates a link like the newest one, which may be used or closed; gives its reference id. */
    copyNewestLink(environment: Environment): string {
      const { store } = contextOf(environment);
      const [newest] = store.sliceLinks(store.countLinks() - 1, 1);
      if (newest !== undefined) return store.addLink({ ...newest, expiresAt: null }).refId;
      const expected = `only after a link was created in the environment "${environment}": create a link first`;
      throw createInputError('refId', `can be left out ${expected}`, task);
    },
    /** Starts a job, and reports the results of the outcome. */
    play(refId: string, outcome: SandboxOutcome, { environment, idType, isOnPage = false }: PlayOptions): JobRef {
      const context = contextOf(environment);
      const link = checkLink(context, refId, environment);
      const job = startJob({ linkRefId: refId }, context, chooseIdType(link, idType));
      const endsAt = Date.now() + Math.min(momentMs, reviewMs);
      const pending = { environment, job, outcome, part: 0, endsAt } as const;
      if (!isOnPage) reportPart(pending);
      else if (outcomes[outcome].results.length > 0) wait(pending);
      return job;
    },
    /** Whether further results of a job will come by themselves. */
    isWaiting: (environment: Environment, job: JobRef) => findWaiting(environment, job).length > 0,
    /** Completes a job at once, as a reviewer does. */
    complete(environment: Environment, job: JobRef, outcome: 'approved' | 'rejected'): void {
      for (const result of outcomes[outcome].results) report(environment, job, result);
      // What was to come is cancelled after the callback has begun. In the other order, there would be no work for a
      // moment, and `idle` would resolve too early.
      for (const pending of findWaiting(environment, job)) {
        reviews.get(pending)?.();
        reviews.delete(pending);
      }
    },
    /** Remembers that the final status of a job was fetched. */
    confirm(environment: Environment, job: JobRef): void {
      const key = jobKey({ environment, job });
      if (confirmed.has(key) || !contextOf(environment).store.findJob(job)?.outcome) return;
      confirmed.add(key);
      onChange();
    },
    isConfirmed: (environment: Environment, job: JobRef) => confirmed.has(jobKey({ environment, job })),
    /** The state to save. */
    state: (): SimulationState => ({ reviews: [...reviews.keys()], confirmed: [...confirmed] }),
    /** Restores a saved state, and continues to wait for its results. */
    restore(state: SimulationState): void {
      for (const key of state.confirmed) confirmed.add(key);
      for (const pending of state.reviews) wait(pending);
    },
    clear(): void {
      confirmed.clear();
      reviews.clear();
    },
  };
}

const task = 'play an outcome';

function checkLink(context: ControlContext, refId: string, environment: Environment): StoredLink {
  const link = context.store.findLink(refId);
  if (link === undefined) {
    throw createInputError('refId', `must be the reference id of a link of the environment "${environment}"`, task);
  }
  const closed = closedStateOf(link, context);
  if (closed === null) return link;
  throw createInputError('refId', closedMessage(closed), task);
}

/** Finds the chosen ID type of a link. If `chosen` is undefined, returns the link's first ID type. */
function chooseIdType({ idTypes }: StoredLink, chosen: IdType | WireIdType | undefined): WireIdType | null {
  const [first] = idTypes;
  if (chosen === undefined) return first ?? null;
  const name = 'idType' in chosen ? chosen.idType : chosen.id_type;
  const country = chosen.country.toUpperCase();
  const found = idTypes.find((entry) => entry.country === country && entry.id_type === name);
  if (found !== undefined) return found;
  throw createInputError('idType', 'must be one of the ID types that the link accepts', task);
}
