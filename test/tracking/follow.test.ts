import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { collect, createWorld, newLink, until } from './world.ts';

onOneDatabase((database) => {
  test('no more is asked than the budget of the schema allows, by all processes, deliveries, links and callbacks together', async () => {
    const world = createWorld(database);
    const rate = 50;
    // Few at once: what a busy machine delays is then sent in small groups.
    const options = {
      maxRequestsPerSecond: rate,
      minDelayMs: 10,
      maxDelayMs: 10,
      concurrency: 5,
      handlerConcurrency: 3,
    };
    const first = await world.open(options);
    const second = await world.open(options);
    const jobs = Array.from({ length: 60 }, () => world.service.jobs.start());
    for (const job of jobs.slice(0, 30)) world.service.jobs.complete(job, 'approved');
    await first.track(jobs);
    for (let n = 0; n < 10; n++) await first.trackLink((await world.client.links.create(newLink)).refId);
    const { completions, handler } = collect();

    await Promise.all([first.onCompletion(handler), second.onCompletion(handler)]);
    const pending = jobs.slice(30);
    for (const job of pending) world.service.jobs.report(job, { resultCode: '0814', resultText: 'under review' });
    const bodies = await Promise.all(pending.map(async (job) => (await world.service.jobs.callback(job)).text()));
    const storm = Promise.all([...bodies, ...bodies, ...bodies].map((body) => second.receive(body)));
    await until(() => completions.length >= 30 && world.service.requests.length > 150);
    await storm;

    const asked = world.service.requests.filter(({ operation }) => operation !== 'links.create');
    expect(asked.some(({ operation }) => operation === 'links.get')).toBe(true);
    const times = asked.map(({ at }) => at);
    const busiest = Math.max(...times.map((at) => times.filter((other) => other >= at && other < at + 1_000).length));
    expect(busiest).toBeLessThanOrEqual(rate * 1.3);
    expect((await first.stats()).requestsSent).toBeGreaterThanOrEqual(times.length);
    expect(world.events.filter(({ type }) => type === 'batch').length).toBeGreaterThan(0);
  });

  test('the waits between looks grow up to the longest', async () => {
    const world = createWorld(database);
    const tracker = await world.open({ minDelayMs: 100, maxDelayMs: 400, backoffFactor: 2 });
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

  test('a job that is still pending at its deadline expires after a last look', async () => {
    const world = createWorld(database);
    const tracker = await world.open();
    const { completions, handler } = collect();
    const job = world.service.jobs.start();
    await tracker.track({ ...job, context: 'mine', deadline: new Date(Date.now() + 300) });
    await tracker.onCompletion(handler);

    await until(() => completions.length > 0);

    expect(completions[0]).toMatchObject({ outcome: 'expired', job, context: 'mine', lastError: null, attempt: 1 });
    const lastLook = world.service.requests.at(-1)?.at ?? 0;
    const [row] = await world.rows('select (extract(epoch from deadline) * 1000)::double precision as at from TRACKED');
    expect(lastLook).toBeGreaterThanOrEqual(Number(row?.at) - 1);
  });

  test('an error that is over is forgotten', async () => {
    const world = createWorld(database);
    const tracker = await world.open();
    const job = world.service.jobs.start();
    const release = world.holdAfter(1);
    world.service.failNext('jobs.status', { kind: 'html' });
    await tracker.track(job);
    await tracker.onCompletion(() => {});

    await until(async () => (await tracker.get(job))?.lastError === 'response');
    release();
    await until(async () => (await tracker.get(job))?.lastError === null);
  });

  test('Retry-After holds every job of every process', async () => {
    const world = createWorld(database);
    const trackers = [await world.open(), await world.open()];
    world.service.failNext('jobs.status', { kind: 'status', status: 429, retryAfter: '1' });
    const first = world.service.jobs.start();
    await trackers[0]?.track(first);
    await Promise.all(trackers.map((tracker) => tracker.onCompletion(() => {})));
    await until(async () => (await world.rows('select 1 from FLEET where asked_until is not null')).length > 0);
    const heldAt = world.service.requests.at(-1)?.at ?? 0;

    await trackers[1]?.track(Array.from({ length: 20 }, () => world.service.jobs.start()));
    await until(() => world.service.requests.length > 20);

    const next = world.service.requests.find(({ at, status }) => at > heldAt && status !== 429);
    expect((next?.at ?? 0) - heldAt).toBeGreaterThanOrEqual(950);
  });

  test.each([
    ['a wrong key', { kind: 'status', status: 401 } as const, 'authentication'],
    ['responses that do not verify', { kind: 'bad-signature' } as const, 'signature'],
  ])('%s is one problem of the tracker, and not of its jobs', async (_, fault, code) => {
    const world = createWorld(database);
    const tracker = await world.open();
    const { completions, handler } = collect();
    const jobs = Array.from({ length: 40 }, () => world.service.jobs.start());
    for (const job of jobs) world.service.jobs.complete(job, 'approved');
    world.fail(fault);
    await tracker.track(jobs);
    await tracker.onCompletion(handler);

    await until(async () => (await tracker.stats()).problem !== null);
    const { problem, tracking } = await tracker.stats();
    expect(problem).toEqual({ code, since: expect.any(Date) });
    expect(tracking).toBe(40);
    // The requests that were under way, those that were until the database knew, and then one at a time.
    expect(world.service.requests.length).toBeLessThan(jobs.length);
    expect(world.events.filter(({ type }) => type === 'problem')).toEqual([{ type: 'problem', code }]);
    expect(world.lines.filter((line) => line.startsWith('warn'))).toHaveLength(1);

    world.fail(null);
    await until(() => completions.length === 40);
    expect((await tracker.stats()).problem).toBe(null);
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
