import { instrument } from 'hosted-client/opentelemetry';
import { expect, test } from 'vitest';
import { measuring } from '../support/measuring.ts';
import { onEachDatabase } from '../support/on-each-database.ts';
import { createWorld } from './world.ts';

onEachDatabase((database) => {
  test('a gauge of few rows is exact, and one of many rows comes from the statistics of PostgreSQL', async ({
    onTestFinished,
  }) => {
    const world = createWorld(database);
    const tracker = await world.open();
    await world.rows('alter table TRACKED set (autovacuum_enabled = false)');
    await world.rows(`insert into TRACKED (key, kind, state, user_id, job_id, due, ended_at, end_id)
      select gen_random_uuid(), 0, case when n <= 499 then 2 else 1 end, 'user', n::text,
        case when n > 499 then now() end, case when n <= 499 then now() end, gen_random_uuid()
      from generate_series(1, 4000) n`);
    const { meterProvider, read } = measuring();
    const instrumentation = instrument({ tracker, meterProvider });
    onTestFinished(() => instrumentation.disable());
    const counts = async () =>
      Object.fromEntries(
        ((await read())['hosted.tracker.jobs'] ?? []).map((point) => [
          (point as Record<string, unknown>)['hosted.state'],
          point.count,
        ]),
      );

    expect(await counts()).toEqual({ heard: 0, tracking: 500, handing_over: 499, done: 0, dead: 0 });
    await world.rows('analyze TRACKED');
    expect(await counts()).toEqual({ heard: 0, tracking: 3501, handing_over: 499, done: 0, dead: 0 });
    await world.rows('delete from TRACKED where state = 1');
    expect(await counts()).toEqual({ heard: 0, tracking: 0, handing_over: 499, done: 0, dead: 0 });
  });
});
