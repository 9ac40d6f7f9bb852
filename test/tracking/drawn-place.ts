// The two trackers that drawn tests compare: the one for tests, and one on PGlite. Both have a test clock and no chance,
// so what they store is the same to the millisecond.

import { createTestClock, createTestTracker } from 'hosted-client/testing';
import type { Completion, Json, SqlPool, Tracker, TrackerOptions } from 'hosted-client/tracking';
import { optionsOf } from '../../src/client.ts';
import { createWaitingClock } from '../../src/runtime/clock.ts';
import { whileBusy } from '../../src/testing/clock.ts';
import { createContext } from '../../src/tracking/context.ts';
import { bringsForward } from '../../src/tracking/memory/storage.ts';
import { readOptions } from '../../src/tracking/options.ts';
import { openDatabase } from '../../src/tracking/places/database.ts';
import type { Loops, Sql } from '../../src/tracking/sql.ts';
import { createStatements } from '../../src/tracking/statements.ts';
import { createWorkingTracker } from '../../src/tracking/working-tracker.ts';
import { prepareAll } from './model/replay/prepared-pool.ts';
import { createServiceWorld, createWorld } from './world.ts';

/** A tracker that works, its service, and what it has handed over. */
export interface DrawnPlace extends ReturnType<typeof createServiceWorld> {
  readonly clock: ReturnType<typeof createTestClock>;
  readonly tracker: Tracker<Json>;
  readonly completions: Completion[];
  /** Whether the handler fails. */
  isFailing: boolean;
}

type Options = Omit<Partial<TrackerOptions>, 'client' | 'connectionString' | 'pool' | 'folder' | 'schema' | 'migrate'>;

// Later than the dates that the tables have by default.
const startMs = Date.UTC(2040, 0, 1);

async function openPlace(create: (world: ReturnType<typeof createClockWorld>) => Promise<Tracker<Json>>) {
  const world = createClockWorld();
  const place: DrawnPlace = { ...world, tracker: await create(world), completions: [], isFailing: false };
  const started = place.tracker.onCompletion((completion) => {
    place.completions.push(completion);
    if (place.isFailing) throw new Error('the handler fails');
  });
  // Then the token bucket is full, so that no request waits for it.
  await world.clock.advance(1_000);
  await started;
  return place;
}

function createClockWorld() {
  const clock = createTestClock(startMs);
  // A response may not be signed for the text of its request. If both had one format, one response of each moment would be
  // signed a millisecond earlier. Which job got it would be chance: jobs that are due together are polled in any order.
  return { clock, ...createServiceWorld({ clock, wire: { jobTimestampFormat: 'epoch-ms' } }) };
}

/** Opens a tracker for tests. */
export function openInMemory(options: Options): Promise<DrawnPlace> {
  return openPlace(async ({ client, clock }) => createTestTracker({ client, clock, ...options }));
}

/** Gives a statement the time of the test, and the middle of all random numbers. */
function withoutChance(text: string): string {
  return text
    .replace(/\b(?:now|clock_timestamp)\(\)/g, "current_setting('test.now')::timestamptz")
    .replaceAll('random() limit 1', 'o.key limit 1')
    .replaceAll('random()', '0.5::double precision');
}

/** Makes the tables, and returns the function that opens a tracker on them and empties them. */
export async function prepareTables(pool: SqlPool) {
  const tables = createWorld({ pool });
  const { schema } = tables;
  await tables.open();
  const prepared = prepareAll(pool);
  await pool.query('set plan_cache_mode = force_generic_plan');
  return (options: Options): Promise<DrawnPlace> =>
    openPlace(async ({ client, clock, lines }) => {
      let setAt = 0;
      const run = async (sql: Pick<SqlPool, 'query'>, text: string, values?: unknown[]) => {
        if (setAt !== clock.now()) {
          setAt = clock.now();
          await sql.query(`set test.now = '${new Date(setAt).toISOString()}'`);
        }
        return sql.query(withoutChance(text), values);
      };
      const timed: SqlPool = {
        query: (text, values) => whileBusy(clock, () => run(prepared, text, values)),
        async connect() {
          const connection = await whileBusy(clock, () => prepared.connect());
          return {
            query: (text, values) => whileBusy(clock, () => run(connection, text, values)),
            release: (isBroken) => connection.release(isBroken),
          };
        },
      };
      await timed.query(`delete from ${schema}.tracked; delete from ${schema}.fleet;
        insert into ${schema}.fleet (version, environment, rate, refilled_at)
        values (1, 'sandbox', ${options.maxRequestsPerSecond ?? 10}, now())`);
      const settings = readOptions({ client, pool: timed, schema, ...options });
      const opened = await openDatabase({ pool: timed });
      const statements = createStatements(settings);
      let loops: Loops = { wake() {}, isWorking: () => false, isIdle: () => true };
      const waking = new Set(
        Object.entries(statements).flatMap(([name, text]) => (bringsForward.has(name) ? [text] : [])),
      );
      const wakeAfter = (sql: Sql): Sql['run'] => {
        return async (...given) => {
          const rows = await sql.run(...given);
          if (waking.has(given[0])) loops.wake();
          return rows;
        };
      };
      const database: typeof opened = {
        ...opened,
        run: wakeAfter(opened),
        watch(given) {
          loops = given;
        },
      };
      const random = () => 0.5;
      const waiting = createWaitingClock(clock);
      const log = (_: string, message: string) => void lines.push(message);
      const { partnerId = '' } = optionsOf(client);
      const shared = createContext({ settings, database, statements, log, clock: waiting, random }, partnerId);
      return createWorkingTracker<Json>(shared);
    });
}
