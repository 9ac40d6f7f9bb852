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
import { variants } from './faults.js';
import { outcomeNames } from './outcomes.js';

const number = z.number('must be a number');
const time = z.pipe(
  z.custom<string>((value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)), 'must be a time'),
  z.transform((value: string) => new Date(value)),
);
const environment = choice<Environment>(environments);
const job = inputObject({ userId: anyString, jobId: anyString });
const sightings = z.array(z.custom<[string, number]>(isSighting, 'must be a pair: a key, and a time in ms'));

const callback = inputObject({
  view: inputObject({
    id: number,
    at: time,
    environment,
    job,
    linkRefId: z.nullable(anyString),
    resultCode: anyString,
    url: anyString,
    variant: z.nullable(choice(variants)),
    copyOf: z.nullable(number),
    nextAttemptAt: z.nullable(time),
    state: choice(['waiting', 'delivered', 'gave_up', 'not_allowed']),
    attempts: z.array(
      inputObject({ at: time, status: z.nullable(number), problem: z.nullable(anyString), durationMs: number }),
    ),
  }),
  /** The index of the reported result in the job's list of results. */
  entry: number,
  /** Whether the callback is posted again after a failure. */
  isRepeated: flag,
});

/** `endsAt` is when the review ends, in ms since the epoch. */
const review = inputObject({ environment, job, outcome: choice(outcomeNames), endsAt: number });

const state = inputObject({
  version: choice([1], 'must be 1'),
  /** The state of the testing kit's service, as the service's function `save` returned it. */
  service: anyString,
  lastCallbackId: number,
  callbacks: z.array(callback),
  reviews: z.array(review),
  /** The key of each link, and the time when the link's page was first opened, in ms since the epoch. */
  opened: sightings,
  /** The key of each job, and the time when the job's final status was first fetched, in ms since the epoch. */
  confirmed: sightings,
  lastRequestId: z.optional(number),
  /** The position in the sequence of random numbers that `failureRate` uses. */
  failures: z.optional(number),
});

/** A callback, with the data that is needed to post it again, even after a restart. */
export type KeptCallback = z.output<typeof callback>;

/** A review that has not ended. */
export type PendingReview = z.output<typeof review>;

/** Everything that a sandbox restores after a restart. */
export type KeptState = z.output<typeof state>;

function isSighting(value: unknown): value is [string, number] {
  return Array.isArray(value) && value.length === 2 && typeof value[0] === 'string' && isTime(value[1]);
}

/** Reads a state that was written as JSON; null if the text does not have this form. */
export function readKeptState(text: string): KeptState | null {
  try {
    return check(state, detachFromPrototype(JSON.parse(text))).data ?? null;
  } catch {
    return null;
  }
}
