import { expect, test } from 'vitest';
import { openDatabase } from './databases.ts';
import { createWorld } from './world.ts';

const rows = 20_000;

test('no statement of the loops reads the whole table, where the planner takes every job to be due', {
  tags: ['postgresql'],
}, async ({ onTestFinished }) => {
  const database = await openDatabase();
  onTestFinished(() => database.close());
  const world = createWorld(database);
  await world.open();
  await world.rows('alter table TRACKED set (autovacuum_enabled = false)');
  // A job, a link and an ended job of each; then all of them have another date, and the statistics are old.
  await world.rows(`insert into TRACKED (key, kind, state, user_id, job_id, link_ref_id, due, deadline, ended_at, end_id, outcome, deliver_at)
      select md5(n::text)::uuid, case when n % 3 = 1 then 1 else 0 end, case when n % 3 = 2 then 2 else 1 end,
        'user', 'job-' || n, 'link-' || n / 3, case when n % 3 < 2 then now() - interval '1 hour' end,
        now() + interval '1 day', case when n % 3 = 2 then now() - interval '1 hour' end,
        case when n % 3 = 2 then gen_random_uuid() end, case when n % 3 = 2 then 1 end,
        case when n % 3 = 2 then now() + interval '1 hour' end
      from generate_series(1, ${rows}) n`);
  await world.rows('vacuum analyze TRACKED');
  await world.rows("update TRACKED set due = now() + interval '1 day' where due is not null");

  const statements = world.statements();
  const [first] = await world.rows('select key, end_id from TRACKED where state = 2 limit 1');
  const [link] = await world.rows('select key from TRACKED where kind = 1 limit 1');
  const key = String(first?.key);
  const unknown = '00000000-0000-8000-8000-000000000000';
  const heard = [unknown, 'user', 'job', 'link-7', link?.key, 0, 8, null];
  const keys = JSON.stringify([key]);
  const list = JSON.stringify([
    {
      key,
      lease_id: first?.end_id,
      outcome: 1,
      wait_ms: 0,
      attempts: 0,
      link_ref_id: null,
      last_error: null,
      attempt: 1,
      is_late: false,
      end_id: first?.end_id,
      revision: 0,
    },
  ]);
  const plans: readonly [name: keyof typeof statements, values: unknown[]][] = [
    ['claim', [100, true]],
    ['deliver', [10]],
    ['giveUpLease', [list, keys]],
    ['giveBackUnbegun', [list, keys]],
    ['storeCallback', [key, 'user', 'job', 'link-7', link?.key, 0, 8, null]],
    ['storeCallback', heard],
    ['adopt', [link?.key]],
    ['note', [list, keys]],
    ['giveUp', [keys]],
    ['end', [list, keys]],
    ['endLinks', [keys]],
    ['storeProgress', [list, keys, list, keys]],
    ['restore', [list, keys]],
    ['endAgain', [list, keys]],
    ['keepEnd', [list, keys]],
    ['track', [list, null, keys]],
    ['followAgain', [list, keys]],
    ['bury', [list, keys]],
    ['revive', [keys]],
    ['countJobs', [keys]],
    ['pullDues', []],
    ['pullMentionedDues', []],
    ['pullDeliveries', []],
    ['forget', []],
    ['forgetMentioned', []],
    ['gauges', []],
  ];
  const planOf = async (name: keyof typeof statements, values: unknown[]) =>
    JSON.stringify((await database.pool.query(`explain ${statements[name]}`, values)).rows);
  const readers = [];
  for (const [name, values] of plans) {
    if (/Seq Scan on tracked/.test(await planOf(name, values))) readers.push(name);
  }

  expect(readers).toEqual([]);
  // In a flood of callbacks, the next job is read from its index, and no others are sorted. The statistics are from
  // before the flood, and then from the flood itself.
  await world.insertMentioned(9_990, 'mentioned', { state: '1', due: 'now()', deadline: "now() + interval '1 day'" });
  for (const prepare of ['select', 'analyze TRACKED']) {
    await world.rows(prepare);
    expect(await planOf('claim', [100, true])).toMatch(/Index Scan using tracked_mentioned_turn/);
    expect(await planOf('storeCallback', heard)).not.toMatch(/Seq Scan on tracked/);
  }
  // The statement that locks the fleet's row reads none of a link's jobs, and what is forgotten is not compared with
  // all of them.
  expect(await planOf('countJobs', [keys])).toMatch(/tracked_link /);
  expect(await planOf('claim', [100, true])).not.toMatch(/tracked_link /);
  expect(await planOf('forget', [])).not.toMatch(/tracked_link /);
});
