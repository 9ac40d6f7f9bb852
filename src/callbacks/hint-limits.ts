/**
 * Limits the work that callbacks with the same signed time can cause. A signature does not cover the body, so anyone
 * who saw a callback can forge others with the same timestamp and signature. Each forged callback would cost a request
 * for job status and an entry in the replay guard. The limits allow as many callbacks as a genuine service sends.
 *
 * @module
 */

import { assumedMaxJobs } from '../protocol/assumptions.js';
import { digestOf } from './digest.js';
import type { VerifiedCallback } from './read-callback.js';

/** The job that a callback names, and the signed time of the callback. */
export interface NamedJob {
  /** The signed timestamp, unchanged. */
  readonly timestamp: string;
  /** A digest of the job's ids. */
  readonly job: string;
  readonly bodyDigest: string;
  /** How many different jobs may be named by callbacks with this timestamp. */
  readonly maxJobs: number;
}

/** A callback to confirm. */
export interface Hint extends NamedJob {
  /** The replay guard. Handlers with the same guard share the memory of handled callbacks. */
  readonly guard: object;
  /** How long the handling of the hint may take, in ms. */
  readonly leaseMs: number;
}

/** The permission to fetch job status for a hint, and to handle it. */
export interface Permit {
  /** Records that a request is sent now. */
  recordRequest(): void;
  /**
   * Whether `onEvent` already got this event because of an earlier callback with the same signed time and another body.
   */
  wasEmitted(event: string): boolean;
  /** Records that the hint was handled, and which event `onEvent` got. */
  recordHandled(event: string): void;
  /** Cancels the permission: no request was sent. */
  cancel(): void;
  /** Ends the permission, whether handling succeeded or failed. */
  end(): void;
}

/** The limits that the handlers of one client share. */
export interface HintLimits {
  /** Says whether a callback may name its job: the job is known, or its signed time may name another job. */
  admits(named: NamedJob): boolean;
  /** Gives the permission to confirm a hint; null if a limit is exceeded. */
  permit(hint: Hint): Permit | null;
  /** Whether a hint was handled before. */
  wasHandled(hint: Hint): boolean;
  /** Whether a hint is being handled. */
  isBusy(hint: Hint): boolean;
  /** Whether the guard is used for a hint. For each job, only the first few different bodies use the guard. */
  usesGuard(hint: Hint): boolean;
}

/** The minimum time between two requests for the same job and signed time. */
const minRequestIntervalMs = 1_000;
/** How many jobs are remembered for all signed times together. */
const maxJobsRemembered = 10_000;
/** How many bodies, and how many events, are remembered for each job. */
const maxRememberedOfJob = 100;
/**
 * The replay guard remembers at most this many different bodies of each job. Each body takes an entry in the guard, or
 * a row in its store.
 */
const maxBodiesInGuard = 16;

interface HintedJob {
  /** When the last request was sent, by the monotonic clock. */
  requestedAt: number;
  /** The permit in use; null if there is none. `busyBody` and `busyUntil` belong to it. */
  holder: Permit | null;
  busyBody: string;
  busyUntil: number;
  /** The data that is remembered for each guard. */
  readonly memories: WeakMap<object, Memory>;
}

/** The data about one job, shared by the handlers with the same guard. */
interface Memory {
  readonly bodiesInGuard: Set<string>;
  readonly handledBodies: Set<string>;
  readonly emitted: Set<string>;
}

interface SignedTime {
  readonly jobs: Map<string, HintedJob>;
  /** The digest of the only body so far; null after a second body. */
  onlyBody: string | null;
  /** Whether `onlyBody` may be confirmed once more without a delay. */
  mayRepeat: boolean;
}

/** Reads the job that a callback names. `maxJobs` is the caller's own limit of jobs for each signed time. */
export async function namedJobOf(
  { event, timestamp, bodyDigest }: VerifiedCallback,
  maxJobs: number | undefined,
): Promise<NamedJob> {
  const { perTime, perSecond } = assumedMaxJobs;
  return {
    timestamp,
    job: await digestOf([event.userId, event.jobId]),
    bodyDigest,
    maxJobs: maxJobs ?? (isInSeconds(timestamp) ? perSecond : perTime),
  };
}

// A timestamp is not in whole seconds if its seconds have a fraction, or if it has twelve consecutive digits: only a
// Unix timestamp in milliseconds has so many.
function isInSeconds(timestamp: string): boolean {
  return !/\.\d|\d{12}/.test(timestamp);
}

/** Creates the limits; `elapsed` is monotonic. */
export function createHintLimits(elapsed: () => number): HintLimits {
  // In order of use: the last entry was used most recently.
  const times = new Map<string, SignedTime>();
  let jobsRemembered = 0;

  function find({ timestamp, job }: NamedJob): HintedJob | undefined {
    return times.get(timestamp)?.jobs.get(job);
  }

  function useTime({ timestamp, bodyDigest }: NamedJob): SignedTime {
    const time = times.get(timestamp) ?? { jobs: new Map(), onlyBody: bodyDigest, mayRepeat: true };
    times.delete(timestamp);
    times.set(timestamp, time);
    if (time.onlyBody !== bodyDigest) time.onlyBody = null;
    return time;
  }

  function addJob(time: SignedTime, name: string): HintedJob {
    const job: HintedJob = {
      requestedAt: Number.NEGATIVE_INFINITY,
      holder: null,
      // Stryker disable next-line StringLiteral: it is read only if there is a holder
      busyBody: '',
      busyUntil: 0,
      memories: new WeakMap(),
    };
    time.jobs.set(name, job);
    jobsRemembered += 1;
    const [oldest] = times;
    if (jobsRemembered > maxJobsRemembered && oldest && oldest[1] !== time) {
      times.delete(oldest[0]);
      jobsRemembered -= oldest[1].jobs.size;
    }
    return job;
  }

  /** Returns the job, which is added if it is new. Returns null if the signed time has enough jobs. */
  function admit(time: SignedTime, { job, maxJobs }: NamedJob): HintedJob | null {
    const known = time.jobs.get(job);
    if (!known && time.jobs.size >= maxJobs) return null;
    return known ?? addJob(time, job);
  }

  function findMemory(hint: Hint): Memory | undefined {
    return find(hint)?.memories.get(hint.guard);
  }

  return {
    admits: (named) => admit(useTime(named), named) !== null,
    permit(hint) {
      const time = useTime(hint);
      const job = admit(time, hint);
      if (job === null) return null;
      if (job.holder !== null && job.busyUntil > elapsed()) return null;
      // If a callback failed and is redelivered at once, it is confirmed without a delay. This exception is made only
      // once, and only if no other body has the same signed time.
      const isEarly = elapsed() - job.requestedAt < minRequestIntervalMs;
      if (isEarly && !(time.mayRepeat && time.onlyBody !== null)) return null;
      if (isEarly) time.mayRepeat = false;
      job.busyBody = hint.bodyDigest;
      job.busyUntil = elapsed() + hint.leaseMs;
      const memory = memoryOf(job, hint.guard);
      const permit: Permit = {
        recordRequest() {
          job.requestedAt = elapsed();
        },
        wasEmitted: (event) => memory.emitted.has(event),
        recordHandled(event) {
          addTo(memory.handledBodies, hint.bodyDigest);
          addTo(memory.emitted, event);
        },
        cancel() {
          if (isEarly) time.mayRepeat = true;
          permit.end();
        },
        end() {
          // If the lease has ended, another delivery may already have a permit for the job.
          if (job.holder === permit) job.holder = null;
        },
      };
      job.holder = permit;
      return permit;
    },
    wasHandled: (hint) => findMemory(hint)?.handledBodies.has(hint.bodyDigest) ?? false,
    isBusy(hint) {
      const job = find(hint);
      return job !== undefined && job.holder !== null && job.busyBody === hint.bodyDigest;
    },
    usesGuard(hint) {
      const job = find(hint);
      if (!job) return false;
      const { bodiesInGuard } = memoryOf(job, hint.guard);
      if (bodiesInGuard.size < maxBodiesInGuard) bodiesInGuard.add(hint.bodyDigest);
      return bodiesInGuard.has(hint.bodyDigest);
    },
  };
}

function memoryOf({ memories }: HintedJob, guard: object): Memory {
  const known = memories.get(guard);
  if (known) return known;
  const memory = { bodiesInGuard: new Set<string>(), handledBodies: new Set<string>(), emitted: new Set<string>() };
  memories.set(guard, memory);
  return memory;
}

function addTo(known: Set<string>, value: string): void {
  if (known.size < maxRememberedOfJob) known.add(value);
}
