/** Versions of the tables: how they are planned and changed, and what a process does that does not fit them. */

import { HostedConfigError } from 'hosted-client';
import { createTracker, migrateTracking, postgresReplayGuard } from 'hosted-client/tracking';
import { expect, onTestFinished, test, vi } from 'vitest';
import { onEachDatabase, onOneDatabase } from '../support/on-each-database.ts';
import { freePort } from '../support/terminal.ts';
import { createServiceWorld, createWorld, openTracker, startWorker, until } from './world.ts';

onEachDatabase((database) => {
  test('a plan changes nothing, and is empty once it was carried out', async () => {
    const { schema, ...world } = createWorld(database);
    const { pool } = database;

    const plan = await migrateTracking({ pool, schema });
    expect(plan).toMatchObject({ from: null, to: 1 });
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

    const { sql } = await migrateTracking({ pool, schema });
    expect(sql).toEqual([expect.stringMatching(/^begin;\nset local lock_timeout = 2000;\n/)]);
    for (const script of sql) await pool.query(script);

    expect(await world.rows('select rate from FLEET')).toEqual([{ rate: 10 }]);
    expect((await migrateTracking({ pool, schema })).sql).toEqual([]);
    const { tracker, completions } = await startWorker(world, { migrate: false });
    await tracker.track(world.completeJob('approved'));
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

  test('a running process takes no work while the tables are newer, and says so', async () => {
    const world = createWorld(database);
    const message = 'the tables belong to a newer version of this package';
    const { tracker, completions } = await startWorker(world);
    const job = world.service.jobs.start();
    await tracker.track(job);
    await until(() => world.service.requests.length > 1);

    await world.rows('update FLEET set version = version + 2');
    await until(() => world.lines.some((line) => line.includes(message)));
    world.service.jobs.complete(job, 'approved');
    const requests = world.service.requests.length;
    const due = await world.rows('select due, polls from TRACKED');
    const { problem } = await tracker.stats();
    expect(problem?.code).toBe('newer');
    await until(() => world.events.some((event) => event.type === 'problem' && event.code === 'newer'));
    // Nothing was taken since: neither a poll nor a message.
    expect(await world.rows('select due, polls from TRACKED')).toEqual(due);
    expect(world.service.requests.length).toBe(requests);
    expect(completions).toEqual([]);
    await tracker.track({ userId: 'another', jobId: 'job' });

    await world.rows('update FLEET set version = version - 2');
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
  });

  test('with newer tables, a process does not begin to work', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    await world.rows('update FLEET set version = version + 2');

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
