/**
 * The replay guard of one process: the version of each job that was handed over last, in memory.
 *
 * @module
 */

import { assumedSettlingMs } from '../protocol/assumptions.js';
import type { WaitingClock } from '../runtime/clock.js';
import type { ReplayGuard } from './types.js';

/** The version of a job. */
interface HandedOver {
  id: string;
  signedAt: number;
  isCommitted: boolean;
  /** By the monotonic clock, so that setting the time of day does not change it. */
  leaseEndsAt: number;
}

/**
 * Creates a replay guard for one process. It remembers `maxJobs` jobs (about 4 MB for 10,000), and more only while
 * leases run. Each call looks at only a few jobs: many callbacks must not make the guard slow.
 */
export function createMemoryGuard({ elapsed }: Pick<WaitingClock, 'elapsed'>, maxJobs = 10_000): ReplayGuard {
  /** The jobs by their keys, the least recently used first. */
  const jobs = new Map<string, HandedOver>();
  // One iterator for ever, because it passes only jobs that are deleted then. Each new one would pass their places again.
  const oldest = jobs.entries();

  /** Ends the lease of a version, unless the job has another one by now. */
  function endLease(key: string, id: string, isCommitted: boolean): void {
    const job = jobs.get(key);
    if (job?.id !== id) return;
    job.isCommitted ||= isCommitted;
    job.leaseEndsAt = Number.NEGATIVE_INFINITY;
  }

  /** Forgets the least recently used jobs. A job whose lease runs is in use. */
  function makeRoom(): void {
    // At most two at a time: each call adds one, so the jobs above the limit become fewer when their leases end.
    for (let looks = 0; looks < 2 && jobs.size > maxJobs; looks++) {
      const next = oldest.next();
      if (next.done) return;
      const [key, job] = next.value;
      jobs.delete(key);
      if (job.leaseEndsAt > elapsed()) jobs.set(key, job);
    }
  }

  return {
    async begin(key, { id, signedAt: signedDate }, leaseMs) {
      const now = elapsed();
      const signedAt = signedDate.getTime();
      // An unknown job is like one that has this version, and whose lease has ended.
      const job = jobs.get(key) ?? { id, signedAt, isCommitted: false, leaseEndsAt: now };
      jobs.delete(key);
      jobs.set(key, job);
      const isOwn = job.id === id;
      const isOlder = isOwn ? signedAt < job.signedAt : signedAt <= job.signedAt + assumedSettlingMs;
      if (isOwn) job.signedAt = Math.max(job.signedAt, signedAt);
      if (job.leaseEndsAt > now) return 'busy';
      if (isOwn && job.isCommitted) return 'known';
      if (isOlder) return 'older';
      job.id = id;
      job.signedAt = signedAt;
      job.isCommitted = false;
      job.leaseEndsAt = now + leaseMs;
      makeRoom();
      return 'new';
    },
    async commit(key, { id }) {
      endLease(key, id, true);
    },
    async forget(key, { id }) {
      endLease(key, id, false);
    },
  };
}
