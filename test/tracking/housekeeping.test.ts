import { afterEach, expect, test, vi } from 'vitest';
import { createPlatformClock } from '../../src/runtime/clock.ts';
import { createHousekeeping } from '../../src/tracking/housekeeping.ts';
import { readOptions } from '../../src/tracking/options.ts';
import { batchSize } from '../../src/tracking/rules.ts';
import { createStatements } from '../../src/tracking/statements.ts';
import { onEachDatabase } from '../support/on-each-database.ts';
import { collectFrom, createWorld, openTracker, startWorker, until, watch } from './world.ts';

onEachDatabase((database) => {
  /** Completions whose messages are lost, in tables without statistics. */
  async function createLost(count: number) {
    const { world, tracker } = await openTracker(createWorld(database));
    await world.rows('alter table TRACKED set (autovacuum_enabled = false)');
    await world.rows(`alter table ${world.schema}_boss.job_common set (autovacuum_enabled = false)`);
    await world.rows(`insert into TRACKED (key, kind, state, outcome, user_id, job_id, ended_at, end_id)
      select gen_random_uuid(), 0, 2, 2, 'user', 'job-' || n, now() - n * interval '1 millisecond', gen_random_uuid()
      from generate_series(1, ${count}) n`);
    await world.rows("update FLEET set kept_at = now() - interval '1 hour'");
    return { world, tracker };
  }

  function settingsOf(world: ReturnType<typeof createWorld>) {
    return readOptions({ client: world.client, pool: world.pool, schema: world.schema });
  }

  test('the messages of ten thousand completions are replaced in batches, while completions are handed over', async () => {
    const { world } = await createLost(10_000);
    const { pool, runs } = watch(database.pool);
    const worker = await world.open({ pool });

    const completions = await collectFrom(worker);
    await until(async () => {
      const [row] = await world.rows(`select count(*)::integer as count from ${world.schema}_boss.job`);
      return row?.count === 10_000;
    }, 'the last message');
    await until(() => completions.length > 0, 'the first delivery');

    // Each batch and its messages are one transaction.
    const { readInOrder, findLost } = createStatements(settingsOf(world));
    const isInsert = (text: string | undefined) => /insert into \S+\.job/i.test(text ?? '');
    const batches = runs.filter((texts) => isInsert(texts[3]));
    expect(batches.length).toBe(10_000 / batchSize);
    const steps = ['begin', readInOrder, findLost, 'insert', 'commit'];
    for (const texts of batches) {
      expect(texts.map((text) => text.toLowerCase())).toEqual(
        steps.map((step) => expect.stringContaining(step.toLowerCase())),
      );
    }
  });

  test('a message that pg-boss will not deliver any more is replaced', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { maxAttempts: 1 });
    const jobs = ['completed', 'cancelled', 'failed'].map((state) => ({ state, ...world.completeJob('approved') }));
    await tracker.track(jobs.map(({ userId, jobId }) => ({ userId, jobId })));
    await world.bury(3);
    await tracker.retry('all');
    for (const { state, jobId } of jobs) {
      await world.rows(`update ${world.schema}_boss.job set state = '${state}'
        where id = (select end_id from TRACKED where job_id = '${jobId}')`);
    }
    await world.rows("update FLEET set kept_at = now() - interval '1 hour'");

    const { completions } = await startWorker(world);

    await until(() => completions.length === 3);
    expect(new Set(completions.map(({ key }) => key)).size).toBe(3);
  });

  if (database.name === 'PostgreSQL')
    test('messages are looked up by their ids, though there are no statistics', async () => {
      const { world } = await createLost(10_000);
      await world.rows(`insert into ${world.schema}_boss.job (id, name, data)
        select end_id, 'completions', json_build_object('key', key) from TRACKED`);
      const { readInOrder, findLost } = createStatements(settingsOf(world));
      const connection = await world.pool.connect();
      await connection.query('begin');
      await connection.query(readInOrder);

      const { rows } = await connection.query(`explain ${findLost}`, [new Date().toISOString(), null]);

      await connection.query('rollback');
      connection.release();
      const plan = JSON.stringify(rows);
      expect(plan).toMatch(/Limit[^"]*"},{"QUERY PLAN":" *-> {2}Index Scan using tracked_ended/);
      expect(plan).toMatch(/SubPlan \d+"},{"QUERY PLAN":" *-> {2}Index Scan using job_common_pkey/);
      expect(plan).not.toMatch(/Seq Scan|Hash|Join/);
    });

  test('completed messages are removed after an hour', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    const messages = `${world.schema}_boss.job`;
    const worker = await world.open();
    await worker.onCompletion(() => {});
    const jobs = [1, 2].map(() => world.completeJob('approved'));
    const [old, recent] = await tracker.track(jobs);
    await until(async () => (await world.rows(`select 1 from ${messages} where state = 'completed'`)).length === 2);
    await world.rows(
      `update ${messages} set completed_on = now() - interval '61 minutes' where data ->> 'key' = '${old}'`,
    );
    await world.rows(
      `update ${messages} set completed_on = now() - interval '59 minutes' where data ->> 'key' = '${recent}'`,
    );
    await world.rows(`update ${world.schema}_boss.queue set maintain_on = now() - interval '2 minutes'`);

    await until(async () => (await world.rows(`select 1 from ${messages}`)).length < 2, 'the removal');

    expect(await world.rows(`select data ->> 'key' as key from ${messages}`)).toEqual([{ key: recent }]);
  });
});

afterEach(() => {
  vi.useRealTimers();
});

test('the check of messages continues with the batch that failed', async () => {
  vi.useFakeTimers();
  const batches: unknown[] = [];
  const page = (n: number) =>
    Array.from({ length: batchSize }, (_, at) => ({ key: `${n}-${at}`, at: `date ${n}`, is_sent: true }));
  const answers = [page(1), page(2), new Error('a timeout'), page(3), [], page(1)];
  const statements = { keepHouse: 'keepHouse', findLost: 'findLost', forget: 'forget', forgetHeard: 'forgetHeard' };
  const run = async (text: string, values: readonly unknown[] = []) => {
    if (text === 'keepHouse') return [{ yes: 1 }];
    if (text !== 'findLost') return [];
    batches.push(values);
    const answer = answers.shift() ?? [];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const storage = { watch: (_: string, step: () => unknown) => step() };
  const database = { run, transaction: (work: (inside: object) => unknown) => work({ run }) };

  const housekeeping = createHousekeeping(
    { database, statements, storage, clock: createPlatformClock() } as never,
    { send: async () => {} } as never,
  );
  await vi.advanceTimersByTimeAsync(29_000);
  expect(batches).toEqual([
    [null, null],
    ['date 1', `1-${batchSize - 1}`],
    ['date 2', `2-${batchSize - 1}`],
  ]);
  await vi.advanceTimersByTimeAsync(60_000);
  await housekeeping.drain();

  expect(batches.slice(3)).toEqual([
    ['date 2', `2-${batchSize - 1}`],
    ['date 3', `3-${batchSize - 1}`],
    [null, null],
    ['date 1', `1-${batchSize - 1}`],
  ]);
});
