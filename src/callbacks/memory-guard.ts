/**
 * The replay guard of one process: the version of each job that was handed over last, in memory.
 *
 * @module
 */

import { assumedSettlingMs } from '../protocol/assumptions.js';
import type { WaitingClock } from '../runtime/clock.js';
import type { ReplayGuard } from './types.js';

/**
 * Creates a replay guard for one process. It remembers `maxJobs` jobs (about 4 MB for 10,000), and more only while
 * leases run. Each call looks at only a few jobs: many callbacks must not make the guard slow.
 */
export function createMemoryGuard({ elapsed }: Pick<WaitingClock, 'elapsed'>, maxJobs = 10_000): ReplayGuard {
  /**
   * The versions of jobs, the least recently used first. Leases are counted by the monotonic clock, so that setting the
   * time of day does not change them.
   */
  const jobs = new Map<string, { id: string; signedAt: number; isCommitted: boolean; leaseEndsAt: number }>();
  // One iterator for ever, because it passes only jobs that are deleted then. Each new one would pass their places again.
  const oldest = jobs.entries();

  /** Creates a function that ends the lease of a version, unless the job has another one by now. */
  function endLease(isCommitted: boolean): ReplayGuard['commit'] {
    return async (key, { id }) => {
      const job = jobs.get(key);
      if (job?.id !== id) return;
      job.isCommitted ||= isCommitted;
      job.leaseEndsAt = Number.NEGATIVE_INFINITY;
    };
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
      jobs.set(key, { id, signedAt, isCommitted: false, leaseEndsAt: now + leaseMs });
      makeRoom();
      return 'new';
    },
    commit: endLease(true),
    forget: endLease(false),
  };
}
