import { afterEach, expect, test, vi } from 'vitest';
import { createPlatformClock } from '../../src/runtime/clock.ts';
import { states } from '../../src/tracking/rules.ts';
import { createStorageWatch } from '../../src/tracking/storage-watch.ts';
import { onOneDatabase } from '../support/on-each-database.ts';
import { createWorld, startWorker, until } from './world.ts';

onOneDatabase((database) => {
  test.each([
    {
      what: 'a worker cannot take completions',
      effect: 'no completion is delivered',
      condition: 'when (new.lease_id is distinct from old.lease_id)',
    },
    {
      what: 'the end of a job cannot be stored',
      effect: 'no result of a poll is stored',
      condition: `when (new.state = ${states.handingOver})`,
    },
  ])('where $what, a line and an event say so, and jobs are polled as before', async ({ effect, condition }) => {
    const world = createWorld(database);
    const { tracker, completions } = await startWorker(world);
    const jobs = Array.from({ length: 20 }, () => world.service.jobs.start());

    await world.rows(`create function ${world.schema}.refuse() returns trigger language plpgsql as $$ begin raise exception 'Test Person'; end $$;
      create trigger refuse before update on TRACKED for each row ${condition} execute function ${world.schema}.refuse()`);
    await tracker.track([world.completeJob('approved'), ...jobs]);
    await until(() => world.lines.length > 0);

    expect((await tracker.stats()).problem).toBe(null);
    expect(world.events.filter(({ type }) => type === 'problem')).toEqual([{ type: 'problem', code: 'storage' }]);
    expect(world.lines).toHaveLength(1);
    expect(world.lines[0]).toContain(
      `warn hosted-client: tracking: ${effect} until this problem is over (storage): Cannot use the tracker: `,
    );
    expect(world.lines[0]).toContain('(P0001)');
    expect(world.lines[0]).not.toContain('Person');
    // If one job at a time were polled, there would be long waits between them.
    const looks = async () => Math.min(...(await Promise.all(jobs.map(tracker.get))).map((job) => job?.polls ?? 0));
    const before = await looks();
    await until(async () => (await looks()) > before + 2);

    await world.rows('drop trigger refuse on TRACKED');
    await until(() => world.lines.length > 1);

    expect(world.lines.slice(1)).toEqual(['info hosted-client: tracking: the database works again']);
    for (const job of jobs) world.service.jobs.complete(job, 'approved');
    await until(() => completions.length === 21);
  });
});

afterEach(() => void vi.useRealTimers());

/** A watch; the time is given. */
function createWatch() {
  vi.useFakeTimers();
  const lines: string[] = [];
  const events: unknown[] = [];
  const storage = createStorageWatch(
    createPlatformClock(),
    (event) => void events.push(event),
    (_, message) => void lines.push(message),
  );
  return { storage, lines, events };
}

test('an outage of an hour is a line of each part a minute, an event a minute, and shows no value of a row', async () => {
  const { storage, lines, events } = createWatch();
  const error = Object.assign(new Error('Test Person'), { code: '57P01', detail: 'Test Person' });
  for (let second = 0; second < 3_600; second++) {
    for (const part of ['no job is polled', 'no completion is delivered']) storage.failed(part, error);
    await vi.advanceTimersByTimeAsync(1_000);
  }

  expect(lines).toHaveLength(120);
  expect(events).toHaveLength(60);
  expect(lines.join()).not.toContain('Person');
});

test('a database that fails every second, and works in between, does not flood the log', async () => {
  const { storage, lines, events } = createWatch();
  for (let second = 0; second < 600; second++) {
    storage.failed('no job is polled', new Error());
    storage.worked('no job is polled');
    await vi.advanceTimersByTimeAsync(1_000);
  }

  expect(lines).toHaveLength(20);
  expect(events).toHaveLength(10);
});

test('a problem is over once every part works, and a part that is not tried again ends it by itself', async () => {
  const { storage, lines } = createWatch();
  const isOver = () => lines.at(-1) === 'the database works again';
  storage.failed('a', new Error());
  storage.failed('b', new Error());
  storage.worked('a');
  expect(isOver()).toBe(false);
  storage.worked('b');
  expect(isOver()).toBe(true);

  await vi.advanceTimersByTimeAsync(60_000);
  storage.failed('b', new Error());
  await vi.advanceTimersByTimeAsync(119_000);
  storage.worked('a');
  expect(isOver()).toBe(false);
  await vi.advanceTimersByTimeAsync(2_000);
  storage.worked('a');
  expect(isOver()).toBe(true);
});
