/**
 * Stores the rows of a tracker in memory. The name of a statement stands for its SQL.
 *
 * @module
 */

import type { WaitingClock } from '../../runtime/clock.js';
import type { TrackerSettings } from '../options.js';
import { type Loops, type Row, rejectAfterClose, type Storage } from '../sql.js';
import type { Statements } from '../statements.js';
import { createCallbackStatements } from './callbacks.js';
import { createDeliveryStatements } from './deliveries.js';
import { createFleetStatements } from './fleet.js';
import { createJobStatements } from './jobs.js';
import { createPollStatements } from './polls.js';
import { createMemory } from './rows.js';

/** Statements that do nothing: no clock goes back, no statement fails or takes long, and no table is newer. */
type Unneeded =
  | ('declare' | 'endSilent' | 'lowerFloors' | 'pullDues' | 'pullMentionedDues' | 'pullDeliveries')
  | 'giveBackUnbegun';

/** A statement. It may return rows. */
type Statement = (...values: never[]) => unknown;

/** Statements after which a poll or a delivery may be due earlier than before. */
export const bringsForward: ReadonlySet<string> = new Set([
  'adopt',
  'note',
  'followAgain',
  'giveUpLease',
  'recovered',
  'storeProgress',
  'bury',
  'restore',
  'keepEnd',
]);

/** Creates the storage. `random` gives a random number from 0 to 1. */
export function createMemoryStorage(settings: TrackerSettings, clock: WaitingClock, random: () => number) {
  const memory = createMemory(settings, clock.now, random);
  let loops: Loops = { wake() {}, isWorking: () => false, isIdle: () => true };
  const statements = {
    ...createJobStatements(memory),
    ...createCallbackStatements(memory),
    ...createPollStatements(memory),
    ...createDeliveryStatements(memory),
    ...createFleetStatements(memory),
  } satisfies Record<Exclude<keyof Statements, Unneeded>, Statement>;
  const byName = new Map(Object.entries<Statement>(statements));

  async function run(name: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    const rows = byName.get(name)?.(...(values as never[])) ?? [];
    if (bringsForward.has(name)) loops.wake();
    return rows as readonly Row[];
  }

  const database: Storage = rejectAfterClose<Storage>({
    run,
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
    loops: () => loops,
    /** Says whether work is due, and nothing but the rate of requests delays it. */
    isDue() {
      const isPollDue = memory.heldUntil() <= clock.now() && memory.listDue().length > 0;
      const isInHand = memory.list(({ lease_id, deliver_at }) => lease_id !== null && deliver_at !== null).length > 0;
      return isPollDue || isInHand || memory.nextOf('deliver_at') <= clock.now();
    },
  };
}
