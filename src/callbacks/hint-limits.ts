/**
 * What one signed pair is worth. A signature does not cover the body, so a caller that saw one callback can
 * post others under its pair for as long as they count as hints. Each would be asked about: these bounds
 * keep the requests, and what the replay guard has to remember, to what an honest service needs.
 *
 * @module
 */

/** A callback that would be confirmed. */
export interface Hint {
  /** The signed time, as it was signed. */
  readonly timestamp: string;
  /** The same for the same job. */
  readonly job: string;
  readonly bodyDigest: string;
  /** The same for handlers that share a guard: what one of them handled, the others did. */
  readonly guard: object;
  /** How many jobs the signed time may be about. */
  readonly maxJobs: number;
  /** How long the hint may be in hand, in ms. */
  readonly leaseMs: number;
}

/** The permission to ask job status about a hint, and to handle it. */
export interface Permit {
  /** Notes that a request is sent now. */
  noteRequest(): void;
  /** Whether the same was handed over before, for another body under the same pair. */
  wasHandedOver(what: string): boolean;
  /** Notes that the hint was handled, and what was handed over. */
  noteHandled(what: string): void;
  /** Gives the permission back: no request was sent. */
  giveBack(): void;
  /** Ends it, however the hint was handled. */
  end(): void;
}

/** The bounds that the handlers of one client share. */
export interface HintLimits {
  /** Permits to ask about a hint; null where its pair asks for too much. */
  permit(hint: Hint): Permit | null;
  /** Whether a hint was handled before. */
  wasHandled(hint: Hint): boolean;
  /** Whether a hint is in hand. */
  isInHand(hint: Hint): boolean;
  /** Whether the guard is asked about a hint: it is asked about the first few of each job. */
  isForGuard(hint: Hint): boolean;
}

/** Each job is asked about once in so many ms under one signed time. */
const betweenRequestsMs = 1_000;
/** How many jobs are remembered for all pairs together. */
const maxJobsRemembered = 10_000;
/** How many bodies are remembered of each job, and as many of the events that were handed over. */
const maxRememberedOfJob = 100;
/** About how many bodies of each job a guard is asked: each takes a place in it, or a row in a store. */
const maxBodiesInGuard = 16;

interface HintedJob {
  /** When a request was sent last, by the monotonic clock. */
  askedAt: number;
  /** The permit that is in use, and the body it is for. */
  holder: Permit | null;
  heldBody: string;
  heldUntil: number;
  /** What is remembered of it for each guard. */
  readonly memories: WeakMap<object, Memory>;
}

/** What the handlers that share a guard did about one job. */
interface Memory {
  readonly bodiesInGuard: Set<string>;
  readonly handledBodies: Set<string>;
  readonly handedOver: Set<string>;
}

interface SignedTime {
  readonly jobs: Map<string, HintedJob>;
  /** The one body that came so far; null after a second one. */
  onlyBody: string | null;
  /** Whether that body may still be asked about again at once. */
  mayRepeat: boolean;
}

/** Creates the bounds, with nothing known. `elapsed` is monotonic. */
export function createHintLimits(elapsed: () => number): HintLimits {
  // The time that was used last stands last.
  const times = new Map<string, SignedTime>();
  let jobsRemembered = 0;

  function find({ timestamp, job }: Hint): HintedJob | undefined {
    return times.get(timestamp)?.jobs.get(job);
  }

  function useTime({ timestamp, bodyDigest }: Hint): SignedTime {
    const time = times.get(timestamp) ?? { jobs: new Map(), onlyBody: bodyDigest, mayRepeat: true };
    times.delete(timestamp);
    times.set(timestamp, time);
    if (time.onlyBody !== bodyDigest) time.onlyBody = null;
    return time;
  }

  function addJob(time: SignedTime, name: string): HintedJob {
    const job: HintedJob = {
      askedAt: Number.NEGATIVE_INFINITY,
      holder: null,
      // Stryker disable next-line StringLiteral: it is read only where there is a holder
      heldBody: '',
      heldUntil: 0,
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

  function recall(hint: Hint): Memory | undefined {
    return find(hint)?.memories.get(hint.guard);
  }

  return {
    permit(hint) {
      const time = useTime(hint);
      const known = time.jobs.get(hint.job);
      if (!known && time.jobs.size >= hint.maxJobs) return null;
      const job = known ?? addJob(time, hint.job);
      if (job.holder !== null && job.heldUntil > elapsed()) return null;
      // A callback that failed and is delivered again at once is asked about at once: one time, and under
      // a pair that never came with another body.
      const isEarly = elapsed() - job.askedAt < betweenRequestsMs;
      if (isEarly && !(time.mayRepeat && time.onlyBody !== null)) return null;
      if (isEarly) time.mayRepeat = false;
      job.heldBody = hint.bodyDigest;
      job.heldUntil = elapsed() + hint.leaseMs;
      const memory = memoryOf(job, hint.guard);
      const permit: Permit = {
        noteRequest() {
          job.askedAt = elapsed();
        },
        wasHandedOver: (what) => memory.handedOver.has(what),
        noteHandled(what) {
          addTo(memory.handledBodies, hint.bodyDigest);
          addTo(memory.handedOver, what);
        },
        giveBack() {
          if (isEarly) time.mayRepeat = true;
          permit.end();
        },
        end() {
          // Once the lease has ended the job may be in other hands.
          if (job.holder === permit) job.holder = null;
        },
      };
      job.holder = permit;
      return permit;
    },
    wasHandled: (hint) => recall(hint)?.handledBodies.has(hint.bodyDigest) ?? false,
    isInHand(hint) {
      const job = find(hint);
      return job !== undefined && job.holder !== null && job.heldBody === hint.bodyDigest;
    },
    isForGuard(hint) {
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
  const memory = { bodiesInGuard: new Set<string>(), handledBodies: new Set<string>(), handedOver: new Set<string>() };
  memories.set(guard, memory);
  return memory;
}

function addTo(known: Set<string>, value: string): void {
  if (known.size < maxRememberedOfJob) known.add(value);
}
