/**
 * Stores the rows and messages of a tracker in memory. The name of a statement stands for its SQL.
 *
 * @module
 */

import type { WaitingClock } from '../../runtime/clock.js';
import type { TrackerSettings } from '../options.js';
import type { Queue } from '../peers.js';
import { type Loops, type Row, rejectAfterClose, type Storage, type Transaction } from '../sql.js';
import type { Statements } from '../statements.js';
import { createCallbackStatements } from './callbacks.js';
import { createDeliveryStatements } from './deliveries.js';
import { createFleetStatements } from './fleet.js';
import { createJobStatements } from './jobs.js';
import { createPollStatements } from './polls.js';
import { createMemoryQueue } from './queue.js';
import { createMemory } from './rows.js';

/** Statements that nothing runs: no clock goes back, no statement fails, and no table is newer. */
type Unneeded =
  | 'correctDues'
  | 'correctToldDues'
  | 'correctMessages'
  | 'correctLeases'
  | 'correctQueues'
  | 'acceptClock'
  | 'compare'
  | 'storageFailed'
  | 'storageWorked';

/** Statements after which a poll may be due earlier than before. */
const bringsForward: ReadonlySet<string> = new Set(['adopt', 'note', 'followAgain', 'recovered']);

/** Where a tracker in memory stores its rows and messages. */
export interface MemoryStorage {
  readonly statements: Statements;
  readonly database: Storage;
  /** Opens the queue of the messages. */
  openQueue(): Queue;
  /** Says whether work is due, and nothing but the rate of requests delays it. */
  isDue(): boolean;
  /** Says whether all work waits for the clock. */
  isIdle(): boolean;
}

/** Creates the storage. `random` gives a random number from 0 to 1. */
export function createMemoryStorage(
  settings: TrackerSettings,
  clock: WaitingClock,
  random: () => number,
): MemoryStorage {
  const memory = createMemory(settings, clock.now, random);
  let loops: Loops = { wake() {}, isIdle: () => true };
  const statements = {
    ...createJobStatements(memory),
    ...createCallbackStatements(memory),
    ...createPollStatements(memory),
    ...createDeliveryStatements(memory),
    ...createFleetStatements(memory),
  } satisfies Record<Exclude<keyof Statements, Unneeded>, (...values: never[]) => readonly Row[]>;
  const byName = new Map(Object.entries(statements)) as ReadonlyMap<
    string,
    (...values: readonly unknown[]) => readonly Row[]
  >;
  /** The transaction that runs. Meanwhile, no message is fetched. */
  let running: Promise<unknown> = Promise.resolve();

  async function run(name: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const rows = byName.get(name)?.(...values) ?? [];
    if (bringsForward.has(name)) loops.wake();
    return rows;
  }

  const boss = { executeSql: async () => ({ rows: [] }) };
  const database: Storage = rejectAfterClose<Storage>({
    run,
    boss,
    transaction(work) {
      const inside: Transaction = { run, boss };
      const done = running.then(() => work(inside));
      running = done.catch(() => undefined);
      return done;
    },
    within: () => database,
    watch(given) {
      loops = given;
    },
    async rest() {},
    async close() {},
  });
  return {
    statements: Object.fromEntries([...byName.keys()].map((name) => [name, name])) as Statements,
    database,
    openQueue() {
      const queue = createMemoryQueue(memory, clock, () => loops.wake());
      return {
        ...queue,
        async fetch(...given) {
          await running;
          return queue.fetch(...given);
        },
      };
    },
    isIdle: () => loops.isIdle(),
    isDue() {
      const isPollDue = memory.heldUntil() <= clock.now() && memory.listDue().length > 0;
      return isPollDue || [...memory.messages.values()].some(({ startAfter }) => startAfter <= clock.now());
    },
  };
}
