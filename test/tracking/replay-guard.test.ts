/** The replay guard that several processes share: what every guard does, at once too, and what it removes. */

import { HostedConfigError } from 'hosted-client';
import { postgresReplayGuard } from 'hosted-client/tracking';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { testGuard } from '../callbacks/guard-contract.ts';
import { completedJob } from '../dist/service.ts';
import { onEachDatabase } from '../support/on-each-database.ts';
import { randomFrom } from '../support/random.ts';
import { openDatabase } from './databases.ts';
import { createWorld, stubService } from './world.ts';

let schemas = 0;
const nextSchema = () => `guard_${++schemas}`;
const leaseMs = 300_000;
const keepMs = 345_600_000;
const version = { id: 'id', signedAt: new Date('2026-01-02T03:04:05.678Z') };
/** The version that is signed `at` times three seconds later. */
const later = (at: number) => ({ id: `id ${at}`, signedAt: new Date(version.signedAt.getTime() + at * 3_000) });

interface Job {
  readonly key: string;
  /** How many hand over a version at this moment. */
  inHand: number;
  /** The newest version that was begun. */
  latest: number;
  readonly handedOver: number[];
}

onEachDatabase((database) => {
  async function open({ schema = nextSchema(), ...options }: { schema?: string; migrate?: boolean } = {}) {
    const guard = await postgresReplayGuard({ pool: database.pool, schema, ...options });
    const begin = (key: string, kept = keepMs) => guard.begin(key, version, leaseMs, kept);
    const run = async (text: string) =>
      (await database.pool.query(text.replaceAll('TABLE', `${schema}.handed_over`))).rows;
    return { schema, guard, begin, run };
  }

  // Two processes take turns.
  testGuard(async () => {
    const { schema, guard, run } = await open();
    const guards = [guard, (await open({ schema })).guard];
    const next = () => guards.reverse()[0] ?? guard;
    return {
      guard: {
        begin: (...given) => next().begin(...given),
        commit: (...given) => next().commit(...given),
        forget: (...given) => next().forget(...given),
      },
      advance: (ms) => run(`update TABLE set lease_ends_at = lease_ends_at - ${ms} * interval '1 ms'`),
    };
  });

  test('a row is kept as long as any handler asked for', async () => {
    const { begin, run } = await open();
    const days = 'select round(extract(epoch from expires_at - now()) / 86400)::integer as days from TABLE';

    await begin('key', 10 * 86_400_000);
    await begin('key');

    expect(await run(days)).toEqual([{ days: 10 }]);
  });

  test('what is old is removed, unless it is being handed over', async () => {
    const { schema, begin, run } = await open();
    await begin('in hand', 1);
    await begin('kept');
    await run(`insert into TABLE select 'old ' || n, 'id', now(), true, gen_random_uuid(), '-infinity', now()
      from generate_series(1, 1200) n`);
    await run("update TABLE set expires_at = now() where key = 'in hand'");

    await (await open({ schema })).begin('another');

    const keys = async () =>
      (await run('select key from TABLE order by key')).map((row) => (row as { key: string }).key);
    await expect.poll(keys).toEqual(['another', 'in hand', 'kept']);
  });

  test('with migrate: false, a missing table is an error, and a table that is there is used', async () => {
    const schema = nextSchema();

    await expect(open({ schema, migrate: false })).rejects.toMatchObject({
      code: 'storage',
      reason: 'not_migrated',
      message: expect.stringMatching(/^Cannot create a replay guard: the table "handed_over" of schema/),
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

describe('on PostgreSQL', { tags: ['postgresql'] }, () => {
  let database: Awaited<ReturnType<typeof openDatabase>>;
  beforeAll(async () => {
    database = await openDatabase();
  }, 60_000);
  afterAll(() => database.close());

  // Connections as an application may have set them: nothing that the guard writes or reads depends on it.
  test.each([
    ['read committed', ''],
    ['serializable', '-c default_transaction_isolation=serializable -c DateStyle=SQL,DMY -c TimeZone=Asia/Kolkata'],
  ])('eight connections hand over one version of a job at a time, each once, in order: %s', async (_, settings) => {
    const parse = (type: number) => (type === pg.types.builtins.TEXT ? String : () => 'parsed by the application');
    const types = { getTypeParser: parse } as unknown as pg.CustomTypesConfig;
    const { connectionString } = database;
    const pool = new pg.Pool({ connectionString, max: 8, options: settings, types });
    onTestFinished(() => pool.end());
    const guard = await postgresReplayGuard({ pool, schema: nextSchema() });
    const random = randomFrom(8);
    const wrong: string[] = [];

    /** Brings a version until it is known, or older than another one. */
    async function bring(job: Job, at: number): Promise<void> {
      for (let tries = 0; tries < 500; tries++) {
        const said = await guard.begin(job.key, later(at), leaseMs, keepMs);
        const last = job.handedOver.at(-1) ?? -1;
        if (said === 'known' ? at > last : said === 'older' && at >= job.latest) wrong.push(`${at} is ${said}`);
        if (said === 'known' || said === 'older') return;
        if (said === 'busy') continue;
        job.inHand += 1;
        job.latest = Math.max(at, job.latest);
        await pool.query('select');
        if (job.inHand !== 1 || at <= last) wrong.push(`${at} after ${last}, ${job.inHand} in hand`);
        const word = random() < 0.3 ? 'forget' : 'commit';
        if (word === 'commit') job.handedOver.push(at);
        job.inHand -= 1;
        await guard[word](job.key, later(at));
      }
      wrong.push(`${at} is never handed over`);
    }
    const jobs = ['a', 'b', 'c'].map((key): Job => ({ key, inHand: 0, latest: -1, handedOver: [] }));
    const lanes = jobs.flatMap((job) => Array.from({ length: 5 }, () => job));
    await Promise.all(
      lanes.map(async (job) => {
        for (let at = 0; at < 10; at++) await bring(job, at);
      }),
    );

    expect(wrong).toEqual([]);
    expect(jobs.map(({ handedOver }) => handedOver.at(-1))).toEqual([9, 9, 9]);
  });

  test('a lease is as long as the handler says by the clock of the database, and no other clock matters', async () => {
    const schema = nextSchema();
    const guard = await postgresReplayGuard({ pool: database.pool, schema });
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());

    await guard.begin('key', version, leaseMs, keepMs);

    const text = `select round(extract(epoch from lease_ends_at - now()) / 10)::integer as tens from ${schema}.handed_over`;
    expect((await database.pool.query(text)).rows).toEqual([{ tens: leaseMs / 10_000 }]);
  });

  test('the example hands over a version once', async () => {
    const service = stubService({ DATABASE_URL: database.connectionString });
    const log = vi.spyOn(console, 'log').mockImplementation(() => {});
    const { POST, pool } = await import('../../examples/share-replay-guard.ts');
    onTestFinished(() => pool.end());
    const job = completedJob(service);

    for (let n = 0; n < 2; n++) {
      expect((await service.sandbox.jobs.deliverCallback(job, { to: POST })).status).toBe(200);
    }

    expect(log).toHaveBeenCalledTimes(1);
    expect((await database.pool.query('select is_committed from hosted_tracking.handed_over')).rows).toEqual([
      { is_committed: true },
    ]);
  });
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
  await expect(guard.begin('key', version, leaseMs, keepMs)).rejects.toMatchObject(rejection('use the replay guard'));
});

test.each([
  ['no pool', {}, { pool: 'query' }],
  ['a pool that is none', { pool: {} }, { pool: 'query' }],
  ['every invalid option', { schema: 'A', migrate: 1 }, { migrate: 'true or false', pool: 'query', schema: 'letters' }],
  [
    'options that are elsewhere',
    { pool: { query() {}, connect() {} }, leaseMs: 1_000, retentionMs: 1_000 },
    { leaseMs: 'option of callbacks.handler', retentionMs: 'as long as the handler asks' },
  ],
])('postgresReplayGuard() refuses %s', async (_, options, said) => {
  const error = await postgresReplayGuard(options as never).catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(HostedConfigError);
  const issues = (error as HostedConfigError).issues.map(({ path, message }) => [path, message]);
  const expected = Object.entries(said).map(([path, part]) => [path, expect.stringContaining(part)]);
  expect(Object.fromEntries(issues)).toEqual(Object.fromEntries(expected));
});
