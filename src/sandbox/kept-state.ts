/**
 * The state of a sandbox, in the form in which it is saved in the folder.
 *
 * @module
 */

import * as z from 'zod/mini';
import { type Environment, environments } from '../options.js';
import { detachFromPrototype } from '../runtime/untrusted-objects.js';
import { isTime } from '../testing/saved-state.js';
import { check, inputObject } from '../validation/check.js';
import { anyString, choice, flag } from '../validation/input.js';
import { type KeptCallback, type Variant, variants } from './callbacks.js';
import { outcomeNames } from './outcomes.js';
import type { SandboxOutcome } from './types.js';

/** A review that has not ended. */
export interface PendingReview {
  readonly environment: Environment;
  readonly job: { readonly userId: string; readonly jobId: string };
  readonly outcome: SandboxOutcome;
  /** When the review ends, in ms since the epoch. */
  readonly endsAt: number;
}

/** Everything that a sandbox restores after a restart. */
export interface KeptState {
  /** The state of the testing kit's service, as the service's function `save` returned it. */
  readonly service: string;
  readonly lastCallbackId: number;
  readonly callbacks: readonly KeptCallback[];
  readonly reviews: readonly PendingReview[];
  /** The key of each link, and the time when the link's page was first opened, in ms since the epoch. */
  readonly opened: readonly (readonly [string, number])[];
  /** The key of each job, and the time when the job's final status was first fetched, in ms since the epoch. */
  readonly confirmed: readonly (readonly [string, number])[];
  readonly lastRequestId?: number | undefined;
  /** The position in the sequence of random numbers that `failureRate` uses. */
  readonly failures?: number | undefined;
}

const number = z.number('must be a number');
const time = z.pipe(
  z.custom<string>((value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)), 'must be a time'),
  z.transform((value: string) => new Date(value)),
);
const environment = choice<Environment>(environments);
const job = inputObject({ userId: anyString, jobId: anyString });
const sightings = z.array(z.custom<readonly [string, number]>(isSighting, 'must be a pair: a key, and a time in ms'));

const state = inputObject({
  version: choice([1], 'must be 1'),
  service: anyString,
  lastCallbackId: number,
  callbacks: z.array(
    inputObject({
      view: inputObject({
        id: number,
        at: time,
        environment,
        job,
        linkRefId: z.nullable(anyString),
        resultCode: anyString,
        url: anyString,
        variant: z.nullable(choice<Variant>(variants)),
        copyOf: z.nullable(number),
        nextAttemptAt: z.nullable(time),
        state: choice(['waiting', 'delivered', 'gave_up', 'not_allowed']),
        attempts: z.array(
          inputObject({ at: time, status: z.nullable(number), problem: z.nullable(anyString), durationMs: number }),
        ),
      }),
      entry: number,
      isRepeated: flag,
    }),
  ),
  reviews: z.array(inputObject({ environment, job, outcome: choice(outcomeNames), endsAt: number })),
  opened: sightings,
  confirmed: sightings,
  lastRequestId: z.optional(number),
  failures: z.optional(number),
});

function isSighting(value: unknown): value is readonly [string, number] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && isTime(value[1]);
}

/** Writes a state as JSON. */
export function writeKept(kept: KeptState): string {
  return JSON.stringify({ version: 1, ...kept });
}

/** Reads a state; null if the text does not have the form that {@link writeKept} writes. */
export function readKeptState(text: string): KeptState | null {
  try {
    return (check(state, detachFromPrototype(JSON.parse(text))).data as KeptState | undefined) ?? null;
  } catch {
    return null;
  }
}
