// What the application, the role and the database around a tracker may have set.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTracker, migrateTracking } from 'hosted-client/tracking';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createRole, grantRights } from '../support/postgresql-places.ts';
import { type Cluster, startCluster } from './databases.ts';
import { createWorld, startWorker, until } from './world.ts';

const own = { 16: String, 20: BigInt, 23: BigInt, 114: String, 701: String, 1184: String, 2950: String };

describe('in company', { tags: ['postgresql'] }, () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
    const rules = join(cluster.folder, 'data', 'pg_hba.conf');
    writeFileSync(rules, `host all guarded 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`);
    await cluster.pool.query("create role guarded login password 'right'");
    await cluster.pool.query('select pg_reload_conf()');
  });
  afterAll(() => cluster.close());
  const urlOf = (name: string) => cluster.connectionString.replace(/postgres$/, name);

  test.each(['own', 'given'])(
    'type parsers of the application change nothing with connections that are %s',
    async (kind) => {
      const before = Object.keys(own).map((oid) => [Number(oid), pg.types.getTypeParser(Number(oid))] as const);
      for (const [oid, parse] of Object.entries(own)) pg.types.setTypeParser(Number(oid), parse as never);
      const pool = new pg.Pool({ connectionString: cluster.connectionString, connectionTimeoutMillis: 20_000 });
      onTestFinished(async () => {
        for (const [oid, parse] of before) pg.types.setTypeParser(oid, parse as never);
        await pool.end();
      });
      const world = createWorld(cluster);
      const place = kind === 'own' ? { pool: undefined, connectionString: cluster.connectionString } : { pool };
      const { tracker, completions } = await startWorker(world, place as never);
      const link = await world.client.links.create({
        companyName: 'A',
        dataPrivacyPolicyUrl: 'https://a.test/p',
        callbackUrl: 'https://a.test/c',
      });
      await tracker.trackLink(link.refId, { context: { a: [1, true] } });
      const job = world.completeJob('approved', link.refId);

      await tracker.receive(await (await world.service.jobs.callback(job)).text());
      await until(() => completions.length === 1);

      expect(completions[0]).toMatchObject({
        job,
        context: { a: [1, true] },
        linkRefId: link.refId,
        revision: 1,
        attempt: 1,
      });
      await until(async () => (await tracker.get(job))?.state === 'done');
      expect(await tracker.stats()).toMatchObject({ tracking: 0, links: 1, handingOver: 0 });
    },
  );

  test.each([
    ['a database that does not exist', () => urlOf('missing'), 'the database does not exist (3D000)'],
    ['another encoding', () => urlOf('latin'), 'the database has the encoding LATIN1: use one with the encoding UTF8'],
    [
      'a refused password',
      () => urlOf('postgres').replace('tracker@', 'guarded:planted@'),
      'the database refused the role or its password (28P01)',
    ],
    [
      'a refused role',
      () => urlOf('postgres').replace('tracker@', 'unknown@'),
      'the database refused the role (28000)',
    ],
  ])('%s is named, and not tried again', async (_, connectionString, message) => {
    await cluster.pool.query("select 1 from pg_database where datname = 'latin'").then(async ({ rows }) => {
      if (rows.length > 0) return;
      await cluster.pool.query(
        "create database latin encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0",
      );
    });
    const { client } = createWorld(cluster);

    await expect(createTracker({ client, connectionString: connectionString() })).rejects.toMatchObject({
      code: 'storage',
      reason: 'unreachable',
      retryable: false,
      message: `Cannot create a tracker: ${message}`,
    });
  });

  test.each(['fleet', 'tracked'])('row level security of %s is an error, and no idle worker', async (table) => {
    const world = createWorld(cluster);
    const connectionString = await createRole(cluster, `hidden_${table}`, { mayCreate: false });
    await migrateTracking({ connectionString: cluster.connectionString, schema: world.schema, apply: true });
    await grantRights(cluster.pool, `hidden_${table}`, { schema: world.schema, page: 'docs/tracking.md' });
    const place = { pool: undefined as never, connectionString, migrate: false };
    const [first, second] = [await world.open(place), await world.open(place)];
    await first.onCompletion(() => {});

    await cluster.pool.query(`alter table ${world.schema}.${table} enable row level security`);

    await expect(second.onCompletion(() => {})).rejects.toMatchObject({ code: 'storage', reason: 'not_migrated' });
    await until(() => world.lines.some((line) => line.includes('row level security')));
    await until(() => world.events.some((event) => event.type === 'problem' && event.code === 'storage'));
  });

  test('columns that others add to the tables change nothing', async () => {
    const { world, tracker, completions } = await startWorker(createWorld(cluster));
    const names =
      'taken, first, chosen, before, room, rows, tokens, floor, credit, known, links, is_late, is_free, n, f, s, t';
    const more = (names: string) =>
      names
        .split(', ')
        .map((name) => `add column if not exists ${name} integer default 0`)
        .join();
    await world.rows(`alter table TRACKED ${more(`${names}, rate, problem_code`)}`);
    await world.rows(`alter table FLEET ${more(`${names}, key, due, state, revision, attempts, outcome, context`)}`);
    const job = world.completeJob('approved');

    await tracker.track({ ...job, context: 'mine' });

    await until(() => completions.length === 1);
    expect(completions).toMatchObject([{ job, context: 'mine', attempt: 1, revision: 1 }]);
    await until(async () => (await tracker.get(job))?.state === 'done');
  });

  test("a role's DateStyle, time zone and strings change nothing", async () => {
    for (const setting of [
      "datestyle = 'German'",
      "timezone = 'Asia/Kathmandu'",
      'standard_conforming_strings = off',
      "intervalstyle = 'iso_8601'",
    ])
      await cluster.pool.query(`alter database postgres set ${setting}`);
    const pool = new pg.Pool({ connectionString: cluster.connectionString, connectionTimeoutMillis: 20_000 });
    onTestFinished(() => pool.end());
    const world = createWorld(cluster);
    const { tracker, completions } = await startWorker(world, { pool });
    const job = world.completeJob('approved');
    await tracker.track({ ...job, context: "it's \\ back", deadline: new Date('2040-01-01T00:00:00Z') });

    await until(() => completions.length === 1);

    expect(completions[0]).toMatchObject({ context: "it's \\ back" });
  });
});
