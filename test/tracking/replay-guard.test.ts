/** The replay guard that several processes share: what it knows, for how long, and what it removes. */

import { HostedClient, HostedConfigError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { postgresReplayGuard } from 'hosted-client/tracking';
import { expect, onTestFinished, test, vi } from 'vitest';
import { completedJob } from '../published/service.ts';
import { onEachDatabase, onOneDatabase } from '../support/on-each-database.ts';
import { openDatabase } from './databases.ts';
import { createWorld, stubService, until } from './world.ts';

let schemas = 0;
const nextSchema = () => `guard_${++schemas}`;
const inMs = (ms: number) => new Date(Date.now() + ms);

onEachDatabase((database) => {
  async function open(options: { leaseMs?: number; retentionMs?: number; schema?: string; migrate?: boolean } = {}) {
    const schema = options.schema ?? nextSchema();
    const guard = await postgresReplayGuard({ pool: database.pool, ...options, schema });
    const begin = (key: string, body = 'body', { expiresMs = 86_400_000, leaseMs = 60_000 } = {}) =>
      guard.begin(key, body, inMs(expiresMs), inMs(leaseMs));
    const run = async (text: string) =>
      (await database.pool.query(text.replaceAll('TABLE', `${schema}.callbacks`))).rows;
    return { schema, guard, begin, run };
  }

  test('a callback is new, busy while it is handled, and a repeat once it was, in every process', async () => {
    const { schema, guard, begin } = await open();
    const other = await open({ schema });

    expect(await begin('key')).toBe('new');
    expect(await other.begin('key')).toBe('busy');
    await guard.commit('key');
    expect([await begin('key'), await other.begin('key')]).toEqual(['repeat', 'repeat']);
    expect(await other.begin('other')).toBe('new');
  });

  test('another body is a conflict, also after a failure, after which the same body is new', async () => {
    const { guard, begin } = await open();
    const known = [await begin('key'), await begin('key', 'other')];

    await guard.forget('key');

    expect([...known, await begin('key', 'other'), await begin('key')]).toEqual(['new', 'conflict', 'conflict', 'new']);
  });

  test('of many that begin at once, one is new', async () => {
    const guards = [await open({ schema: nextSchema() })];
    for (let n = 0; n < 3; n++) guards.push(await open({ schema: guards[0]?.schema ?? '' }));

    const known = await Promise.all(guards.flatMap(({ begin }) => [1, 2, 3, 4].map(() => begin('key'))));

    expect(known.filter((word) => word === 'new')).toHaveLength(1);
    expect(known.filter((word) => word === 'busy')).toHaveLength(15);
  });

  test('a callback whose lease has ended is new for one, and its first holder gives nothing back', async () => {
    const { schema, guard, begin, run } = await open();
    const other = await open({ schema });
    await begin('key');
    await run("update TABLE set lease_ends_at = now() - interval '1 ms'");

    expect([await other.begin('key'), await begin('key')]).toEqual(['new', 'busy']);
    await guard.forget('key');
    expect(await begin('key')).toBe('busy');
    await guard.commit('key');
    expect(await other.begin('key')).toBe('repeat');
  });

  test('a delivery whose lease has ended does not give back the next one of its own process', async () => {
    const { guard, begin, run } = await open();
    const known = [await begin('key')];
    await run("update TABLE set lease_ends_at = now() - interval '1 ms'");
    known.push(await begin('key'));

    await guard.forget('key');
    known.push(await begin('key'));
    await run("update TABLE set lease_ends_at = now() - interval '1 ms'");
    known.push(await begin('key'));
    await guard.forget('key');
    known.push(await begin('key'));

    expect(known).toEqual(['new', 'new', 'busy', 'new', 'busy']);
  });

  test('a lease is as long as the handler says, or as the option says', async () => {
    const given = await open();
    const own = await open({ leaseMs: 1_000 });
    const seconds = 'select round(extract(epoch from lease_ends_at - now()))::integer as seconds from TABLE';

    await given.begin('key', 'body', { leaseMs: 300_000 });
    await own.begin('key', 'body', { leaseMs: 300_000 });

    expect(await given.run(seconds)).toEqual([{ seconds: 300 }]);
    expect(await own.run(seconds)).toEqual([{ seconds: 1 }]);
  });

  // PGlite has the clock of its process.
  if (database.name === 'PostgreSQL')
    test('processes whose clocks differ by an hour agree', async () => {
      const { schema, begin } = await open();
      const other = await open({ schema });
      vi.useFakeTimers({ toFake: ['Date'] });
      onTestFinished(() => void vi.useRealTimers());
      const now = Date.now();

      vi.setSystemTime(now - 3_600_000);
      expect(await begin('of the slow')).toBe('new');
      vi.setSystemTime(now + 3_600_000);
      expect(await other.begin('of the slow')).toBe('busy');
      expect(await other.begin('of the fast')).toBe('new');
      vi.setSystemTime(now - 3_600_000);
      expect(await begin('of the fast')).toBe('busy');
    });

  test('what is old is removed, and counts as new before', async () => {
    const { schema, guard, begin, run } = await open({ retentionMs: 60_000 });
    await begin('kept', 'body', { expiresMs: 120_000 });
    await begin('old', 'body', { expiresMs: -1 });
    await guard.commit('old');
    expect(await begin('old')).toBe('repeat');
    await run(`insert into TABLE (key, body_digest, lease_id, lease_ends_at, expires_at)
      select 'old ' || n, 'body', gen_random_uuid(), now(), now() from generate_series(1, 1200) n`);

    await run("update TABLE set expires_at = expires_at - interval '61 seconds'");
    const later = await open({ schema });

    expect(await later.begin('old', 'another')).toBe('new');
    await until(async () => (await run('select key from TABLE order by key')).length === 2, 'removal');
    expect(await run('select key from TABLE order by key')).toEqual([{ key: 'kept' }, { key: 'old' }]);
  });

  test('a callback is remembered for three days, or for as long as callbacks are accepted', async () => {
    const { begin, run } = await open();
    await begin('soon', 'body', { expiresMs: 1 });
    await begin('late', 'body', { expiresMs: 10 * 86_400_000 });

    expect(
      await run(
        'select key, round(extract(epoch from expires_at - now()) / 86400)::integer as days from TABLE order by key',
      ),
    ).toEqual([
      { key: 'late', days: 10 },
      { key: 'soon', days: 3 },
    ]);
  });

  test('with migrate: false, a missing table is an error, and a table that is there is used', async () => {
    const schema = nextSchema();

    await expect(open({ schema, migrate: false })).rejects.toMatchObject({
      code: 'storage',
      reason: 'not_migrated',
      message: expect.stringMatching(/^Cannot create a replay guard: the table "callbacks" of schema/),
    });
    await open({ schema });
    const { begin } = await open({ schema, migrate: false });
    expect(await begin('key')).toBe('new');
  });

  test('it shares the schema of a tracker, whichever comes first', async () => {
    const world = createWorld(database);
    const before = await open({ schema: world.schema });
    await before.begin('key');
    const tracker = await world.open();
    const after = await open({ schema: world.schema, migrate: false });

    expect(await after.begin('key')).toBe('busy');
    await tracker.track({ userId: 'u', jobId: 'j' });
  });
});

onOneDatabase((database) => {
  test('two processes hand over each of a callback and its repeats once', async () => {
    const service = createMockService();
    const client = () => new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
    const schema = nextSchema();
    const seen: string[] = [];
    const handlers = await Promise.all(
      [1, 2].map(async () => {
        const replayGuard = await postgresReplayGuard({ pool: database.pool, schema });
        return client().callbacks.handler({ replayGuard, onEvent: ({ id }) => void seen.push(id) });
      }),
    );
    const job = completedJob(service);

    const statuses: number[] = [];
    for (const to of [...handlers, ...handlers]) {
      statuses.push((await service.sandbox.jobs.deliverCallback(job, { to })).status);
    }

    expect(statuses).toEqual([200, 200, 200, 200]);
    expect(seen).toHaveLength(1);
  });
});

test('the example hands over a callback once', { tags: ['postgresql'] }, async () => {
  const database = await openDatabase();
  const service = stubService({ DATABASE_URL: database.connectionString });
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  const { POST, pool } = await import('../../examples/share-replay-guard.ts');
  onTestFinished(async () => {
    await pool.end();
    await database.close();
  });
  const job = completedJob(service);

  for (let n = 0; n < 2; n++) expect((await service.sandbox.jobs.deliverCallback(job, { to: POST })).status).toBe(200);

  expect(log).toHaveBeenCalledTimes(1);
  expect((await database.pool.query('select is_handled from hosted_tracking.callbacks')).rows).toEqual([
    { is_handled: true },
  ]);
});

test('an error of the database names what the replay guard cannot do', async () => {
  let isAway = true;
  const query = () =>
    isAway
      ? Promise.reject(Object.assign(new Error('down'), { code: 'ECONNREFUSED' }))
      : Promise.resolve({ rows: [{ found: 1 }] });
  const pool = { query, connect: async () => ({ query, release() {} }) };
  const rejection = (task: string) => ({
    reason: 'unreachable',
    message: expect.stringMatching(new RegExp(`^Cannot ${task}: .*ECONNREFUSED`)),
  });

  await expect(postgresReplayGuard({ pool })).rejects.toMatchObject(rejection('create a replay guard'));
  isAway = false;
  const guard = await postgresReplayGuard({ pool });
  isAway = true;
  const now = new Date();
  await expect(guard.begin('key', 'digest', now, now)).rejects.toMatchObject(rejection('use the replay guard'));
});

test.each([
  ['no pool', {}, ['pool']],
  ['a pool that is none', { pool: {} }, ['pool']],
  [
    'every invalid option',
    { schema: 'A', migrate: 1, leaseMs: 0, retentionMs: 0 },
    ['leaseMs', 'migrate', 'pool', 'retentionMs', 'schema'],
  ],
])('postgresReplayGuard() refuses %s', async (_, options, paths) => {
  const error = await postgresReplayGuard(options as never).catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(HostedConfigError);
  expect((error as HostedConfigError).issues.map(({ path }) => path).sort()).toEqual(paths);
});
