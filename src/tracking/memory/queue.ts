/**
 * The queue of the messages of completions, in memory.
 *
 * @module
 */

import type { Queue } from '../peers.js';
import type { Memory } from './rows.js';

/** Creates the queue. It calls `changed` when a message is due at another date. */
export function createMemoryQueue({ messages, now, findHeld, runAlone }: Memory, changed: () => void) {
  const listWaiting = () => [...messages.values()].filter(({ isHeld }) => !isHeld);

  return {
    async insert(_, added) {
      for (const { id, data } of added) {
        if (!messages.has(id)) messages.set(id, { id, data, retryCount: 0, isHeld: false, startAfter: now() });
      }
    },
    // A transaction gives a message back, and only then says when it is due.
    fetch: (_, { batchSize }) =>
      runAlone(async () => {
        const ready = listWaiting().filter(({ startAfter }) => startAfter <= now());
        return ready.slice(0, batchSize).map((message) => ({ ...Object.assign(message, { isHeld: true }) }));
      }),
    nextMs: () => listWaiting().reduce((next, { startAfter }) => Math.min(next, startAfter), Infinity) - now(),
    async complete(_, attempts) {
      for (const { id, retryCount } of attempts) if (findHeld(id, retryCount)) messages.delete(id);
    },
    async fail(_, attempts) {
      for (const { id, retryCount } of attempts) {
        Object.assign(findHeld(id, retryCount) ?? {}, { isHeld: false, retryCount: retryCount + 1 });
      }
    },
    async update(_, __, { id, startAfter }) {
      const message = messages.get(id);
      if (message?.isHeld !== false) return;
      message.startAfter = now() + startAfter * 1_000;
      changed();
    },
    async stop() {},
  } satisfies Queue;
}
