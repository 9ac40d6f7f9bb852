/**
 * The queue of the messages of completions, in memory.
 *
 * @module
 */

import type { WaitingClock } from '../../runtime/clock.js';
import type { Queue } from '../peers.js';
import type { Memory, Message } from './rows.js';

/** Creates the queue. It calls `changed` when a message becomes due. */
export function createMemoryQueue(
  { messages, now, findHeld, runAlone }: Memory,
  clock: WaitingClock,
  changed: () => void,
): Queue {
  const ending = new AbortController();
  for (const message of messages.values()) wakeFor(message);

  function wakeFor({ startAfter }: Message): void {
    clock.sleep(startAfter - now(), ending.signal).then(changed, () => undefined);
  }

  return {
    async insert(_, added) {
      for (const { id, data } of added) {
        if (!messages.has(id)) messages.set(id, { id, data, retryCount: 0, isHeld: false, startAfter: now() });
      }
    },
    // A transaction gives a message back, and only then says when it is due.
    fetch: (_, { batchSize }) =>
      runAlone(async () => {
        const ready = [...messages.values()].filter(({ isHeld, startAfter }) => !isHeld && startAfter <= now());
        return ready.slice(0, batchSize).map((message) => ({ ...Object.assign(message, { isHeld: true }) }));
      }),
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
      if (!message || message.isHeld) return;
      message.startAfter = now() + startAfter * 1_000;
      wakeFor(message);
    },
    async stop() {
      ending.abort(new Error('the tracker stops'));
    },
  };
}
