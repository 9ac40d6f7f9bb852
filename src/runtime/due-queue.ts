/**
 * A priority queue by due time. It is a binary heap, because there may be a million entries, and most are removed
 * before they are due.
 *
 * @module
 */

/** An entry of a queue. */
export interface DueEntry<T> {
  readonly value: T;
  readonly dueAt: number;
}

/** Values in order of due time. Values with the same due time are in the order in which they were added. */
export interface DueQueue<T> {
  add(value: T, dueAt: number): DueEntry<T>;
  /** When the first value is due; null if the queue is empty. */
  nextDueAt(): number | null;
  /** Removes and returns the first value; undefined if the queue is empty. */
  take(): T | undefined;
  /** Removes an entry, unless it has already been taken or removed. */
  remove(entry: DueEntry<T>): void;
}

interface Entry<T> extends DueEntry<T> {
  /** How many entries were added before this one. */
  readonly order: number;
  /** Its index in the heap, while it is in there. */
  index: number;
}

/** Creates an empty queue. */
export function createDueQueue<T>(): DueQueue<T> {
  // The entry at n has its children at 2n + 1 and 2n + 2. No child is due before its parent.
  const heap: Entry<T>[] = [];
  let nextOrder = 0;

  return {
    add(value, dueAt) {
      const entry: Entry<T> = { value, dueAt, order: nextOrder++, index: heap.length };
      heap.push(entry);
      siftUp(entry);
      return entry;
    },
    nextDueAt: () => heap[0]?.dueAt ?? null,
    take() {
      const first = heap[0];
      if (first) remove(first);
      return first?.value;
    },
    remove: (entry) => remove(entry as Entry<T>),
  };

  function remove(entry: Entry<T>): void {
    const { index } = entry;
    if (heap[index] !== entry) return;
    const last = heap.pop() as Entry<T>;
    if (last === entry) return;
    put(last, index);
    siftUp(last);
    siftDown(last);
  }

  function put(entry: Entry<T>, index: number): void {
    heap[index] = entry;
    entry.index = index;
  }

  /** Moves an entry up while it is due before its parent. */
  function siftUp(entry: Entry<T>): void {
    while (entry.index > 0) {
      const parent = heap[(entry.index - 1) >> 1] as Entry<T>;
      if (isBefore(parent, entry)) return;
      swap(parent, entry);
    }
  }

  /** Moves an entry down while a child is due before it. */
  function siftDown(entry: Entry<T>): void {
    for (;;) {
      const left = heap[2 * entry.index + 1];
      const right = heap[2 * entry.index + 2];
      const child = left && right && isBefore(right, left) ? right : left;
      if (child === undefined || isBefore(entry, child)) return;
      swap(entry, child);
    }
  }

  function swap(upper: Entry<T>, lower: Entry<T>): void {
    const { index } = upper;
    put(upper, lower.index);
    put(lower, index);
  }
}

function isBefore(one: Entry<unknown>, other: Entry<unknown>): boolean {
  return one.dueAt < other.dueAt || (one.dueAt === other.dueAt && one.order < other.order);
}
