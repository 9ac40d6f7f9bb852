import { instrument } from 'hosted-client/opentelemetry';
import { createTracker } from 'hosted-client/tracking';
import { expect, test } from 'vitest';
import { measuring } from '../support/measuring.ts';
import { onEachDatabase } from '../support/on-each-database.ts';
import { createServiceWorld, createWorld, openTracker } from './world.ts';

/** Reads the gauge of each state. */
function countsOf(tracker: object, onTestFinished: (end: () => void) => void) {
  const { meterProvider, read } = measuring();
  const instrumentation = instrument({ tracker, meterProvider });
  onTestFinished(() => instrumentation.disable());
  return async () => {
    const points = ((await read())['hosted.tracker.jobs'] ?? []) as readonly Readonly<Record<string, unknown>>[];
    return Object.fromEntries(points.map((point) => [point['hosted.state'], point.count]));
  };
}

test('in a folder, a gauge of many rows is exact', async ({ onTestFinished }) => {
  const tracker = await createTracker({ client: createServiceWorld().client, folder: 'memory://' });
  onTestFinished(() => tracker.stop());
  await tracker.track(Array.from({ length: 1_200 }, (_, n) => ({ userId: 'user', jobId: `job-${n}` })));

  expect(await countsOf(tracker, onTestFinished)()).toMatchObject({ tracking: 1_200 });
});

onEachDatabase((database) => {
  test('a gauge of few rows is exact, and one of many rows comes from the statistics of PostgreSQL', async ({
    onTestFinished,
  }) => {
    const { world, tracker } = await openTracker(createWorld(database));
    await world.rows('alter table TRACKED set (autovacuum_enabled = false)');
    await world.rows(`insert into TRACKED (key, kind, state, user_id, job_id, due, ended_at, end_id)
      select gen_random_uuid(), 0, case when n <= 499 then 2 else 1 end, 'user', n::text,
        case when n > 499 then now() end, case when n <= 499 then now() end, gen_random_uuid()
      from generate_series(1, 4000) n`);
    const counts = countsOf(tracker, onTestFinished);

    expect(await counts()).toEqual({ heard: 0, tracking: 500, handing_over: 499, done: 0, dead: 0 });
    await world.rows('analyze TRACKED');
    expect(await counts()).toEqual({ heard: 0, tracking: 3501, handing_over: 499, done: 0, dead: 0 });
    await world.rows('delete from TRACKED where state = 1');
    expect(await counts()).toEqual({ heard: 0, tracking: 0, handing_over: 499, done: 0, dead: 0 });
  });
});
