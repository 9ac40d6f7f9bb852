/**
 * Limits the work that callbacks with the same signed time can cause. A signature does not cover the body, so anyone
 * who saw a callback can forge others with the same timestamp and signature. Each forged callback would cost a request
 * for job status and an entry in the replay guard. The limits allow as many callbacks as a genuine service sends.
 *
 * @module
 */

import { assumedMaxJobs } from '../protocol/assumptions.js';
import { digestOf, type VerifiedCallback } from './read-callback.js';

/** A callback that was admitted. */
export interface Admitted {
  /**
   * Whether the caller's replay guard is used. Of each job, only the first 16 bodies with the same signed time use it,
   * because each one takes an entry in the guard, or a row in its store.
   */
  readonly usesGuard: boolean;
  /**
   * Takes the right to confirm the callback. False if another body with the same job and signed time has the right, or
   * if the last request for them was sent less than a second ago. After `leaseMs`, others may take the right.
   */
  take(leaseMs: number): boolean;
  /** Records that a request is sent now. */
  recordRequest(): void;
  /** Gives the right back. */
  release(): void;
}

/** The minimum time between two requests for the same job and signed time. */
const minRequestIntervalMs = 1_000;
/** How many jobs are remembered for all signed times together. */
const maxJobsRemembered = 10_000;
const maxBodiesInGuard = 16;

interface NamedJob {
  /** When the last request was sent, by the monotonic clock. */
  requestedAt: number;
  /** The callback that has the right to be confirmed; null if there is none. */
  holder: Admitted | null;
  /** When others may take the right, by the monotonic clock. */
  heldUntil: number;
  /** The digests of the bodies that use the guard. */
  readonly bodies: Set<string>;
}

interface SignedTime {
  readonly jobs: Map<string, NamedJob>;
  /** The digest of the only body so far; null after a second body. */
  onlyBody: string | null;
  /** Whether `onlyBody` may be confirmed once more without a delay. */
  mayRepeat: boolean;
}

/** Creates the limits that all receivers of one client share; `elapsed` is monotonic. */
export function createAdmission(elapsed: () => number) {
  // In order of use: the last entry was used most recently.
  const times = new Map<string, SignedTime>();
  let jobsRemembered = 0;

  function useTime({ timestamp, bodyDigest }: VerifiedCallback): SignedTime {
    const time = times.get(timestamp) ?? { jobs: new Map(), onlyBody: bodyDigest, mayRepeat: true };
    times.delete(timestamp);
    times.set(timestamp, time);
    if (time.onlyBody !== bodyDigest) time.onlyBody = null;
    return time;
  }

  function addJob(time: SignedTime, name: string): NamedJob {
    const requestedAt = Number.NEGATIVE_INFINITY;
    const job: NamedJob = { requestedAt, holder: null, heldUntil: 0, bodies: new Set() };
    time.jobs.set(name, job);
    jobsRemembered += 1;
    const [oldest] = times;
    if (jobsRemembered > maxJobsRemembered && oldest && oldest[1] !== time) {
      times.delete(oldest[0]);
      jobsRemembered -= oldest[1].jobs.size;
    }
    return job;
  }

  return {
    /**
     * Admits a callback, or returns null if its signed time names too many jobs. `maxJobs` is the caller's own limit.
     * Default 8, or 1,000 if the signed time is in whole seconds.
     */
    async admit(callback: VerifiedCallback, maxJobs: number | undefined): Promise<Admitted | null> {
      const { event, timestamp, bodyDigest } = callback;
      const name = await digestOf([event.userId, event.jobId]);
      const time = useTime(callback);
      const known = time.jobs.get(name);
      if (!known && time.jobs.size >= (maxJobs ?? defaultMaxJobs(timestamp))) return null;
      const job = known ?? addJob(time, name);
      if (job.bodies.size < maxBodiesInGuard) job.bodies.add(bodyDigest);
      const admitted: Admitted = {
        usesGuard: job.bodies.has(bodyDigest),
        take(leaseMs) {
          if (job.holder !== null && job.heldUntil > elapsed()) return false;
          // If a callback failed and is redelivered at once, it is confirmed without a delay. This exception is made
          // only once, and only if no other body has the same signed time.
          const isEarly = elapsed() - job.requestedAt < minRequestIntervalMs;
          if (isEarly && !(time.mayRepeat && time.onlyBody !== null)) return false;
          if (isEarly) time.mayRepeat = false;
          job.holder = admitted;
          job.heldUntil = elapsed() + leaseMs;
          return true;
        },
        recordRequest() {
          job.requestedAt = elapsed();
        },
        release() {
          // After the lease, another delivery may have the right.
          if (job.holder === admitted) job.holder = null;
        },
      };
      return admitted;
    },
  };
}

// A timestamp is not in whole seconds if its seconds have a fraction, or if it has twelve consecutive digits: only a
// Unix timestamp in milliseconds has so many.
function defaultMaxJobs(timestamp: string): number {
  return /\.\d|\d{12}/.test(timestamp) ? assumedMaxJobs.perTime : assumedMaxJobs.perSecond;
}
