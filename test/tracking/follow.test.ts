import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { collect, createWorld, newLink, openTracker, until } from './world.ts';

onOneDatabase((database) => {
  test('no more is asked than the budget of the schema allows, by all processes, deliveries, links and callbacks together', async () => {
    const world = createWorld(database);
    const rate = 50;
    const options = { maxRequestsPerSecond: rate, minDelayMs: 10, maxDelayMs: 10 };
    const first = await world.open(options);
    const second = await world.open(options);
    const jobs = Array.from({ length: 60 }, () => world.service.jobs.start());
    for (const job of jobs.slice(0, 30)) world.service.jobs.complete(job, 'approved');
    await first.track(jobs);
    for (let n = 0; n < 10; n++) await first.trackLink((await world.client.links.create(newLink)).refId);
    const { completions, handler } = collect();

    const startedAt = Date.now();
    await Promise.all([first.onCompletion(handler), second.onCompletion(handler)]);
    const pending = jobs.slice(30);
    for (const job of pending) world.service.jobs.report(job, { resultCode: '0814', resultText: 'under review' });
    const bodies = await Promise.all(pending.map(async (job) => (await world.service.jobs.callback(job)).text()));
    const storm = Promise.all([...bodies, ...bodies, ...bodies].map((body) => second.receive(body)));
    await until(() => completions.length >= 30 && world.service.requests.length > 150);
    await storm;

    const asked = world.service.requests.filter(({ operation }) => operation !== 'links.create');
    expect(asked.some(({ operation }) => operation === 'links.get')).toBe(true);
    expect(world.listEarly({ startedAt, rate })).toEqual([]);
    expect((await first.stats()).requestsSent).toBeGreaterThanOrEqual(asked.length);
    expect(world.events.filter(({ type }) => type === 'batch').length).toBeGreaterThan(0);
  });

  test('the waits between looks grow up to the longest', async () => {
    const { world, tracker } = await openTracker(createWorld(database), {
      minDelayMs: 100,
      maxDelayMs: 400,
      backoffFactor: 2,
    });
    // The database writes down when each look was due, and how long it gave until the next.
    await world.rows(`create table ${world.schema}.looks (n serial, late double precision, wait double precision);
      create function ${world.schema}.note_look() returns trigger language plpgsql as $$ begin
        insert into ${world.schema}.looks (late, wait)
          values (extract(epoch from now() - old.due) * 1000, extract(epoch from new.due - now()) * 1000);
        return new;
      end $$;
      create trigger looked before update on TRACKED for each row when (new.polls > old.polls)
        execute function ${world.schema}.note_look()`);
    await tracker.onCompletion(() => {});
    await tracker.track(world.service.jobs.start());

    const looks = () => world.rows(`select late, wait from ${world.schema}.looks order by n`);
    await until(async () => (await looks()).length >= 5);

    // Each wait is between half of its length and all of it, and no look comes before its time.
    for (const [n, longest] of [100, 200, 400, 400, 400].entries()) {
      const { late, wait } = (await looks())[n] ?? {};
      expect(Number(late)).toBeGreaterThanOrEqual(0);
      expect(Number(wait)).toBeGreaterThanOrEqual(longest / 2);
      expect(Number(wait)).toBeLessThanOrEqual(longest);
    }
  });

  test('a row that cannot be written keeps no other job from its end', async () => {
    const slow = { minDelayMs: 600_000, maxDelayMs: 600_000 };
    const { world, tracker } = await openTracker(createWorld(database), slow);
    const jobs = Array.from({ length: 10 }, () => world.completeJob('approved'));
    await tracker.track(jobs);
    await world.rows(`create function ${world.schema}.refuse() returns trigger language plpgsql as $$ begin
        raise exception 'refused';
      end $$;
      create trigger refused before update on TRACKED for each row
        when (new.state = 2 and new.job_id = '${jobs.at(-1)?.jobId}') execute function ${world.schema}.refuse()`);
    const { completions, handler } = collect();

    await tracker.onCompletion(handler);

    await until(() => completions.length === 9);
  });

  test('a value of maxRequestsPerSecond that differs from the one before warns, and counts', async () => {
    const world = createWorld(database);
    await world.open({ maxRequestsPerSecond: 20 });
    await world.open({ maxRequestsPerSecond: 20 });
    expect(world.lines).toEqual([]);

    await world.open({ maxRequestsPerSecond: 30 });

    expect(world.lines).toEqual([expect.stringMatching(/^warn .*maxRequestsPerSecond.*20.*30/)]);
    expect(await world.rows('select rate from FLEET')).toEqual([{ rate: 30 }]);
  });
});
