// A transaction that somebody keeps open, for example pg_dump: vacuum removes no row version that is newer.

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { mark } from '../../src/tracking/sql.ts';
import { type Cluster, startCluster } from './databases.ts';
import { collect, createWorld, takeConnection, until, wrapPool } from './world.ts';

describe('with a transaction open elsewhere', { tags: ['postgresql'] }, () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.close());

  /** The function that counts the blocks that a statement reads. */
  function createGauge(world: ReturnType<typeof createWorld>) {
    return async (name: 'claim' | 'deliver', values: unknown[]): Promise<number> => {
      const plan = await world.pool.query(
        `explain (analyze, buffers, format json) ${world.statements()[name]}`,
        values,
      );
      const [first] = plan.rows as { 'QUERY PLAN': { Plan: Record<string, number> }[] }[];
      const blocks = first?.['QUERY PLAN'][0]?.Plan ?? {};
      return Number(blocks['Shared Hit Blocks']) + Number(blocks['Shared Read Blocks']);
    };
  }

  test.each([
    ['tracked', 'null', true],
    ['that only callbacks have mentioned', 'now()', false],
  ])(
    'the versions that polls and deliveries of jobs %s leave do not slow the next ones',
    async (_, mentionedAt, isProven) => {
      const world = createWorld(cluster);
      await world.open();
      const reader = await takeConnection(cluster.pool);
      await world.rows(`insert into TRACKED (key, kind, state, user_id, job_id, is_proven, mentioned_at, callback_signed_at, mentioned_turn,
      mentioned_polls, due, deadline)
      select gen_random_uuid(), 0, 1, 'user', 'job-' || n, ${isProven}, ${mentionedAt}, now() - n * interval '1 second', 0, 0,
        now() - interval '1 hour', now() + interval '1 day'
      from generate_series(1, 1000) n`);
      await world.rows(`insert into TRACKED (key, kind, state, outcome, ended_at, end_id, deliver_at)
      select gen_random_uuid(), 2, 2, 3, now(), gen_random_uuid(), now() - interval '1 hour' from generate_series(1, 1000) n`);
      await reader.query('begin isolation level repeatable read; select 1');
      const blocksOf = createGauge(world);
      const measure = async () => {
        await world.rows('update FLEET set tokens = 10, refilled_at = now(), delivery_credit = 10');
        return [await blocksOf('claim', [1, true]), await blocksOf('deliver', [1])];
      };
      const [claimBefore = 0, deliveryBefore = 0] = await measure();

      for (let round = 1; round <= 30; round++) {
        const to = `now() - interval '${3_600 - round * 100} seconds'`;
        await world.rows(`update TRACKED set due = ${to} where due is not null;
        update TRACKED set deliver_at = ${to} where deliver_at is not null`);
      }
      await measure();
      const [claim = 0, delivery = 0] = await measure();
      await world.rows(
        "update FLEET set due_floor = '-infinity', mentioned_floor = '-infinity', deliver_floor = '-infinity'",
      );
      const [claimWithout = 0, deliveryWithout = 0] = await measure();

      // 30 versions of each row.
      expect(claimWithout).toBeGreaterThan(claimBefore + 200);
      expect(deliveryWithout).toBeGreaterThan(deliveryBefore + 200);
      expect(claim).toBeLessThan(claimBefore + 50);
      expect(delivery).toBeLessThan(deliveryBefore + 50);
    },
  );

  test('the versions of the one row of all processes do not slow polls and deliveries', async () => {
    const world = createWorld(cluster);
    await world.open();
    const blocksOf = createGauge(world);
    const reader = await takeConnection(cluster.pool);
    await world.rows(`insert into TRACKED (key, kind, state, user_id, job_id, due, deadline)
      select gen_random_uuid(), 0, 1, 'user', 'job', now(), now() + interval '1 day' from generate_series(1, 10)`);
    await world.rows(`insert into TRACKED (key, kind, state, outcome, ended_at, end_id, deliver_at)
      select gen_random_uuid(), 2, 2, 3, now(), gen_random_uuid(), now() from generate_series(1, 10)`);
    await reader.query('begin isolation level repeatable read; select 1');
    const measure = async () => {
      await world.rows('update FLEET set tokens = 10, refilled_at = now(), delivery_credit = 10');
      return (await blocksOf('claim', [1, true])) + (await blocksOf('deliver', [1]));
    };
    const before = await measure();

    // Ten minutes, each with its housekeeping.
    for (let minute = 0; minute < 10; minute++) {
      await world.rows(
        `do $$ begin for n in 1..600 loop update ${world.schema}.fleet set tokens = tokens + 1; commit; end loop; end $$`,
      );
      await world.rows("update FLEET set kept_at = now() - interval '2 minutes'");
      expect(await world.rows(world.statements().keepHouse)).toHaveLength(1);
    }
    const after = await measure();

    expect(after).toBeLessThan(before + 100);
  });

  test.each([
    ['tracked', 'is_proven = true'],
    ['mentioned', 'is_proven = false, mentioned_at = now(), callback_signed_at = now(), mentioned_turn = 0'],
  ])(
    'a %s job whose transaction was open for long is found, though its date is below the floor',
    async (_, columns) => {
      const world = createWorld(cluster);
      const tracker = await world.open();
      const statements = world.statements();
      await world.rows(
        "update FLEET set due_floor = now() - interval '1 minute', mentioned_floor = now() - interval '1 minute'",
      );
      const job = world.completeJob('approved');
      await tracker.track(job);
      await world.rows(`update TRACKED set due = now() - interval '1 hour', ${columns}`);
      await world.rows('update FLEET set tokens = 1');
      expect((await world.pool.query(statements.claim, [1, true])).rows).toMatchObject([{ taken: null }]);

      // The housekeeping is due.
      await world.rows("update FLEET set kept_at = now() - interval '2 minutes'");
      const { completions, handler } = collect();
      await tracker.onCompletion(handler);

      await until(() => completions.length === 1);
    },
  );

  test.each([
    ['claim', () => [10, true]],
    [
      'track',
      (key: string) => [JSON.stringify([{ key, user_id: 'user', job_id: 'other' }]), null, JSON.stringify([key])],
    ],
  ] as const)(
    'a machine that vanishes before the end of its statement "%s" stops the others only until one of them ends its connection',
    async (name, valuesOf) => {
      const world = createWorld(cluster);
      const tracker = await world.open();
      const job = world.completeJob('approved');
      const [key = ''] = await tracker.track(job);
      await world.rows(`update TRACKED set state = 0`);
      const statements = world.statements();
      const silent = new pg.Client({ connectionString: cluster.connectionString });
      silent.on('error', () => {});
      onTestFinished(() => silent.end());
      await silent.connect();
      const { rows } = await silent.query<{ pid: number }>('select pg_backend_pid() as pid');
      // It sends everything of a statement but the message Sync.
      const { connection } = silent as unknown as {
        readonly connection: Record<'parse' | 'bind' | 'execute' | 'flush', (given: object) => void>;
      };
      connection.parse({ text: mark + statements[name], types: [] });
      connection.bind({ values: valuesOf(key).map((value) => value && String(value)) });
      connection.execute({});
      connection.flush({});
      const isActive = async () =>
        (
          await world.rows(
            `select 1 from pg_stat_activity where pid = ${rows[0]?.pid} and state = 'active' and wait_event = 'ClientRead'`,
          )
        ).length > 0;
      await until(isActive);

      // A statement may last this long.
      const impatient = wrapPool(world.pool, () => (text, run) => run(text.replace(/'15000 milliseconds'/, "'0'")));
      const { completions, handler } = collect();
      const worker = await world.open({ pool: impatient });
      await worker.onCompletion(handler);
      await worker.track(job);

      await until(() => completions.length === 1);
      expect(await isActive()).toBe(false);
    },
  );
});
