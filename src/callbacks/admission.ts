/**
 * Limits how many jobs one signed time may have in hand at once. The signature of a callback does not cover its body, so
 * anyone who has seen one can post its signed time with other jobs.
 *
 * @module
 */

import { assumedMaxJobs } from '../protocol/assumptions.js';
import type { SignedHint } from './read-hint.js';

/** Creates the limit that all handlers of one client share. Nothing is remembered after a response. */
export function createAdmission() {
  /** By signed time and the job's digest: how many deliveries are in hand. */
  const times = new Map<number, Map<string, number>>();
  /**
   * Admits a delivery about `job`, and returns the function to call when its response is sent. Null if its signed time has
   * too many other jobs in hand.
   */
  return ({ hint, timestamp }: SignedHint, job: string, maxJobs = defaultMaxJobs(timestamp)): (() => void) | null => {
    const time = hint.signedAt.getTime();
    const jobs = times.get(time) ?? new Map<string, number>();
    const inHand = jobs.get(job) ?? 0;
    if (inHand === 0 && jobs.size >= maxJobs) return null;
    times.set(time, jobs.set(job, inHand + 1));
    return () => {
      const left = (jobs.get(job) ?? 0) - 1;
      if (left > 0) jobs.set(job, left);
      else jobs.delete(job);
      if (jobs.size === 0) times.delete(time);
    };
  };
}

// A timestamp is not in whole seconds if its seconds have a fraction, or if it has twelve consecutive digits: only a
// Unix timestamp in milliseconds has so many.
function defaultMaxJobs(timestamp: string): number {
  return /\.\d|\d{12}/.test(timestamp) ? assumedMaxJobs.perTime : assumedMaxJobs.perSecond;
}
