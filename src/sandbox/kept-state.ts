/**
 * The state of a sandbox, in the form in which it is saved in the folder.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { Environment } from '../options.js';
import { readSaved } from '../testing/saved-text.js';
import type { SandboxCallback, SandboxOutcome } from './types.js';

type Attempt = SandboxCallback['attempts'][number];

/** A callback, with the data that is needed to post it again, even after a restart. */
export interface KeptCallback {
  readonly view: { -readonly [Key in keyof SandboxCallback]: SandboxCallback[Key] } & { attempts: Attempt[] };
  /** The index of the reported result in the job's list of results. */
  readonly entry: number;
  /** Whether the callback is posted again after a failure. */
  isRepeated: boolean;
}

/** Results of a job that are to come: all of its outcome, or those after a review. */
export interface PendingResults {
  readonly environment: Environment;
  readonly job: JobRef;
  readonly outcome: SandboxOutcome;
  readonly part: 0 | 1;
  /** When they come, in ms since the epoch. */
  readonly endsAt: number;
}

/** Everything that a sandbox restores after a restart. */
export interface KeptState {
  /** The state of the testing kit's service, as the service's function `save` returned it. */
  readonly service: string;
  readonly lastCallbackId: number;
  readonly callbacks: readonly KeptCallback[];
  readonly reviews: readonly PendingResults[];
  /** The key of each job whose final status was fetched. */
  readonly confirmed: readonly string[];
  readonly lastRequestId: number;
  /** The position in the sequence of random numbers that `failureRate` uses. */
  readonly failures: number;
}

/** Reads a saved state; null for any other text. */
export function readKeptState(text: string): KeptState | null {
  const state = readSaved('sandbox', text) as KeptState | null;
  return state && { ...state, callbacks: state.callbacks.map(reviveTimes) };
}

/** JSON has the times of a callback as strings. */
function reviveTimes({ view, ...rest }: KeptCallback): KeptCallback {
  const { at, nextAttemptAt, attempts } = view;
  return {
    ...rest,
    view: {
      ...view,
      at: new Date(at),
      nextAttemptAt: nextAttemptAt && new Date(nextAttemptAt),
      attempts: attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at) })),
    },
  };
}
