// A database that is configured, locked or broken in other ways than one hopes.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { createTracker } from 'hosted-client/tracking';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { endAbandoned } from '../../src/tracking/places/pool-sql.ts';
import { onEachDatabase } from '../support/on-each-database.ts';
import { type Cluster, startCluster } from './databases.ts';
import { createWorld, isIdle, openTracker, startWorker, takeConnection, until } from './world.ts';

onEachDatabase((database) => {
  test('a schema may have a name that SQL uses itself', async () => {
    const { world, tracker, completions } = await startWorker(createWorld(database), { schema: 'user' });
    const job = world.completeJob('approved');
    await tracker.track(job);

    await until(() => completions.length === 1);
  });

  test('stop() ends, though the database does not answer', async () => {
    const world = createWorld(database);
    let isHanging = false;
    let hung = 0;
    const hanging = <T>(work: () => Promise<T>) => {
      if (!isHanging) return work();
      hung += 1;
      return new Promise<T>(() => {});
    };
    const tracker = await world.open({
      pool: {
        query: (text, values) => hanging(() => world.pool.query(text, values)),
        connect: () => hanging(() => world.pool.connect()),
      },
    });
    await tracker.onCompletion(() => {});
    isHanging = true;
    await until(() => hung >= 2);

    await tracker.stop({ timeoutMs: 20 });
    await tracker.stop();
  });

  test('stop() waits for no budget', async () => {
    const world = createWorld(database);
    const first = await world.open();
    const jobs = Array.from({ length: 4 }, () => world.completeJob('approved'));
    await first.track(jobs);
    const worker = await world.open();
    let aborted = 0;
    await worker.onCompletion(({ signal }) => {
      if (signal.aborted) aborted += 1;
    });
    await world.rows('update FLEET set tokens = -2500');
    const startedAt = performance.now();

    await worker.stop({ timeoutMs: 20 });

    expect(performance.now() - startedAt).toBeLessThan(2_500);
    expect(aborted).toBe(0);
  });
});

describe('on a PostgreSQL of its own', { tags: ['postgresql'] }, () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster();
  }, 60_000);
  const pools: pg.Pool[] = [];
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await cluster.close();
  });

  function createPool(options: string, max = 10): pg.Pool {
    const pool = new pg.Pool({
      connectionString: cluster.connectionString,
      max,
      options,
      connectionTimeoutMillis: 20_000,
    });
    pool.on('error', () => {});
    pools.push(pool);
    return pool;
  }

  test("a transaction of the tracker is bounded, and the caller's own is not touched", async () => {
    const world = createWorld(cluster);
    const limits: unknown[] = [];
    const noteLimit = async (connection: pg.PoolClient) => {
      const { rows } = await connection.query('show idle_in_transaction_session_timeout');
      limits.push(rows[0]?.idle_in_transaction_session_timeout);
    };
    const pool = createPool('');
    const tracker = await world.open({
      pool: {
        query: (text, values) => pool.query(text, values),
        async connect() {
          const connection = await pool.connect();
          return {
            async query(text, values) {
              if (text.endsWith(' commit')) await noteLimit(connection);
              return connection.query(text, values);
            },
            release: (destroy) => connection.release(destroy),
          };
        },
      },
    });
    await tracker.onCompletion(() => {});
    const job = world.completeJob('approved');
    const connection = await takeConnection(pool);
    await connection.query('begin');
    await tracker.track(job, { db: connection });
    const { rows } = await connection.query('show idle_in_transaction_session_timeout');
    await connection.query('commit');
    await until(async () => (await tracker.get(job))?.state === 'done');

    expect(rows).toEqual([{ idle_in_transaction_session_timeout: '0' }]);
    expect(new Set(limits)).toEqual(new Set(['10s']));
    expect((await pool.query('show idle_in_transaction_session_timeout')).rows).toEqual(rows);
  });

  test('a statement that waits for a lock, and that nobody waits for, is ended, and those of others are not', async () => {
    const pool = createPool('');
    await pool.query('create table locked (a integer)');
    const holder = await takeConnection(pool);
    await holder.query('begin; lock table locked');
    const ended: string[] = [];
    const waiting = ['/* hosted-client */ select 1 from locked', 'select 1 from locked'].map((text) =>
      pool.query(text).then(
        () => 'done',
        (error: pg.DatabaseError) => ended.push(`${text}: ${error.code}`),
      ),
    );
    const waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
    await until(async () => (await pool.query(waits)).rows.length === 2);

    await pool.query(endAbandoned);
    expect((await pool.query(waits)).rows).toHaveLength(2);
    await pool.query(endAbandoned.replace('35000', '0'));
    await until(() => ended.length > 0);
    await holder.query('rollback');
    await Promise.all(waiting);

    expect(ended).toEqual(['/* hosted-client */ select 1 from locked: 57P01']);
  });

  test('a pool that may open a connection for ever is worth a line of the log', async () => {
    const world = createWorld(cluster);
    const pool = new pg.Pool({ connectionString: cluster.connectionString });
    pools.push(pool);

    await world.open({ pool });
    await world.open({ pool: createPool('') });

    expect(world.lines).toEqual([expect.stringMatching(/^warn .*"connectionTimeoutMillis"/)]);
  });

  test('connections that are ended again and again lose nothing', async () => {
    const { world, tracker, completions } = await startWorker(createWorld(cluster), {
      connectionString: cluster.connectionString,
      pool: undefined as never,
    });
    const jobs = Array.from({ length: 100 }, () => world.completeJob('approved'));
    // Once for each call of track(): at a fixed pace, a busy machine would get nowhere. It waits until they have ended.
    const kill = () =>
      cluster.pool.query(
        `select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = 'hosted-client' and random() < 0.3`,
      );
    for (const [n, job] of jobs.entries()) {
      let isTracked = false;
      while (!isTracked) {
        const tracking = tracker.track({ ...job, context: n }).then(
          () => true,
          () => false,
        );
        await kill();
        isTracked = await tracking;
      }
    }

    // What was under way has a lease: it is over at once.
    await world.endLeases();
    await until(() => isIdle(tracker));
    const contexts = new Map(completions.map(({ job, context }) => [job?.jobId, context]));
    expect(jobs.map(({ jobId }) => contexts.get(jobId))).toEqual(jobs.map((_, n) => n));
  });

  test('a lock that is held for ever is an error, and no connection stays behind', async () => {
    const world = createWorld(cluster);
    const holder = await takeConnection(world.pool);
    await holder.query('select pg_advisory_lock(hashtext($1))', [`hosted-client/tracking/${world.schema}`]);
    const pool = createPool('-c application_name=waiting', 2);

    await expect(world.open({ pool })).rejects.toMatchObject({ reason: 'unreachable' });

    await until(async () => {
      const { rows } = await world.pool.query(
        "select 1 from pg_stat_activity where application_name = 'waiting' and state <> 'idle'",
      );
      return rows.length === 0;
    });
    await holder.query('select pg_advisory_unlock_all()');
    await world.open({ pool });
  });

  test('a database that may only be read is an error for every write, and 503 for a callback', async () => {
    const world = createWorld(cluster);
    await world.open();
    const tracker = await world.open({ pool: createPool('-c default_transaction_read_only=on') });
    const job = world.completeJob('approved');

    await expect(tracker.track(job)).rejects.toMatchObject({ reason: 'unreachable', cause: { code: '25006' } });
    const response = await world.service.jobs.deliverCallback(job, { to: tracker.handler() });
    expect(response.status).toBe(503);
    expect(await tracker.get(job)).toBe(null);
  });

  test('a flood of callbacks with one signature makes no deadlock, and loses no genuine one', async () => {
    const { world, tracker } = await openTracker(createWorld(cluster), { pool: createPool('', 20) });
    await world.insertMentioned(9_990, 'old');
    // In whole seconds, so that the signature may name so many.
    const timestamp = `${new Date().toISOString().slice(0, 19)}Z`;
    const flood = Array.from({ length: 300 }, (_, n) => world.write({ timestamp, jobId: `invented ${n}` }));

    const results = await Promise.allSettled(flood.map((text) => tracker.receive(text)));

    expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect((await tracker.stats()).heard).toBeLessThanOrEqual(10_020);
  });
});

test('a server that accepts and never answers is an error within ten seconds', async () => {
  const { client } = createWorld({ pool: {} } as never);
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());

  const opening = createTracker({ client, connectionString: `postgresql://a:b@127.0.0.1:${port}/x` }).catch(
    (thrown) => thrown,
  );
  await once(server, 'connection');
  await vi.advanceTimersByTimeAsync(10_000);

  expect(await opening).toMatchObject({ name: 'HostedStorageError', reason: 'unreachable' });
});

/** The length of a message of PostgreSQL counts itself, but not the letter of its type. */
function writeMessage(type: string, body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + body.length);
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)]);
}

test.each(['a connection string', 'a pool of the caller'])(
  'a connection that the server ends in the moment it is open is an error, and the process goes on: %s',
  async (given) => {
    const { client } = createWorld({ pool: {} } as never);
    const ended = 'SFATAL\0VFATAL\0C57P01\0Mterminating connection due to administrator command\0\0';
    const server = createServer((socket) => {
      // All in one packet, so that the driver reads it in one turn.
      const packet = [writeMessage('R', '\0\0\0\0'), writeMessage('Z', 'I'), writeMessage('E', ended)];
      socket.once('data', () => socket.end(Buffer.concat(packet)));
      socket.on('error', () => {});
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const connectionString = `postgresql://a:b@127.0.0.1:${(server.address() as AddressInfo).port}/x`;
    const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 1_000 });
    pool.on('error', () => {});
    onTestFinished(() => pool.end());
    const uncaught: unknown[] = [];
    const note = (error: unknown) => uncaught.push(error);
    process.prependListener('uncaughtException', note);
    onTestFinished(() => void process.removeListener('uncaughtException', note));

    for (let tries = 0; tries < 12; tries++) {
      const opening = createTracker({ client, ...(given === 'a connection string' ? { connectionString } : { pool }) });
      await expect(opening).rejects.toMatchObject({ name: 'HostedStorageError', reason: 'unreachable' });
    }

    expect(uncaught).toEqual([]);
    // However many trackers share it.
    expect(pool.listenerCount('connect')).toBeLessThan(2);
  },
);
