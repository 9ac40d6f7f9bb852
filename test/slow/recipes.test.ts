/** The recipes of docs/recipes.md, each in its framework, against callbacks of the mock service. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { PGlite } from '@electric-sql/pglite';
import type { JobRef } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, type MockInstance, onTestFinished, test, vi } from 'vitest';
import { startRedis } from '../support/redis.ts';

const service = createMockService();
const { sandbox } = service;
// PostgreSQL in this process: the same SQL, and no server.
const postgres = new PGlite();
const printed: string[] = [];
let complaints: MockInstance<typeof console.error>;
const platformFetch = globalThis.fetch;

vi.mock('pg', () => ({
  Pool: class {
    query = (text: string, values?: unknown[]) => postgres.query(text, values);
    on = () => {};
    end = () => Promise.resolve();
  },
}));

// It takes seconds to open.
beforeAll(() => postgres.waitReady, 60_000);

beforeEach(() => {
  vi.stubEnv('HOSTED_PARTNER_ID', sandbox.clientOptions.partnerId);
  vi.stubEnv('HOSTED_API_KEY', sandbox.clientOptions.apiKey);
  vi.stubEnv('HOSTED_SANDBOX_BASE_URL', sandbox.baseUrl);
  vi.stubEnv('HOSTED_LOG', 'off');
  vi.stubEnv('PORT', '0');
  vi.stubGlobal('fetch', service.fetch);
  printed.length = 0;
  vi.spyOn(console, 'log').mockImplementation((text: string) => {
    printed.push(text);
  });
  complaints = vi.spyOn(console, 'error').mockImplementation(() => undefined);
});

afterAll(async () => {
  vi.unstubAllGlobals();
  await postgres.close();
});

function completedJob(outcome: 'approved' | 'rejected' = 'approved'): JobRef {
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, outcome);
  return job;
}

type To = (request: Request) => Promise<Response>;

/** To a server of this machine: the fetch of this process answers for the service. */
function overHttp(url: string): To {
  return async (request) =>
    platformFetch(url, { method: 'POST', headers: request.headers, body: await request.arrayBuffer() });
}

/** A callback as large as they grow, and a forged one. */
async function deliverTwo(job: JobRef, to: To): Promise<readonly number[]> {
  const genuine = await sandbox.jobs.deliverCallback(job, { to, padBytes: 1_500_000 });
  const forged = await sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });
  return [genuine.status, forged.status];
}

describe('Express and PostgreSQL', () => {
  async function listening(): Promise<string> {
    // Another process: it has seen no callback, and the table is there.
    vi.resetModules();
    const { server } = await import('../../examples/recipes/express-and-postgres.ts');
    if (!server.listening) await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test('a result of 1.5 MB is one row, whichever process it is delivered to', async () => {
    const [approved, rejected] = [completedJob('approved'), completedJob('rejected')];
    const [one, other] = [await listening(), await listening()];

    const statuses = [
      await deliverTwo(approved, overHttp(`${one}/callbacks`)),
      await deliverTwo(rejected, overHttp(`${other}/callbacks`)),
      await deliverTwo(approved, overHttp(`${other}/callbacks`)),
    ];

    expect(statuses).toEqual([
      [200, 401],
      [200, 401],
      [200, 401],
    ]);
    const { rows } = await postgres.query('select user_id, job_id, state from results order by state desc');
    expect(rows).toEqual([
      { user_id: approved.userId, job_id: approved.jobId, state: 'succeeded' },
      { user_id: rejected.userId, job_id: rejected.jobId, state: 'failed' },
    ]);
  });

  test('an interim result is pending, its verdict replaces it, and what was signed earlier replaces nothing', async () => {
    const job = sandbox.jobs.start();
    sandbox.jobs.report(job, { resultCode: '0812', resultText: 'Provisional Enroll' });
    const statesAfterDelivery = async () => {
      // To another process each time, which has handed nothing over.
      await sandbox.jobs.deliverCallback(job, { to: overHttp(`${await listening()}/callbacks`) });
      return (await postgres.query('select state from results where job_id = $1', [job.jobId])).rows;
    };

    expect(await statesAfterDelivery()).toEqual([{ state: 'pending' }]);
    sandbox.jobs.complete(job, 'rejected');
    expect(await statesAfterDelivery()).toEqual([{ state: 'failed' }]);
    await postgres.query("update results set state = 'succeeded', signed_at = signed_at + interval '1 hour'");
    expect(await statesAfterDelivery()).toEqual([{ state: 'succeeded' }]);
  });

  test('a database that fails lets the service deliver again', async () => {
    const to = overHttp(`${await listening()}/callbacks`);
    const job = completedJob();
    vi.spyOn(postgres, 'query').mockRejectedValueOnce(new Error('the connection is gone'));

    const failed = await sandbox.jobs.deliverCallback(job, { to });
    const again = await sandbox.jobs.deliverCallback(job, { to });

    expect([failed.status, again.status]).toEqual([500, 200]);
    expect(complaints).toHaveBeenCalledWith('a callback ended in 500: handle', expect.any(Error));
    const { rows } = await postgres.query('select state from results where job_id = $1', [job.jobId]);
    expect(rows).toEqual([{ state: 'succeeded' }]);
  });

  test('a person is sent to a link', async () => {
    const response = await platformFetch(`${await listening()}/verifications`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ userId: 'user-1' }),
    });

    const link = sandbox.links.all().at(-1);
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({ url: expect.stringMatching(/^https:/), refId: expect.any(String) });
    expect(link).toMatchObject({ user_id: 'user-1', is_single_use: true });
  });
});

test('Hono on Node takes 1.5 MB, and refuses a forged callback', async () => {
  const { server } = await import('../../examples/recipes/hono-on-node.ts');
  if (!server.listening) await once(server, 'listening');
  onTestFinished(() => {
    server.close();
  });
  const to = overHttp(`http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`);

  expect(await deliverTwo(completedJob(), to)).toEqual([200, 401]);
  expect(printed).toEqual([expect.stringMatching(/^change [0-9a-f]{64}: the job is succeeded$/)]);
});

// In workerd itself: `npm run check:runtimes`.
test('Hono on Workers takes its secrets from the bindings, and 1.5 MB', async () => {
  const { default: app } = await import('../../examples/recipes/hono-on-workers.ts');
  const bindings = {
    HOSTED_PARTNER_ID: sandbox.clientOptions.partnerId,
    HOSTED_API_KEY: sandbox.clientOptions.apiKey,
    HOSTED_SANDBOX_BASE_URL: sandbox.baseUrl,
    HOSTED_LOG: 'off',
  };
  for (const name of Object.keys(bindings)) vi.stubEnv(name, undefined);

  expect(await deliverTwo(completedJob(), async (request) => app.fetch(request, bindings))).toEqual([200, 401]);
  expect(printed).toHaveLength(1);
});

// The cron script needs a PostgreSQL server: `npm run check:consumers`.
test('BullMQ: a callback of 1.5 MB is a job of two ids, which a worker asks about', {
  tags: ['redis'],
  timeout: 30_000,
}, async () => {
  const redis = await startRedis();
  onTestFinished(redis.close);
  vi.stubEnv('REDIS_URL', redis.url);
  const { queue, worker, POST } = await import('../../examples/recipes/bullmq.ts');
  onTestFinished(async () => {
    await worker.close();
    await queue.close();
  });
  const job = completedJob();

  expect(await deliverTwo(job, POST)).toEqual([200, 401]);
  await vi.waitFor(() => expect(printed).toEqual(['the job is succeeded']), { timeout: 20_000 });

  const queued = await queue.getJobs();
  expect(queued.map(({ data }) => data)).toEqual([{ userId: job.userId, jobId: job.jobId }]);
});
