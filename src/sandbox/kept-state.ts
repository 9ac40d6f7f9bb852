/**
 * The state of a sandbox, in the form in which it is saved in the folder.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { Environment } from '../options.js';
import { type NullsOf, readSaved } from '../testing/saved-text.js';
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
  return state && { ...state, callbacks: state.callbacks.map(revive) };
}

// What a saved record of an older version does not have.
const noView = { linkRefId: null, variant: null, copyOf: null, nextAttemptAt: null } satisfies NullsOf<SandboxCallback>;
const noAttempt = { status: null, problem: null } satisfies NullsOf<Attempt>;

/** JSON has the times of a callback as strings. */
function revive({ view, ...rest }: KeptCallback): KeptCallback {
  return {
    ...rest,
    view: {
      ...noView,
      ...view,
      at: new Date(view.at),
      ...(view.nextAttemptAt && { nextAttemptAt: new Date(view.nextAttemptAt) }),
      attempts: view.attempts.map((attempt) => ({ ...noAttempt, ...attempt, at: new Date(attempt.at) })),
    },
  };
}
