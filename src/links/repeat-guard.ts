/**
 * Guards against a service whose pages do not advance: finds the new links of a page, and reports a problem if too many
 * pages are repeated or empty.
 *
 * @module
 */

import type { Link } from './types.js';

/** A summary of the pages that a walk has seen so far. */
export interface SeenPages {
  /** How many pages there were. */
  readonly count: number;
  /** The reference ids of the last page that was not empty. */
  readonly refIds: ReadonlySet<string>;
  /** How many pages have followed the last page with new links. */
  readonly pagesWithoutNew: number;
  /** How many of these pages were not empty. All their links were repeated. */
  readonly repeats: number;
  /** The reference ids of an earlier page: the latest of the pages 1, 2, 4, 8 and so on (Brent's cycle detection). */
  readonly checkpoint: ReadonlySet<string>;
  /** How often the checkpoint page was repeated since it became the checkpoint. */
  readonly checkpointRepeats: number;
}

/** The state of a walk before its first page. */
export const noPages: SeenPages = {
  count: 0,
  refIds: new Set(),
  pagesWithoutNew: 0,
  repeats: 0,
  checkpoint: new Set(),
  checkpointRepeats: 0,
};

export interface ComparedPage {
  /** The links of the page, without the links that the previous page had. */
  readonly newLinks: readonly Link[];
  readonly seen: SeenPages;
  /** Why the pages do not seem to advance; null if they advance. */
  readonly problem: string | null;
}

/** How many consecutive pages may have no new links. */
const maxPagesWithoutNew = 10;
/** How often the checkpoint page may be repeated if it has a single link. */
const maxCheckpointRepeats = 3;

/** Compares the links of a page with the links of earlier pages. */
export function comparePage(
  links: readonly Link[],
  before: SeenPages,
  { isLast }: { readonly isLast: boolean },
): ComparedPage {
  const newLinks = links.filter(({ refId }) => !before.refIds.has(refId));
  const hasNew = newLinks.length > 0;
  const isRepeat = links.length > 0 && !hasNew;
  const isCheckpoint =
    hasNew && links.length === before.checkpoint.size && links.every(({ refId }) => before.checkpoint.has(refId));

  const count = before.count + 1;
  const refIds = links.length > 0 ? new Set(links.map(({ refId }) => refId)) : before.refIds;
  const pagesWithoutNew = hasNew ? 0 : before.pagesWithoutNew + 1;
  const repeats = hasNew ? 0 : before.repeats + (isRepeat ? 1 : 0);
  const checkpointRepeats = before.checkpointRepeats + (isCheckpoint ? 1 : 0);
  const movesCheckpoint = Number.isInteger(Math.log2(count));
  const seen = {
    count,
    refIds,
    pagesWithoutNew,
    repeats,
    checkpoint: movesCheckpoint ? refIds : before.checkpoint,
    checkpointRepeats: movesCheckpoint ? 0 : checkpointRepeats,
  };
  return { newLinks, seen, problem: findProblem() };

  function findProblem(): string | null {
    // The newest links may come first. If a whole page of links is created between two requests, the next page has the
    // same links as the page before. So one repeated page can be a coincidence. Two repeated pages without a new link
    // between them mean that the service does not advance. A repeated last page means this, too: new links would have
    // added a page after it.
    const isWhole = isRepeat && links.length >= before.refIds.size;
    if (repeats > 1 || (isWhole && isLast)) return 'must not be the same links as on the previous page';
    // If the checkpoint page has a single link, new links may move this link to a later page, so that the page looks
    // repeated. This is unlikely to happen many times.
    if (isCheckpoint && (links.length > 1 || checkpointRepeats > maxCheckpointRepeats)) {
      return 'must not be the same links as on an earlier page';
    }
    return pagesWithoutNew > maxPagesWithoutNew
      ? 'must have new links: too many consecutive pages are empty or have only repeated links'
      : null;
  }
}
