/**
 * Guards against a service whose pages do not advance: finds the new links of a page, and reports a problem if too many
 * pages are repeated or empty.
 *
 * @module
 */

import type { Link } from './types.js';

/** A summary of the pages that a walk has seen so far. */
export type SeenPages = Readonly<typeof noPages>;

/** The summary before the first page. */
export const noPages = {
  /** How many pages there were. */
  count: 0,
  /** The reference ids of the last page that was not empty. */
  refIds: new Set<string>(),
  /** How many pages have followed the last page with new links. */
  pagesWithoutNew: 0,
  /** How many of these pages were not empty. All their links were repeated. */
  repeats: 0,
  /** The reference ids of an earlier page: the latest of the pages 1, 2, 4, 8 and so on (Brent's cycle detection). */
  checkpoint: new Set<string>(),
  /** How often the checkpoint page was repeated since it became the checkpoint. */
  checkpointRepeats: 0,
};

/** How many consecutive pages may have no new links. */
const maxPagesWithoutNew = 10;
/** How often the checkpoint page may be repeated if it has a single link. */
const maxCheckpointRepeats = 3;

/**
 * Compares the links of a page with the links of earlier pages. `newLinks` are those that the previous page did not
 * have. `problem` says why the pages do not seem to advance; null if they advance.
 */
export function comparePage(
  links: readonly Link[],
  before: SeenPages,
  { isLast }: { readonly isLast: boolean },
): { readonly newLinks: readonly Link[]; readonly seen: SeenPages; readonly problem: string | null } {
  const newLinks = links.filter(({ refId }) => !before.refIds.has(refId));
  const hasNew = newLinks.length > 0;
  const isRepeat = links.length > 0 && !hasNew;
  const isCheckpoint =
    hasNew && links.length === before.checkpoint.size && links.every(({ refId }) => before.checkpoint.has(refId));

  const count = before.count + 1;
  const refIds = links.length > 0 ? new Set(links.map(({ refId }) => refId)) : before.refIds;
  const repeats = hasNew ? 0 : before.repeats + Number(isRepeat);
  const pagesWithoutNew = hasNew ? 0 : before.pagesWithoutNew + 1;
  const checkpointRepeats = before.checkpointRepeats + Number(isCheckpoint);
  const isNewCheckpoint = Number.isInteger(Math.log2(count));
  const seen = {
    count,
    refIds,
    pagesWithoutNew,
    repeats,
    ...(isNewCheckpoint
      ? { checkpoint: refIds, checkpointRepeats: 0 }
      : { checkpoint: before.checkpoint, checkpointRepeats }),
  };
  // One repeated page can be a coincidence, because a page of links created between two requests moves all others. Two
  // are none, and neither is a repeated last page, because new links would have added a page after it.
  const isStuck = repeats > 1 || (isRepeat && isLast && links.length >= before.refIds.size);
  // New links may move a single link to a later page, so that its page looks repeated, but hardly many times.
  const isCycle = isCheckpoint && (links.length > 1 || checkpointRepeats > maxCheckpointRepeats);
  if (isStuck) return { newLinks, seen, problem: 'must not be the same links as on the previous page' };
  if (isCycle) return { newLinks, seen, problem: 'must not be the same links as on an earlier page' };
  return { newLinks, seen, problem: pagesWithoutNew > maxPagesWithoutNew ? mustHaveNew : null };
}

const mustHaveNew = 'must have new links: too many consecutive pages are empty or have only repeated links';
