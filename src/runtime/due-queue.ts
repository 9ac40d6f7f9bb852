/**
 * A priority queue by due time. It is a binary heap: even with a million entries, an entry is added or removed in a few
 * steps.
 *
 * @module
 */

/**
 * An entry of a queue. The entry stores its own place in the queue, so that the queue needs no extra record for each
 * entry.
 */
export interface Due {
  /** When the entry is due. This time must not change while the entry is queued. */
  dueAt: number;
  /** Set by the queue: how many entries were added before this one. */
  order: number;
  /** Set by the queue: the index in the heap. -1 before the entry is added. */
  index: number;
}

/** Creates a queue. Entries with the same due time are in the order in which they were added. */
export function createDueQueue<Entry extends Due>() {
  // The entry at index n has its children at 2n + 1 and 2n + 2. No child is due before its parent.
  const heap: Entry[] = [];
  let nextOrder = 0;

  return {
    add(entry: Entry): void {
      entry.order = nextOrder++;
      entry.index = heap.length;
      heap.push(entry);
      siftUp(entry);
    },
    has,
    /** When the first entry is due; null if the queue is empty. */
    nextDueAt: () => heap[0]?.dueAt ?? null,
    /** Removes and returns the first entry; undefined if the queue is empty. */
    take(): Entry | undefined {
      const first = heap[0];
      if (first) remove(first);
      return first;
    },
    remove,
  };

  function has(entry: Entry): boolean {
    return heap[entry.index] === entry;
  }

  /** Removes an entry, unless it has already been taken or removed. */
  function remove(entry: Entry): void {
    if (!has(entry)) return;
    const { index } = entry;
    const last = heap.pop() as Entry;
    if (last === entry) return;
    put(last, index);
    siftUp(last);
    siftDown(last);
  }

  function put(entry: Entry, index: number): void {
    heap[index] = entry;
    entry.index = index;
  }

  /** Moves an entry up while it is due before its parent. */
  function siftUp(entry: Entry): void {
    while (entry.index > 0) {
      const parent = heap[(entry.index - 1) >> 1] as Entry;
      if (isBefore(parent, entry)) return;
      swap(parent, entry);
    }
  }

  /** Moves an entry down while a child is due before it. */
  function siftDown(entry: Entry): void {
    for (;;) {
      const left = heap[2 * entry.index + 1];
      const right = heap[2 * entry.index + 2];
      const child = left && right && isBefore(right, left) ? right : left;
      if (child === undefined || isBefore(entry, child)) return;
      swap(entry, child);
    }
  }

  function swap(upper: Entry, lower: Entry): void {
    const { index } = upper;
    put(upper, lower.index);
    put(lower, index);
  }
}

function isBefore(one: Due, other: Due): boolean {
  return one.dueAt < other.dueAt || (one.dueAt === other.dueAt && one.order < other.order);
}
