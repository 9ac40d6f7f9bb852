/** Where PostgreSQL really lives: each row is one of the table in docs/tracking.md. */

import { readFileSync } from 'node:fs';
import { migrateTracking, postgresReplayGuard, type TrackerOptions } from 'hosted-client/tracking';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startPgBouncer } from '../support/pgbouncer.ts';
import { createRole, grantRights, refuseNames } from '../support/postgresql-places.ts';
import { type Database, openDatabase, openLite } from './databases.ts';
import { collect, createWorld, isIdle, until } from './world.ts';

type World = ReturnType<typeof createWorld>;
type Place = Partial<Pick<TrackerOptions, 'pool' | 'connectionString' | 'migrate'>>;

let database: Database & { readonly connectionString: string };
beforeAll(async () => {
  database = await openDatabase();
}, 60_000);
afterAll(() => database?.close());

const roleOf = ({ schema }: World) => `place_${schema}`;

/** Two processes track and work, and one of them stops and goes on; a replay guard gives a lease and ends it. */
async function live(world: World, place: Place): Promise<void> {
  const options = { pool: undefined as never, ...place };
  const [first, second] = [await world.open(options), await world.open(options)];
  const { completions, handler } = collect(() => {
    if (completions.length % 7 === 0) throw new Error('one in seven handlers throws');
  });
  const link = 'a-link';
  await first.trackLink(link, { context: 'of the link' });
  const jobs = Array.from({ length: 30 }, () => world.completeJob('approved'));
  await first.track(jobs.map((job, n) => ({ ...job, context: n })));
  await Promise.all([first.onCompletion(handler), second.work({ handler, forMs: 500 })]);
  await until(() => isIdle(second));
  expect(new Set(completions.map(({ key }) => key)).size).toBe(30);
  expect((await second.stats()).problem).toBeNull();
  expect(world.lines.filter((line) => !/connectionTimeoutMillis|a handler failed/.test(line))).toEqual([]);

  const pool = place.pool ?? createPool(place.connectionString);
  const guard = await postgresReplayGuard({ pool, schema: world.schema, migrate: false });
  const version = { id: 'id', signedAt: new Date() };
  const begin = () => guard.begin('key', version, 60_000, 60_000);
  expect([await begin(), await begin()]).toEqual(['new', 'busy']);
  await guard.commit('key', version);
  expect(await begin()).toBe('known');
}

const places: readonly (readonly [string, string[], (world: World) => Promise<Place>])[] = [
  [
    'PgBouncer in transaction mode',
    ['postgresql', 'pgbouncer'],
    async () => {
      const bouncer = await startPgBouncer(database.connectionString);
      onTestFinished(() => bouncer.close());
      return { connectionString: bouncer.connectionString };
    },
  ],
  [
    'a pool that allows no prepared statements with names',
    ['postgresql'],
    async () => ({ pool: refuseNames(database.pool) }),
  ],
  [
    'a role that may not change tables',
    ['postgresql'],
    async (world) => {
      const connectionString = await createRole(database, roleOf(world), { mayCreate: false });
      await migrateTracking({ connectionString: database.connectionString, schema: world.schema, apply: true });
      await grantRights(database.pool, roleOf(world), { schema: world.schema, page: 'docs/tracking.md' });
      return { connectionString, migrate: false };
    },
  ],
  [
    'a role with a `search_path` of its own',
    ['postgresql'],
    async (world) => ({
      connectionString: await createRole(database, roleOf(world), { settings: ['search_path = nowhere'] }),
    }),
  ],
  [
    'a role whose transactions are serializable',
    ['postgresql'],
    async (world) => ({
      connectionString: await createRole(database, roleOf(world), {
        settings: ['default_transaction_isolation = serializable'],
      }),
    }),
  ],
  ['a pool of two', ['postgresql'], async () => ({ pool: createPool(database.connectionString) })],
  [
    'a role limited to three connections',
    ['postgresql'],
    async (world) => {
      const connectionString = await createRole(database, roleOf(world));
      await database.pool.query(`alter role ${roleOf(world)} connection limit 3`);
      return { pool: createPool(connectionString) };
    },
  ],
];

/** A pool of two connections, which ends with the test. */
function createPool(connectionString: string | undefined): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 2, connectionTimeoutMillis: 20_000 });
  onTestFinished(() => pool.end());
  return pool;
}

for (const [name, tags, open] of places) {
  test(`a tracker and a replay guard work with ${name}`, { tags }, async () => {
    const world = createWorld(database);
    await live(world, await open(world));
    expect(readFileSync('docs/tracking.md', 'utf8')).toContain(`| ${name} |`);
  });
}

test('the versions of PostgreSQL in docs/tracking.md are those of these tests', { tags: ['postgresql'] }, async () => {
  const lite = await openLite();
  onTestFinished(() => lite.close());
  const majorOf = async ({ pool }: Pick<Database, 'pool'>) => {
    const { rows } = await pool.query("select current_setting('server_version_num')::integer / 10000 as major");
    return (rows[0] as { major: number }).major;
  };

  expect(readFileSync('docs/tracking.md', 'utf8')).toContain(
    `| PostgreSQL ${await majorOf(database)}, and PGlite's ${await majorOf(lite)} |`,
  );
});
