/**
 * A queue by time, whose first entry is the one that is due first: a binary heap, as there may be a million
 * entries, and most timers are cancelled before their time.
 *
 * @module
 */

/** An entry of a queue. */
export interface DueEntry<T> {
  readonly value: T;
  readonly dueAt: number;
}

/** Values by the time at which they are due; those of one time in the order in which they were added. */
export interface DueQueue<T> {
  add(value: T, dueAt: number): DueEntry<T>;
  /** When the first is due; null where there is none. */
  nextDueAt(): number | null;
  /** Takes the first; undefined where there is none. */
  take(): T | undefined;
  /** Removes an entry, unless it was taken or removed already. */
  remove(entry: DueEntry<T>): void;
}

interface Entry<T> extends DueEntry<T> {
  /** How many were added before it. */
  readonly order: number;
  /** Its index in the heap; -1 outside. */
  place: number;
}

/** Creates an empty queue. */
export function createDueQueue<T>(): DueQueue<T> {
  // The children of the entry at n are at 2n + 1 and 2n + 2, and neither is due before it.
  const heap: Entry<T>[] = [];
  let nextOrder = 0;

  return {
    add(value, dueAt) {
      const entry: Entry<T> = { value, dueAt, order: nextOrder++, place: heap.length };
      heap.push(entry);
      rise(entry);
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
    const { place } = entry;
    if (heap[place] !== entry) return;
    entry.place = -1;
    const last = heap.pop();
    if (last === undefined || last === entry) return;
    put(last, place);
    rise(last);
    sink(last);
  }

  function put(entry: Entry<T>, place: number): void {
    heap[place] = entry;
    entry.place = place;
  }

  /** Moves an entry up while it is due before its parent. */
  function rise(entry: Entry<T>): void {
    while (entry.place > 0) {
      const parent = heap[(entry.place - 1) >> 1];
      if (parent === undefined || isBefore(parent, entry)) return;
      swap(parent, entry);
    }
  }

  /** Moves an entry down while a child is due before it. */
  function sink(entry: Entry<T>): void {
    for (;;) {
      const left = heap[2 * entry.place + 1];
      const right = heap[2 * entry.place + 2];
      const child = left && right && isBefore(right, left) ? right : left;
      if (child === undefined || isBefore(entry, child)) return;
      swap(entry, child);
    }
  }

  function swap(upper: Entry<T>, lower: Entry<T>): void {
    const { place } = upper;
    put(upper, lower.place);
    put(lower, place);
  }
}

function isBefore(one: Entry<unknown>, other: Entry<unknown>): boolean {
  return one.dueAt < other.dueAt || (one.dueAt === other.dueAt && one.order < other.order);
}
