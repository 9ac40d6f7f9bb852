/**
 * Page arithmetic (docs/protocol.md §2.3, §4.4): which page follows, when neither the number of the
 * first page nor the size of one is known beforehand.
 *
 * @module
 */

/** Where a page stands, as the service says. */
export interface Position {
  readonly currentPage: number;
  readonly totalPages: number;
}

/** What a client knows of the number of the first page: told, learnt, or nothing yet. */
export interface FirstPage {
  /** The number; null while it is not known. */
  current(): number | null;
  /** Learns it from the answer to a request that named no page. */
  learn(position: Position): void;
}

/** Keeps what is known of the first page's number. */
export function createFirstPage(given: 'auto' | 0 | 1): FirstPage {
  let known: number | null = given === 'auto' ? null : given;
  return {
    current: () => known,
    learn: ({ currentPage }) => {
      if (known === null && (currentPage === 0 || currentPage === 1)) known = currentPage;
    },
  };
}

/**
 * Whether a page follows. While the first page's number is not known, one more is asked for where
 * it may be 0: an empty page ends the walk.
 */
export function isFollowed({ currentPage, totalPages }: Position, firstPage: number | null): boolean {
  return firstPage === null ? currentPage < totalPages : currentPage - firstPage + 1 < totalPages;
}
