/**
 * docs/moving.md, held to its word: its tables are true, and what it says of hand-written calls happens to
 * them, and not to the client.
 */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HostedClient, HostedResponseError, HostedSignatureError, type JobRef } from 'hosted-client';
import { createMockService, type MockService } from 'hosted-client/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkJob } from '../../examples/by-hand/check-job.js';
import { createLink } from '../../examples/by-hand/create-link.js';
import { listLinks } from '../../examples/by-hand/list-links.js';
import { post } from '../../examples/by-hand/post.js';
import { app, verified } from '../../examples/by-hand/receive-callbacks.js';
import { retrying } from '../../examples/by-hand/retry.js';
import { waitForJob } from '../../examples/by-hand/wait-for-job.js';
import { clientOf, recordingClock, rejection, signed } from '../support/fake-fetch.js';
import { apiKeyOf, hmac } from '../testing/partner.js';

const page = readFileSync('docs/moving.md', 'utf8');
const platformFetch = globalThis.fetch;
const servers: Server[] = [];
const newLink = {
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://example.test/privacy',
  callbackUrl: 'https://example.test/callbacks',
};

let service: MockService;
let client: HostedClient;

beforeEach(() => {
  // The sample's dialect: `signature` is the one member these hand-written calls know.
  use(createMockService({ spelling: 'sample' }));
  verified.length = 0;
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
});

afterEach(async () => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

function use(other: MockService): void {
  service = other;
  vi.stubGlobal('fetch', service.fetch);
  vi.stubEnv('HOSTED_PARTNER_ID', service.sandbox.clientOptions.partnerId);
  vi.stubEnv('HOSTED_API_KEY', apiKeyOf(service.sandbox));
  vi.stubEnv('HOSTED_SANDBOX_BASE_URL', service.sandbox.baseUrl);
  client = HostedClient.fromEnv();
}

describe('while all goes well', () => {
  test('hand-written calls and the client see the same links', async () => {
    const created = await createLink();
    const { url, refId } = await client.links.create(newLink);

    expect((await client.links.get(created.ref_id)).url).toBe(created.link);
    expect((await post(`hosted_links/${refId}`, {})).link_url).toBe(url);
    expect((await listLinks()).map(({ ref_id }) => ref_id)).toEqual([created.ref_id, refId]);
  });

  test('a job that hand-written code began to wait for is waited for by its two ids', async () => {
    const job = service.sandbox.jobs.start();
    expect(await checkJob(job.userId, job.jobId)).toMatchObject({ job_complete: false });
    service.sandbox.jobs.complete(job, 'approved');

    expect(await waitForJob(job.userId, job.jobId)).toBe('verified');
    expect(await client.jobs.waitForCompletion(job)).toMatchObject({ state: 'succeeded' });
  });
});

describe('creating', () => {
  test('a retry by hand makes two links of a lost response, the client one', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    service.sandbox.failNext('links.create', { kind: 'truncate' });

    await passingTime(retrying(createLink));
    expect(service.sandbox.links.all()).toHaveLength(2);

    service.reset();
    vi.useRealTimers();
    service.sandbox.failNext('links.create', { kind: 'truncate' });
    const error = await rejection(client.links.create(newLink));

    expect(service.sandbox.links.all()).toHaveLength(1);
    expect(error).toMatchObject({ outcome: 'unknown', retryable: false });
  });

  test('a retry by hand repeats what will be refused again, the client does not', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    service.sandbox.failNext('links.list', { kind: 'status', status: 422 }, 4);

    await passingTime(rejection(retrying(listLinks)));
    expect(service.sandbox.requests).toHaveLength(3);

    vi.useRealTimers();
    expect(await rejection(client.links.list())).toMatchObject({ code: 'api', attempts: 1 });
  });

  test('an error by hand carries what the service said, the client’s does not', async () => {
    const refusal = { kind: 'status', status: 400, body: { error: 'Grace Hopper is known already' } } as const;
    service.sandbox.failNext('links.create', refusal, 2);

    expect(String(await rejection(createLink()))).toContain('Grace Hopper');
    expect(String(await rejection(client.links.create(newLink)))).not.toContain('Grace');
  });

  test('a field or an id can turn a call by hand into another, and is refused by the client', async () => {
    service.sandbox.links.seed(3);
    const [refId, extra] = ['list', { partner_id: 'somebody-else' }];

    expect((await post(`hosted_links/${refId}`, {})).links).toHaveLength(3);
    await expect(post('hosted_links/list', extra)).rejects.toThrow('Unknown partner');
    const sent = service.sandbox.requests.length;

    expect(await rejection(client.links.get(refId))).toMatchObject({ code: 'validation' });
    expect(await rejection(client.links.create({ ...newLink, extra }))).toMatchObject({ code: 'validation' });
    expect(service.sandbox.requests).toHaveLength(sent);
  });

  test('a redirect takes a request by hand, signature and all, to wherever it points', async () => {
    const taken: string[] = [];
    const elsewhere = await listening(async (request, response) => {
      taken.push(Buffer.concat(await request.toArray()).toString());
      response.setHeader('content-type', 'application/json').end('{}');
    });
    const home = await listening((request, response) => {
      request.resume();
      response.writeHead(307, { location: `${elsewhere}${request.url}` }).end();
    });
    vi.stubGlobal('fetch', platformFetch);
    vi.stubEnv('HOSTED_SANDBOX_BASE_URL', home);

    await createLink();
    expect(taken).toEqual([expect.stringMatching(/"signature":"[\w+/]{43}="/)]);

    const error = await rejection(HostedClient.fromEnv().links.create(newLink));
    expect(error).toBeInstanceOf(HostedResponseError);
    expect(error).toMatchObject({ reason: 'redirect' });
    expect(taken).toHaveLength(1);
  });
});

describe('job status', () => {
  test('a response of an hour ago is trusted by hand, and stale to the client', async () => {
    const job = service.sandbox.jobs.start();
    service.sandbox.failNext('jobs.status', { kind: 'stale-timestamp' }, 2);

    expect(await checkJob(job.userId, job.jobId)).toMatchObject({ job_complete: false });
    expect(await rejection(client.jobs.status(job))).toMatchObject({ code: 'signature', reason: 'stale' });
  });

  test('a response about another job is trusted by hand, and a mismatch to the client', async () => {
    const job = service.sandbox.jobs.start();
    answerNext({ user_id: 'somebody-else', job_id: 'another-job', job_complete: true, job_success: true });

    expect(await checkJob(job.userId, job.jobId)).toMatchObject({ job_success: true });
    expect(await rejection(client.jobs.status(job))).toMatchObject({ code: 'response', reason: 'mismatch' });
  });

  test('a request’s own signature that comes back is trusted by hand, and reflected to the client', async () => {
    const job = service.sandbox.jobs.start();
    vi.stubGlobal('fetch', async (_url: unknown, { body }: { body: string }) => {
      const { timestamp, sec_key } = JSON.parse(body);
      return Response.json({ timestamp, signature: sec_key, job_complete: true, job_success: true });
    });

    expect(await checkJob(job.userId, job.jobId)).toMatchObject({ job_success: true });
    const error = await rejection(HostedClient.fromEnv().jobs.status(job));
    expect(error).toBeInstanceOf(HostedSignatureError);
    expect(error).toMatchObject({ reason: 'reflected' });
  });

  test('an honest response in the other spelling is refused by hand, and trusted by the client', async () => {
    use(createMockService({ spelling: 'table' }));
    const job = service.sandbox.jobs.start();

    await expect(checkJob(job.userId, job.jobId)).rejects.toThrow('The signature is wrong');
    expect(await client.jobs.status(job)).toMatchObject({ state: 'pending' });
  });
});

describe('waiting', () => {
  test('a code that nobody mapped is polled for ever by hand, and a result to the client', async () => {
    const job = service.sandbox.jobs.start();
    answerNext({ job_complete: true, job_success: false, code: '2307', result: {} }, 1_000);
    expect(await client.jobs.waitForCompletion(job)).toMatchObject({ state: 'failed', code: '2307' });

    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let settled = false;
    const waiting = rejection(waitForJob(job.userId, job.jobId)).finally(() => {
      settled = true;
    });
    while (service.sandbox.requests.length < 300) await aWhile();

    expect(settled).toBe(false);
    vi.stubGlobal('fetch', () => Promise.reject(new Error('The test is over')));
    expect(await passingTime(waiting)).toMatchObject({ message: 'The test is over' });
  });

  test('a failure in the spelling of text is a success by hand, and a failure to the client', async () => {
    const job = service.sandbox.jobs.start();
    answerNext({ job_complete: 'true', job_success: 'false', code: '2302', result: {} });

    expect(await waitForJob(job.userId, job.jobId)).toBe('verified');
    expect(await client.jobs.waitForCompletion(job)).toMatchObject({ state: 'failed' });
  });

  test('one bad response ends a wait by hand, and not the client’s', async () => {
    const job = service.sandbox.jobs.start();
    service.sandbox.jobs.complete(job, 'approved');
    service.sandbox.failNext('jobs.status', { kind: 'status', status: 503 });
    await expect(waitForJob(job.userId, job.jobId)).rejects.toThrow('503');

    service.sandbox.failNext('jobs.status', { kind: 'status', status: 503 });
    const clock = recordingClock(undefined, Date.now());
    const patient = client.withOptions({ clock });
    expect(await patient.jobs.waitForCompletion(job, { jitter: false })).toMatchObject({ state: 'succeeded' });
    expect(clock.slept).toContain(2_000);
  });
});

describe('listing', () => {
  test('where pages begin at 0, the first is lost by hand, and none to the client', async () => {
    use(createMockService({ spelling: 'sample', firstPage: 0 }));
    service.sandbox.links.seed(45);

    expect(await listLinks()).toHaveLength(25);
    expect(await client.links.list().toArray({ limit: 100 })).toHaveLength(45);
  });
});

describe('receiving callbacks', () => {
  async function handlers() {
    const url = `${await listening(app)}/callbacks`;
    const events: string[] = [];
    const handle = client.callbacks.handler({
      onEvent: ({ userId }, { state }) => {
        events.push(`${userId} ${state}`);
      },
    });
    const byHand = async (request: Request) =>
      platformFetch(url, { method: 'POST', headers: request.headers, body: await request.arrayBuffer() });
    return { byHand, handle, events };
  }

  function completed(outcome: 'approved' | 'rejected'): JobRef {
    const job = service.sandbox.jobs.start();
    service.sandbox.jobs.complete(job, outcome);
    return job;
  }

  test('a rejection altered into an approval passes by hand, and is a rejection to the client', async () => {
    const { byHand, handle, events } = await handlers();
    const job = completed('rejected');

    const answers = [
      await service.sandbox.jobs.deliverCallback(job, { to: byHand, variant: 'altered' }),
      await service.sandbox.jobs.deliverCallback(job, { to: handle, variant: 'altered' }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(verified).toEqual([job.userId]);
    expect(events).toEqual([`${job.userId} failed`]);
  });

  test('a callback that is sent twice is handled twice by hand, and once by the client', async () => {
    const { byHand, handle, events } = await handlers();
    const job = completed('approved');

    for (const to of [byHand, byHand, handle]) await service.sandbox.jobs.deliverCallback(job, { to });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await passingTime(service.sandbox.jobs.deliverCallback(job, { to: handle }));

    expect(verified).toHaveLength(2);
    expect(events).toEqual([`${job.userId} succeeded`]);
  });

  test('a callback of last week is news by hand, and refused by the client', async () => {
    const { byHand, handle } = await handlers();
    const timestamp = new Date(Date.now() - 7 * 24 * 3_600_000).toISOString();
    const PartnerParams = { user_id: 'user-1', job_id: 'job-1' };
    const signature = hmac(apiKeyOf(service.sandbox), timestamp);
    const body = JSON.stringify({ ResultCode: '0810', PartnerParams, timestamp, signature });
    const headers = { 'content-type': 'application/json' };
    const late = () => new Request('https://partner.test/callbacks', { method: 'POST', headers, body });

    expect([(await byHand(late())).status, (await handle(late())).status]).toEqual([200, 401]);
  });

  test('a callback with images is lost by hand, and received by the client', async () => {
    const { byHand, handle } = await handlers();
    const job = completed('approved');

    const lost = await service.sandbox.jobs.deliverCallback(job, { to: byHand, padBytes: 1_500_000 });
    const received = await service.sandbox.jobs.deliverCallback(job, { to: handle, padBytes: 1_500_000 });

    expect([lost.status, received.status]).toEqual([413, 200]);
  });
});

describe('the tables', () => {
  const link = {
    link: 'https://links.hosted.test/1',
    link_url: 'https://links.hosted.test/1',
    ref_id: 'ref-1',
    link_id: 'ref-1',
    name: 'Account opening',
    is_single_use: 'true',
    callback_url: 'https://partner.test/callbacks',
    data_privacy_policy_url: 'https://partner.test/privacy',
    logo_url: 'https://partner.test/logo.png',
    user_id: 'user-1',
    user_ids: ['user-1'],
    total_jobs: 3,
    failed_jobs: '1',
    successful_jobs: 2,
    company_name: 'Example Ltd',
    partner_id: '085',
    created_at: '2026-01-01T00:00:00Z',
    updated_at: '2026-01-01T01:00:00Z',
    expires_at: '2026-04-01T00:00:00Z',
    disabled_at: '2026-01-02T00:00:00Z',
  };
  const entry = {
    ResultCode: '0810',
    ResultText: 'Enroll User',
    ResultType: 'SAIA',
    HostedJobID: '0000001897',
    JSONVersion: '1.0.0',
    IsFinalResult: 'true',
    IsMachineResult: 'false',
    ConfidenceValue: '99.99',
    Actions: { Liveness_Check: 'Passed' },
    PartnerParams: { user_id: 'user-1', job_id: 'job-1', job_type: 4, link_id: 'ref-1' },
    FullName: 'Test Person',
    DOB: '1900-01-01',
    IDNumber: 'T00000000',
    IDType: 'PASSPORT',
    Country: 'ZZ',
    ExpirationDate: 'Not Available',
  };
  const status = {
    job_complete: 'true',
    job_success: false,
    code: 2302,
    image_links: { selfie_image: 'https://images.hosted.test/1.jpg' },
  };

  test('links have the clean names it says', async () => {
    const { client } = clientOf(link);

    const clean = await client.links.get('ref-1');

    expect(differing('Links', link, clean)).toEqual([]);
    expect(clean.idTypes).toEqual([]);
  });

  test('job status has the clean names it says', async () => {
    const wire = signed({ ...status, result: entry, history: [entry] });
    const { client } = clientOf(wire);

    const clean = await client.jobs.status({ userId: 'user-1', jobId: 'job-1', history: true, imageLinks: true });

    expect(differing('Job status', wire, clean)).toEqual([]);
    expect(differing('Results', entry, clean.history?.[0])).toEqual([]);
  });

  test('callbacks have the clean names it says', async () => {
    const wire = signed(entry);
    const { client } = clientOf({});

    const clean = await client.callbacks.receive(JSON.stringify(wire));

    expect(differing('Callbacks', wire, clean)).toEqual([]);
  });

  test.each(
    rowsUnder('Errors').flatMap(([said, name]) => [...said.matchAll(/\b\d{3,4}\b/g)].map(([number]) => [number, name])),
  )('%s is a %s', async (number = '', name) => {
    const answer =
      number.length === 3
        ? Response.json({}, { status: Number(number) })
        : Response.json({ error: 'Refused', code: number }, { status: 400 });
    const { client } = clientOf(answer, { maxRetries: 0 });

    expect(await rejection(client.jobs.status({ userId: 'user-1', jobId: 'job-1' }))).toMatchObject({ name });
  });

  // The rows of a table whose wire members and clean member do not hold the same.
  function differing(heading: string, wire: object, clean: unknown): readonly string[] {
    const pairs = rowsUnder(heading).flatMap(([left, path]) =>
      [...left.matchAll(/`([^`]+)`/g)].map(([, member = '']) => [member, path] as const),
    );
    expect(pairs.length).toBeGreaterThan(4);
    return pairs
      .filter(([member, path]) => !same(at(wire, member), at(clean, path)))
      .map(([member, path]) => `${member} → ${path}`);
  }
});

/** The rows under a heading whose second cell is one name in code. */
function rowsUnder(heading: string): readonly (readonly [left: string, name: string])[] {
  const section = page.split(`### ${heading}\n`)[1]?.split(/\n##/)[0] ?? '';
  return [...section.matchAll(/^\| (.+?) \| `([\w.]+)` \|/gm)].map(([, left = '', name = '']) => [left, name]);
}

function at(value: unknown, path: string): unknown {
  return path.split('.').reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], value);
}

/** Whether a clean value is the wire's, read as what it is. */
function same(wire: unknown, clean: unknown): boolean {
  if (wire === undefined || clean === undefined) return false;
  if (clean instanceof Date) return clean.getTime() === Date.parse(String(wire));
  if (typeof clean === 'number') return clean === Number(wire);
  if (Array.isArray(clean)) return clean.length === [wire].flat().length;
  if (typeof clean === 'object' && clean !== null) return typeof wire === 'object';
  return String(wire) === String(clean);
}

/** The next answers of job status, signed by a second implementation a second ago. */
function answerNext(record: object, times = 2): void {
  const timestamp = new Date(Date.now() - 1_000).toISOString();
  const body = { ...record, timestamp, signature: hmac(apiKeyOf(service.sandbox), timestamp) };
  service.sandbox.failNext('jobs.status', { kind: 'status', status: 200, body }, times);
}

async function aWhile(): Promise<void> {
  await vi.advanceTimersByTimeAsync(2_000);
  await new Promise((resolve) => setImmediate(resolve));
}

/** Lets the faked time pass until a promise is settled. */
async function passingTime<T>(promise: Promise<T>): Promise<T> {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  while (!settled) await aWhile();
  return promise;
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
