/**
 * One environment of the service in the form in which it is saved and restored.
 *
 * @module
 */

import type { CallbackWriter, SignedResult, SignedResults } from './callbacks.js';
import type { ComingFault } from './faults.js';
import type { StoredJob, StoredResult, StoredState } from './store.js';

/** An environment, in the saved form. */
export interface SavedEnvironment {
  readonly links: StoredState['links'];
  readonly jobs: readonly SavedJob[];
  readonly faults: readonly Omit<ComingFault, 'id'>[];
  readonly lastSignedAt: number | null;
  readonly requestCount: number;
  readonly ids: number;
  readonly spelling: number;
}

interface SavedJob extends Omit<StoredJob, 'results' | 'outcome'> {
  /** With the callback that was created for the result; null before a callback was created. */
  readonly results: readonly (StoredResult & { readonly signed: SignedResult | null })[];
  /** The index of the final result, and whether the job succeeded; null until the job is complete. */
  readonly outcome: { readonly entry: number; readonly success: boolean } | null;
}

/** The parts of an environment that are saved. */
export interface EnvironmentParts {
  readonly store: StoredState;
  readonly callbacks: CallbackWriter;
  readonly faults: readonly ComingFault[];
  readonly ids: number;
  readonly spelling: number;
  readonly requestCount: number;
}

/** Writes an environment in the saved form. */
export function writeEnvironment({ store, callbacks, faults, ...counts }: EnvironmentParts): SavedEnvironment {
  return {
    ...counts,
    links: store.links,
    jobs: store.jobs.map((stored) => ({
      ...stored,
      results: stored.results.map((entry) => ({ ...entry, signed: callbacks.signedResultOf(entry) })),
      outcome: stored.outcome && {
        entry: stored.results.indexOf(stored.outcome.result),
        success: stored.outcome.success,
      },
    })),
    faults: faults.map(({ id: _id, ...fault }) => fault),
    lastSignedAt: callbacks.lastSignedAt,
  };
}

/** Reads the data of an environment that {@link writeEnvironment} wrote. */
export function readEnvironment({ links, jobs, lastSignedAt }: SavedEnvironment) {
  const signed: (readonly [StoredResult, SignedResult])[] = [];
  const read = jobs.map(({ results: savedResults, outcome, ...stored }): StoredJob => {
    const results = savedResults.map(({ signed: written, ...entry }) => {
      if (written !== null) signed.push([entry, written]);
      return entry;
    });
    const final = outcome && results[outcome.entry];
    return { ...stored, results, outcome: outcome && final ? { result: final, success: outcome.success } : null };
  });
  return { store: { links, jobs: read }, signed: { results: signed, lastSignedAt } satisfies SignedResults };
}
