/**
 * Those asleep on a test clock, earliest first: a binary heap, as there may be many thousands, and
 * most of them are called off before their time.
 *
 * @module
 */

/** Those asleep. */
export interface Sleepers {
  /** Lays someone down until `dueMs`; answers how to call it off. */
  add(dueMs: number, wake: () => void): () => void;
  /** When the earliest is due; null when nobody sleeps. */
  nextDueMs(): number | null;
  /** Takes everyone who is due by `nowMs`, in order of time, then of lying down. */
  takeDue(nowMs: number): readonly (() => void)[];
}

interface Sleeper {
  readonly dueMs: number;
  readonly order: number;
  readonly wake: () => void;
  /** Index in the heap; -1 outside. */
  place: number;
}

/** Creates an empty dormitory. */
export function createSleepers(): Sleepers {
  const heap: Sleeper[] = [];
  let nextOrder = 0;

  function put(sleeper: Sleeper, place: number): void {
    heap[place] = sleeper;
    sleeper.place = place;
  }

  /** Moves up while it is due before its parent. */
  function rise(sleeper: Sleeper): void {
    while (sleeper.place > 0) {
      const parent = heap[(sleeper.place - 1) >> 1];
      if (parent === undefined || isBefore(parent, sleeper)) return;
      const { place } = parent;
      put(parent, sleeper.place);
      put(sleeper, place);
    }
  }

  /** Moves down while a child is due before it. */
  function sink(sleeper: Sleeper): void {
    for (;;) {
      const left = heap[2 * sleeper.place + 1];
      const right = heap[2 * sleeper.place + 2];
      const child = left && right && isBefore(right, left) ? right : left;
      if (child === undefined || isBefore(sleeper, child)) return;
      const { place } = child;
      put(child, sleeper.place);
      put(sleeper, place);
    }
  }

  function remove(sleeper: Sleeper): void {
    const { place } = sleeper;
    if (place < 0) return;
    sleeper.place = -1;
    const last = heap.pop();
    if (last === undefined || last === sleeper) return;
    put(last, place);
    rise(last);
    sink(last);
  }

  function add(dueMs: number, wake: () => void): () => void {
    const sleeper: Sleeper = { dueMs, order: nextOrder++, wake, place: heap.length };
    heap.push(sleeper);
    rise(sleeper);
    return () => remove(sleeper);
  }

  function takeDue(nowMs: number): readonly (() => void)[] {
    const due: (() => void)[] = [];
    for (let first = heap[0]; first !== undefined && first.dueMs <= nowMs; first = heap[0]) {
      remove(first);
      due.push(first.wake);
    }
    return due;
  }

  return { add, nextDueMs: () => heap[0]?.dueMs ?? null, takeDue };
}

function isBefore(one: Sleeper, other: Sleeper): boolean {
  return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
}
