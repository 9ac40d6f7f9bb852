/** Versions of the tables: how they are planned and changed, and what a process does that does not fit them. */

import { HostedConfigError } from 'hosted-client';
import { createTracker, migrateTracking, postgresReplayGuard } from 'hosted-client/tracking';
import { getRollbackPlans } from 'pg-boss';
import boss from 'pg-boss/package.json' with { type: 'json' };
import { expect, onTestFinished, test, vi } from 'vitest';
import { onEachDatabase, onOneDatabase } from '../support/on-each-database.ts';
import { freePort, openDatabase } from './databases.ts';
import { collect, createServiceWorld, createWorld, openTracker, startWorker, until } from './world.ts';

const newest = boss.pgboss.schema;

onEachDatabase((database) => {
  test('a plan changes nothing, and is empty once it was carried out', async () => {
    const { schema, ...world } = createWorld(database);
    const { pool } = database;

    const plan = await migrateTracking({ pool, schema });
    expect(plan.from).toEqual({ tables: null, queue: null });
    expect(plan.to).toEqual({ tables: 1, queue: newest });
    const made = await pool.query('select 1 from pg_namespace where nspname like $1', [`${schema}%`]);
    expect(made.rows).toEqual([]);

    expect(await migrateTracking({ pool, schema, apply: true })).toEqual(plan);
    expect(await migrateTracking({ pool, schema, apply: true })).toEqual({ from: plan.to, to: plan.to, sql: [] });

    const { tracker, completions } = await startWorker(world, { migrate: false });
    await tracker.track(world.completeJob('approved'));
    await until(() => completions.length === 1);
    expect(world.lines).toEqual([]);
    expect(await world.rows('select environment, rate from FLEET')).toEqual([{ environment: 'sandbox', rate: 1_000 }]);
  });

  test('the scripts of a plan do by hand what carrying it out does', async () => {
    const { schema, ...world } = createWorld(database);
    const { pool } = database;

    for (const script of (await migrateTracking({ pool, schema })).sql) await pool.query(script);

    expect((await migrateTracking({ pool, schema })).sql).toEqual([]);
    const { tracker, completions } = await startWorker(world, { migrate: false });
    await tracker.track(world.completeJob('approved'));
    await until(() => completions.length === 1);
  });

  test('older tables of pg-boss are an error until they are migrated, with their indexes', async () => {
    const { schema, ...world } = createWorld(database);
    const { pool } = database;
    const tracker = await world.open();
    await tracker.track(world.completeJob('approved'));
    const readIndexes = async () =>
      (await pool.query('select indexname from pg_indexes where schemaname = $1 order by 1', [`${schema}_boss`])).rows;
    const indexes = await readIndexes();
    await pool.query(getRollbackPlans(`${schema}_boss`, newest));
    expect(await readIndexes()).not.toEqual(indexes);
    const { completions, handler } = collect();

    await expect(tracker.onCompletion(handler)).rejects.toMatchObject({
      reason: 'not_migrated',
      message: expect.stringContaining('older than the installed pg-boss'),
    });
    expect((await migrateTracking({ pool, schema })).from).toEqual({ tables: 1, queue: newest - 1 });
    await migrateTracking({ pool, schema, apply: true });

    expect(await readIndexes()).toEqual(indexes);
    expect((await migrateTracking({ pool, schema })).sql).toEqual([]);
    await tracker.onCompletion(handler);
    await until(() => completions.length === 1);
  });
});

onOneDatabase((database) => {
  test('a migration creates a table that has gone, whatever the version says', async () => {
    const { schema, ...world } = createWorld(database);
    const { pool } = database;
    await world.open();
    await pool.query(`drop table ${schema}.handed_over`);

    const plan = await migrateTracking({ pool, schema, apply: true });

    expect(plan).toEqual({ from: plan.to, to: plan.to, sql: [expect.stringContaining('handed_over')] });
    expect((await migrateTracking({ pool, schema })).sql).toEqual([]);
    await postgresReplayGuard({ pool, schema, migrate: false });
  });

  test('a process works with tables that are one version newer', async () => {
    const world = createWorld(database);
    await world.open();
    await world.rows('update FLEET set version = version + 1');

    const { tracker, completions } = await startWorker(world);
    await tracker.track(world.completeJob('approved'));

    await until(() => completions.length === 1);
    expect((await tracker.stats()).problem).toBeNull();
  });

  test('older tables are an error, and are never changed at a start', async () => {
    const world = createWorld(database);
    await world.open();
    await world.rows('update FLEET set version = version - 1');

    await expect(world.open({ migrate: true })).rejects.toMatchObject({
      reason: 'not_migrated',
      message: expect.stringContaining('tracking migrate'),
    });
    expect(await world.rows('select version from FLEET')).toEqual([{ version: 0 }]);
  });

  test.each([
    ['the tracker', 'TABLES.fleet', 'the tables belong to a newer version of this package'],
    ['pg-boss', 'TABLES_boss.version', 'the tables of pg-boss are newer than the installed pg-boss'],
  ])('a running process takes no work while the tables of %s are newer, and says so', async (_, table, message) => {
    const world = createWorld(database);
    const name = table.replace('TABLES', world.schema);
    const { tracker, completions } = await startWorker(world);
    const job = world.service.jobs.start();
    await tracker.track(job);
    await until(() => world.service.requests.length > 1);

    await database.pool.query(`update ${name} set version = version + 2`);
    await until(() => world.lines.some((line) => line.includes(message)));
    world.service.jobs.complete(job, 'approved');
    const requests = world.service.requests.length;
    const due = await world.rows('select due, polls from TRACKED');
    const { problem } = await tracker.stats();
    expect(problem?.code).toBe('newer');
    await until(() => world.events.some((event) => event.type === 'problem' && event.code === 'newer'));
    expect(await world.rows('select storage_since from FLEET')).toEqual([{ storage_since: null }]);
    // Nothing was taken since: neither a poll nor a message.
    expect(await world.rows('select due, polls from TRACKED')).toEqual(due);
    expect(world.service.requests.length).toBe(requests);
    expect(completions).toEqual([]);
    await tracker.track({ userId: 'another', jobId: 'job' });

    await database.pool.query(`update ${name} set version = version - 2`);
    await until(() => completions.length === 1);
    await until(async () => (await tracker.stats()).problem === null);
  });

  test('a process that only tracks and receives says within a minute that the tables are newer', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    await tracker.track({ userId: 'u', jobId: 'j-1' });
    await world.rows('update FLEET set version = version + 2');
    const warnings = () => world.lines.filter((line) => line.startsWith('warn'));
    const { now } = performance;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 60_000);
    onTestFinished(() => clock.mockRestore());

    await tracker.track({ userId: 'u', jobId: 'j-2' });
    const response = await world.service.jobs.deliverCallback(world.completeJob('approved'), { to: tracker.handler() });

    expect(response.status).toBe(200);
    await until(() => warnings().length > 0);
    expect(warnings()).toEqual([
      expect.stringMatching(/\(newer\): .*the tables belong to a newer version of this package: update the package/),
    ]);
    expect(world.events).toContainEqual({ type: 'problem', code: 'newer' });
    expect((await tracker.stats()).problem?.code).toBe('newer');
    expect(await world.rows('select storage_since from FLEET')).toEqual([{ storage_since: null }]);
  });

  test('with newer tables of pg-boss, a process tracks and receives, and does not begin to work', async () => {
    const world = createWorld(database);
    await world.open();
    await database.pool.query(`update ${world.schema}_boss.version set version = version + 1`);

    const tracker = await world.open();
    await tracker.track({ userId: 'u', jobId: 'j' });
    await expect(tracker.onCompletion(() => {})).rejects.toMatchObject({ reason: 'newer' });
    await expect(tracker.work({ handler: () => {}, forMs: 1 })).rejects.toMatchObject({ reason: 'newer' });
    await expect(migrateTracking({ pool: database.pool, schema: world.schema })).rejects.toMatchObject({
      reason: 'newer',
    });
  });

  test.each([
    ['no place', {}],
    ['two places', { connectionString: 'postgresql://x', pool: { query() {}, connect() {} } }],
    ['a bad schema', { connectionString: 'postgresql://x', schema: 'A' }],
  ])('migrateTracking() refuses %s', async (_, options) => {
    await expect(migrateTracking(options as never)).rejects.toThrow(HostedConfigError);
  });
});

test('an operation that cannot reach its database names itself', async () => {
  const connectionString = `postgresql://nobody:planted@127.0.0.1:${await freePort()}/none`;
  const { client } = createServiceWorld();
  const rejection = (task: string) => ({
    reason: 'unreachable',
    retryable: true,
    message: `Cannot ${task}: the database did not respond, or responded with an error (ECONNREFUSED)`,
    cause: { code: 'ECONNREFUSED' },
  });

  const error = await createTracker({ client, connectionString }).catch((thrown) => thrown);
  expect(error).toMatchObject(rejection('create a tracker'));
  expect(JSON.stringify(error)).not.toContain('planted');
  await expect(migrateTracking({ connectionString })).rejects.toMatchObject(rejection('migrate the tables'));
});

test('a migration waits for locks for a short time only, and lets others pass in between', {
  tags: ['postgresql'],
}, async () => {
  const database = await openDatabase();
  onTestFinished(() => database.close());
  const { world, tracker } = await openTracker(createWorld(database));
  await database.pool.query(getRollbackPlans(`${world.schema}_boss`, newest));
  const holder = await database.pool.connect();
  await holder.query(`begin; lock table ${world.schema}_boss.queue in row share mode`);

  const { connectionString } = database;
  const migrating = migrateTracking({ connectionString, schema: world.schema, apply: true });
  const waiting = async () => {
    const { rows } = await database.pool.query(
      "select pid from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    );
    return (rows as { pid: number }[]).map(({ pid }) => pid);
  };
  await until(async () => (await waiting()).length > 0);
  const [first] = await waiting();
  // A writer waits behind the migration, and gets its turn although the lock is held on.
  await database.pool.query(`update ${world.schema}_boss.queue set updated_on = now()`);
  await until(async () => (await waiting()).some((pid) => pid !== first));
  await holder.query('commit');
  holder.release();
  await migrating;

  await tracker.onCompletion(() => {});
});
