/** The example: a web server and two workers over one PostgreSQL, and what its documents show. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import type { JobRef } from 'hosted-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from './databases.ts';
import { stubService, takeConnection, until } from './world.ts';

/** The example on a database of its own, with a service that is mocked. */
async function openExample() {
  const database = await openDatabase();
  const realFetch = globalThis.fetch;
  const service = stubService({ DATABASE_URL: database.connectionString });
  const { sandbox } = service;
  vi.stubGlobal('fetch', (input: string, init: RequestInit) =>
    String(input).startsWith('http://127.0.0.1') ? realFetch(input, init) : service.fetch(input, init),
  );
  vi.resetModules();
  const example = await import('../../examples/track-jobs.ts');
  const web = await example.open();
  const workers = [await example.open(), await example.open()];
  onTestFinished(async () => {
    await Promise.all([web, ...workers].map((tracker) => tracker.stop()));
    await example.close();
    await database.close();
  });
  const server = createServer(example.createApp(web)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    database,
    example,
    sandbox,
    workers,
    /** Sends the callback of a job to the web server. */
    async sendCallback(job: JobRef): Promise<number> {
      const to = async (request: Request) =>
        realFetch(`${url}/callbacks`, { method: 'POST', body: await request.arrayBuffer() });
      return (await sandbox.jobs.deliverCallback(job, { to })).status;
    },
    /** Posts a job of a customer to the web server. */
    async postJob(customer: number, job: object): Promise<number> {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify(job);
      return (await realFetch(`${url}/customers/${customer}/jobs`, { method: 'POST', headers, body })).status;
    },
  };
}

test('the example decides once about each customer, though each completion comes twice', {
  tags: ['postgresql'],
}, async () => {
  const { database, example, sandbox, workers, sendCallback, postJob } = await openExample();
  const handed: string[] = [];
  for (const worker of workers) {
    await worker.onCompletion(async (completion) => {
      handed.push(completion.key);
      await example.decide(completion);
      await example.decide(completion);
    });
  }

  const jobs = [1, 2, 3].map(() => sandbox.jobs.start());
  for (const [n, job] of jobs.entries()) {
    expect(await postJob(n, job)).toBe(202);
    sandbox.jobs.complete(job, n === 1 ? 'rejected' : 'approved');
    expect(await sendCallback(job)).toBe(200);
  }

  await until(() => handed.length >= 3);
  const verified = async () =>
    (await database.pool.query('select id, verified from customers order by id')).rows as {
      verified: boolean | null;
    }[];
  await until(async () => (await verified()).every((row) => row.verified !== null));
  expect(await verified()).toEqual([
    { id: 0, verified: true },
    { id: 1, verified: false },
    { id: 2, verified: true },
  ]);
});

test('the example lives on when a connection breaks in the middle of a transaction', {
  tags: ['postgresql'],
}, async () => {
  const { database, example, sandbox, workers, sendCallback, postJob } = await openExample();
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const job = sandbox.jobs.start();
  expect(await postJob(7, job)).toBe(202);
  const holder = await takeConnection(database.pool);
  await holder.query('begin; lock table customers in access exclusive mode');
  /** Ends the connections that wait for the table; whether there were any. */
  const breakWaiting = async () => {
    const { rows } = await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  };
  const failures: unknown[] = [];
  await workers[0]?.onCompletion((completion) =>
    example.decide(completion).catch((error) => {
      failures.push(error);
      throw error;
    }),
  );

  const posting = postJob(8, sandbox.jobs.start());
  await until(breakWaiting);
  expect(await posting).toBe(503);
  sandbox.jobs.complete(job, 'approved');
  expect(await sendCallback(job)).toBe(200);
  await until(async () => {
    await breakWaiting();
    return failures.length > 0;
  });

  await holder.query('commit');
  await until(async () => {
    const { rows } = await database.pool.query('select verified from customers where id = 7');
    return (rows[0] as { verified: boolean | null }).verified === true;
  });
});

test('a module that is loaded again gets the tracker that works, and after a failure another one', {
  tags: ['postgresql'],
}, async () => {
  const database = await openDatabase();
  onTestFinished(() => database.close());
  stubService({ DATABASE_URL: 'postgresql://127.0.0.1:1/jobs' });
  const loadAgain = async () => {
    vi.resetModules();
    return import('../../examples/one-tracker.ts');
  };

  await expect((await loadAgain()).openTracker()).rejects.toMatchObject({ code: 'storage', reason: 'unreachable' });
  vi.stubEnv('DATABASE_URL', database.connectionString);
  const tracker = await (await loadAgain()).openTracker();
  onTestFinished(async () => {
    await tracker.stop();
    Reflect.deleteProperty(globalThis, 'tracker');
  });

  expect(await (await loadAgain()).openTracker()).toBe(tracker);
});

test('the first program of docs/tracking.md hands over the end of a job of its link', async () => {
  const realFetch = globalThis.fetch;
  const { sandbox } = stubService({ JOBS_FOLDER: 'memory://', PORT: '0' });
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  const others = process.listeners('SIGINT');
  const example = await import('../../examples/track-in-a-folder.ts');
  onTestFinished(async () => {
    for (const listener of process.listeners('SIGINT')) {
      if (!others.includes(listener)) process.off('SIGINT', listener);
    }
    example.server.close();
    await example.tracker.stop();
  });
  if (!example.server.listening) await once(example.server, 'listening');
  const job = sandbox.jobs.start({ linkRefId: example.link.refId });
  sandbox.jobs.complete(job, 'approved');
  const url = `http://127.0.0.1:${(example.server.address() as AddressInfo).port}/callbacks`;
  const to = async (request: Request) => realFetch(url, { method: 'POST', body: await request.arrayBuffer() });

  expect((await sandbox.jobs.deliverCallback(job, { to })).status).toBe(200);

  await until(() => log.mock.calls.flat().includes('{"customer":7}: succeeded'));
});
