/**
 * The statements of the methods that callers use for jobs and links, in memory.
 *
 * @module
 */

import type { toTrackRow } from '../rows.js';
import { kinds, states, steps } from '../rules.js';
import { is, isIn, type Memory, type Which } from './rows.js';

/** Creates the statements. */
export function createJobStatements({ list, find, set, open, now, settings }: Memory) {
  const { deadlineMs, maxDelayMs } = settings;
  const isTracked: Which = (row) => is.over(row) || (is.followed(row) && row.mentioned_at === null);

  /** Follows the jobs of a link that callbacks have mentioned. */
  function followMentioned(linkKey: string, ...which: readonly Which[]) {
    return find(linkKey).flatMap(({ link_ref_id: refId, context }) => {
      const heard = list(is.job, is.heard, (row) => row.link_ref_id === refId, ...which);
      return heard.map((row) => set(row, steps.follow, { context }));
    });
  }

  return {
    track(jobs: string, trace: string | null) {
      for (const job of JSON.parse(jobs) as readonly ReturnType<typeof toTrackRow>[]) {
        for (const row of find(job.key, is.ended)) {
          const askedAt = Math.max(Number(row.ended_at), Number(row.forced_at));
          if (Math.abs(askedAt - now()) > maxDelayMs) set(row, steps.recheck);
        }
        if (find(job.key, isTracked).length > 0) continue;
        const isFollowed = find(job.key, is.followed).length > 0;
        const row = open(job.key, kinds.job);
        if (!isFollowed) row.attempts = 0;
        row.mentioned_link_ref_id ??= row.link_ref_id;
        set(row, steps.track, { ...job, trace, deadline: job.deadline ?? now() + deadlineMs });
      }
    },

    trackLink(key: string, refId: string, context: string | null, deadline: number | null, trace: string | null) {
      if (find(key, is.followed).length === 0) {
        const given = { link_ref_id: refId, context, trace, deadline: deadline ?? now() + deadlineMs };
        set(open(key, kinds.link), steps.trackLink, given);
      }
      return followMentioned(key);
    },

    adopt: (key: string) => followMentioned(key, (row) => !is.unknown(row)),

    untrack: (key: string) =>
      find(key, is.job, isIn(states.heard, states.tracking, states.handingOver, states.dead)).map((row) =>
        set(row, steps.untrack),
      ),

    get: (key: string) => find(key, is.job, ({ state }) => state !== states.untracked),
  };
}
