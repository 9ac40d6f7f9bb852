/**
 * The statements of the methods that callers use for jobs and links, in memory.
 *
 * @module
 */

import { kinds, states } from '../rules.js';
import type { Row } from '../sql.js';
import { isUnknown, type Memory, type MemoryRow, openRow } from './rows.js';

interface TrackedRow {
  readonly key: string;
  readonly user_id: string;
  readonly job_id: string;
  readonly link_ref_id: string | null;
  readonly context: string | null;
  readonly deadline: number | null;
}

/** Creates the statements. */
export function createJobStatements(memory: Memory) {
  const { rows, now } = memory;
  const { deadlineMs } = memory.settings;
  const heardOf = (refId: string | null) =>
    [...rows.values()].filter(
      (row) => row.link_ref_id === refId && row.kind === kinds.job && row.state === states.heard,
    );

  function follow(row: MemoryRow, context: string | null): void {
    Object.assign(row, { state: states.tracking, context, due: now(), deadline: now() + deadlineMs, step: 0 });
  }

  return {
    track(list: string, trace: string | null) {
      for (const job of JSON.parse(list) as readonly TrackedRow[]) {
        const known = rows.get(job.key);
        const isNew = known === undefined || known.state === states.heard || known.state === states.untracked;
        if (!isNew && !(known.state === states.tracking && known.told_at !== null)) continue;
        const row = openRow(memory, job.key, kinds.job);
        row.told_link_ref_id ??= row.link_ref_id;
        const deadline = job.deadline ?? now() + deadlineMs;
        Object.assign(row, job, {
          state: states.tracking,
          due: now(),
          deadline,
          is_proven: true,
          trace,
          step: 0,
          attempts: 0,
        });
        Object.assign(row, {
          told_at: null,
          late_since: null,
          last_error: null,
          failure_name: null,
          failure_code: null,
        });
        Object.assign(row, { ended_at: null, end_id: null, outcome: null });
      }
      return [];
    },

    trackLink(key: string, refId: string, context: string | null, deadline: number | null, trace: string | null) {
      const known = rows.get(key);
      if (known === undefined || known.state === states.done) {
        const link = openRow(memory, key, kinds.link);
        const until = deadline ?? now() + deadlineMs;
        Object.assign(link, { state: states.tracking, link_ref_id: refId, context, due: now(), deadline: until });
        Object.assign(link, { trace, step: 0, late_since: null, ended_at: null });
      }
      for (const row of heardOf(refId)) follow(row, rows.get(key)?.context ?? null);
      return [];
    },

    adopt(key: string) {
      const link = rows.get(key);
      if (!link) return [];
      for (const row of heardOf(link.link_ref_id)) if (!isUnknown(row)) follow(row, link.context);
      return [];
    },

    untrack(key: string) {
      const row = rows.get(key);
      if (row?.kind !== kinds.job || row.state === states.done || row.state === states.untracked) return [];
      Object.assign(row, { state: states.untracked, due: null, ended_at: now(), context: null, is_proven: true });
      return [{ key }];
    },

    get(key: string): readonly Row[] {
      const row = rows.get(key);
      return row?.kind === kinds.job && row.state !== states.untracked ? [row] : [];
    },
  };
}
