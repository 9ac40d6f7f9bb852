/**
 * The statements of the methods that callers use for jobs and links, in memory.
 *
 * @module
 */

import { kinds, states, steps } from '../rules.js';
import type { Row } from '../sql.js';
import { isUnknown, type Memory, type MemoryRow } from './rows.js';

interface TrackedRow extends Pick<MemoryRow, 'key' | 'user_id' | 'job_id' | 'link_ref_id' | 'context'> {
  readonly deadline: number | null;
}

/** Creates the statements. */
export function createJobStatements({ rows, list, set, open, now, settings }: Memory) {
  const { deadlineMs } = settings;

  /** Follows the jobs of a link that callbacks have mentioned. */
  function followHeard(link: MemoryRow | undefined, which: (row: MemoryRow) => boolean): readonly Row[] {
    if (!link) return [];
    const isHeard = (row: MemoryRow) => row.kind === kinds.job && row.state === states.heard && which(row);
    const heard = list((row) => row.link_ref_id === link.link_ref_id && isHeard(row));
    return heard.map((row) => set(row, steps.follow, { context: link.context }));
  }

  return {
    track(jobs: string, trace: string | null): readonly Row[] {
      for (const job of JSON.parse(jobs) as readonly TrackedRow[]) {
        const { state = states.heard, told_at = null } = rows.get(job.key) ?? {};
        const isTold = state === states.tracking && told_at !== null;
        if (state !== states.heard && state !== states.untracked && !isTold) continue;
        const row = open(job.key, kinds.job);
        row.told_link_ref_id ??= row.link_ref_id;
        set(row, steps.track, { ...job, trace, deadline: job.deadline ?? now() + deadlineMs });
      }
      return [];
    },

    trackLink(key: string, refId: string, context: string | null, deadline: number | null, trace: string | null) {
      const known = rows.get(key);
      if (known === undefined || known.state === states.done) {
        const given = { link_ref_id: refId, context, trace, deadline: deadline ?? now() + deadlineMs };
        set(open(key, kinds.link), steps.trackLink, given);
      }
      return followHeard(rows.get(key), () => true);
    },

    adopt: (key: string) => followHeard(rows.get(key), (row) => !isUnknown(row)),

    untrack(key: string): readonly Row[] {
      const row = rows.get(key);
      if (row?.kind !== kinds.job || row.state === states.done || row.state === states.untracked) return [];
      return [set(row, steps.untrack)];
    },

    get(key: string): readonly Row[] {
      const row = rows.get(key);
      return row?.kind === kinds.job && row.state !== states.untracked ? [row] : [];
    },
  };
}
