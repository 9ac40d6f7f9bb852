import process from 'node:process';
import { migrateTracking } from 'hosted-client/tracking';
import { expect, test } from 'vitest';
import { onEachDatabase } from '../support/on-each-database.ts';
import { createRole } from '../support/postgresql-places.ts';
import { createWorld, openTracker, startWorker, takeConnection, until } from './world.ts';

onEachDatabase((database) => {
  test('with migrate: false, tables that are missing are an error, and nothing is made', async () => {
    const world = createWorld(database);

    await expect(world.open({ migrate: false })).rejects.toMatchObject({
      name: 'HostedStorageError',
      code: 'storage',
      reason: 'not_migrated',
    });
    const made = await database.pool.query('select 1 from pg_namespace where nspname like $1', [`${world.schema}%`]);
    expect(made.rows).toEqual([]);
  });

  test('tables that are two versions newer are an error', async () => {
    const world = createWorld(database);
    await world.open();
    await world.rows('update FLEET set version = version + 2');

    await expect(world.open()).rejects.toMatchObject({ reason: 'newer' });
  });

  test('processes that start at once find one set of tables', async () => {
    const world = createWorld(database);

    const trackers = await Promise.all([world.open(), world.open(), world.open(), world.open()]);

    await Promise.all(trackers.map((tracker) => tracker.track({ userId: 'u', jobId: 'j' })));
    expect(await world.rows('select 1 as one from FLEET')).toEqual([{ one: 1 }]);
    expect(await world.rows('select 1 as one from TRACKED')).toEqual([{ one: 1 }]);
  });

  if (database.name === 'PostgreSQL')
    test('a process starts while a transaction is open, and can track jobs at once', async () => {
      const world = createWorld(database);
      await world.open();
      const connection = await takeConnection(world.pool);
      await connection.query('begin');
      await connection.query(`insert into ${world.schema}.tracked (key, kind, state) values (gen_random_uuid(), 0, 3)`);

      const started = await world.open();
      await started.onCompletion(() => {});
      await started.track({ userId: 'u', jobId: 'j' });

      expect(await started.get({ userId: 'u', jobId: 'j' })).toMatchObject({ state: 'tracking' });
    });

  if (database.name === 'PostgreSQL')
    test('rights of an ordinary role are enough', async () => {
      const world = createWorld(database);
      const owner = { pool: database.pool, connectionString: database.connectionString ?? '' };
      const connectionString = await createRole(owner, `plain_${world.schema}`);
      const options = { connectionString, pool: undefined as never };
      const { tracker, completions } = await startWorker(world, options);
      const job = world.completeJob('approved');
      await tracker.track(job);
      await until(() => completions.length === 1);

      const name = new URL(connectionString).pathname.slice(1);
      await database.pool.query(`revoke create on database ${name} from plain_${world.schema}`);
      await world.open(options);
      const schema = `${world.schema}_x`;
      await expect(world.open({ ...options, schema })).rejects.toMatchObject({ reason: 'not_migrated' });
      await expect(migrateTracking({ connectionString, schema, apply: true })).rejects.toMatchObject({
        reason: 'not_migrated',
        message: expect.stringMatching(/^Cannot migrate the tables: this role may not create/),
      });
    });

  test('what has ended is removed once retentionMs is over, and nothing else', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { retentionMs: 1, maxAttempts: 1 });
    const jobs = [1, 2, 3].map(() => world.service.jobs.start());
    const [done, dead, pending] = jobs;
    for (const job of jobs.slice(0, 2)) world.service.jobs.complete(job, 'approved');
    const ofLink = world.completeJob('approved');
    await tracker.trackLink('tracked');
    await tracker.track([{ ...ofLink, linkRefId: 'tracked' }, ...jobs]);
    const first = await world.open({ retentionMs: 1, maxAttempts: 1 });
    await first.onCompletion(({ job }) => {
      if (job?.jobId === dead?.jobId) throw new Error('no');
    });
    const isDone = async (job: unknown) => (await tracker.get(job as never))?.state === 'done';
    await until(async () => (await isDone(done)) && (await isDone(ofLink)) && (await tracker.stats()).dead === 1);
    await first.stop();

    await world.rows("update FLEET set kept_at = now() - interval '1 hour'");
    const second = await world.open({ retentionMs: 1 });
    await second.onCompletion(() => {});

    await until(async () => (await tracker.get(done as never)) === null);
    expect(await tracker.get(dead as never)).toMatchObject({ state: 'dead' });
    expect(await tracker.get(pending as never)).toMatchObject({ state: 'tracking' });
    expect(await isDone(ofLink)).toBe(true);
  });

  test('nothing of a person or of a process is stored', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { maxAttempts: 2 });
    let thrown = 0;
    await tracker.onCompletion((completion) => {
      if (thrown++ < 2) throw new Error(`Test Person ${JSON.stringify(completion)}`);
    });
    const jobs = [1, 2].map(() => world.service.jobs.start());
    await tracker.track(jobs.map((job, n) => ({ ...job, context: { customer: n } })));
    for (const job of jobs) {
      world.service.jobs.report(job, { resultCode: '1012', resultText: 'Planted text', resultType: 'ID Verification' });
      world.service.jobs.complete(job, { resultCode: '0810', resultText: 'Planted text', success: true });
      await tracker.receive(await (await world.service.jobs.callback(job, { entry: 0 })).text());
    }
    await until(async () => {
      const states = await Promise.all(jobs.map(async (job) => (await tracker.get(job))?.state));
      return states.every((state) => state === 'done' || state === 'dead');
    });

    const { rows } = await database.pool.query(
      `select table_schema || '.' || table_name as name from information_schema.tables
       where table_schema like '${world.schema}%' and table_type = 'BASE TABLE'`,
    );
    const dumps = await Promise.all(
      rows.map(async (row) =>
        JSON.stringify(await database.pool.query(`select * from ${(row as { name: string }).name}`)),
      ),
    );
    const dump = dumps.join('\n');
    expect(dump).toContain(jobs[0]?.jobId);
    const { apiKey = 'no key' } = world.service.clientOptions;
    for (const planted of [
      'Test Person',
      'T00000000',
      '1900-01-01',
      'Planted text',
      'images.hosted',
      'selfie',
      'X-Amz',
      apiKey,
      process.version,
    ]) {
      expect(dump, planted).not.toContain(planted);
    }
  });
});
