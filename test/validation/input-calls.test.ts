// What callers may pass to jobs.status, and as options of any call.

import { expect, test } from 'vitest';
import { clientOf, operations, rejection, signed } from '../support/fake-fetch.js';
import { expectRefusal } from './expect-refusal.js';

// jobs.status ---------------------------------------------------------------

test.each<[string, object, readonly string[]]>([
  ['no ids', {}, ['userId', 'jobId']],
  ['blank ids', { userId: '', jobId: ' ' }, ['userId', 'jobId']],
  ['ids that are numbers', { userId: 1, jobId: 2 }, ['userId', 'jobId']],
  ['flags as text', { userId: 'u', jobId: 'j', imageLinks: 'true', history: 'false' }, ['imageLinks', 'history']],
  ['flags as numbers', { userId: 'u', jobId: 'j', imageLinks: 1, history: 0 }, ['imageLinks', 'history']],
  ['ids and a flag', { userId: null, jobId: [], history: null }, ['userId', 'jobId', 'history']],
])('jobs.status() refuses %s and names every property', async (_what, query, paths) => {
  await expectRefusal((client) => client.jobs.status(query as never), paths);
});

test('jobs.status() sends its flags only where they are true', async () => {
  const { client, sent } = clientOf(signed({ job_complete: false }));
  const job = { userId: 'user-1', jobId: 'job-1' };
  const common = {
    partner_id: '085',
    user_id: 'user-1',
    job_id: 'job-1',
    timestamp: expect.any(String),
    sec_key: expect.any(String),
  };

  await client.jobs.status(job);
  await client.jobs.status({ ...job, imageLinks: false, history: false });
  await client.jobs.status({ ...job, imageLinks: true, history: true });

  expect(new Set(sent.map(({ url, init }) => `${init.method} ${url}`))).toEqual(
    new Set(['POST https://sandbox.hosted.test/v1/job_status']),
  );
  expect(sent.map(({ body }) => body)).toEqual([common, common, { ...common, image_links: true, history: true }]);
});

test('jobs.status() sends ids as they are, whatever they hold', async () => {
  const job = { userId: '../ü "\\\u2028', jobId: '__proto__' };
  const { client, sent } = clientOf(signed({ job_complete: false }));

  const status = await client.jobs.status(job);

  expect(sent[0]?.body).toMatchObject({ user_id: job.userId, job_id: job.jobId });
  expect(status).toMatchObject(job);
});

// Options of a call ---------------------------------------------------------

const badOptions: readonly [string, object, readonly string[]][] = [
  ['a timeout of 0', { timeoutMs: 0 }, ['timeoutMs']],
  ['a controller for a signal', { signal: new AbortController() }, ['signal']],
  ['a Headers object', { headers: new Headers({ 'x-y': 'z' }) }, ['headers']],
  ['an unknown option', { timeout: 5 }, ['timeout']],
  [
    'all of it',
    { timeoutMs: 0, totalTimeoutMs: 0, maxRetries: -1, signal: 5, headers: 5 },
    ['timeoutMs', 'totalTimeoutMs', 'maxRetries', 'signal', 'headers'],
  ],
];

test.each(
  operations.flatMap((operation) =>
    badOptions.map(([what, options, paths]) => ({ name: operation.name, what, options, paths, operation })),
  ),
)('$name refuses $what in its options', async ({ operation, options, paths }) => {
  await expectRefusal((client) => operation.call(client, options as never), paths);
});

// The only argument of links.list() is its options, which have no name there.
const withInput = operations.filter(({ name }) => name !== 'links.list');

test.each(withInput)('$name refuses options that are no object', async ({ call }) => {
  await expectRefusal((client) => call(client, 'id' as never), ['options']);
});

test('bad input and bad options are named together', async () => {
  await expectRefusal(
    (client) => client.jobs.status({ userId: '', jobId: 'j' }, { timeoutMs: 0, maxRetries: -1 }),
    ['userId', 'timeoutMs', 'maxRetries'],
  );
});

test('headers that are no plain object are refused with what to do', async () => {
  const { client } = clientOf({});

  const error = await rejection(client.links.get('ref-1', { headers: new Headers({ 'x-y': 'z' }) as never }));

  const message = 'must be an object with a property for each header: use Object.fromEntries(headers)';
  expect(error).toMatchObject({ issues: [{ path: 'headers', message }] });
});

test.each(operations)('$name sends the headers of its options beside its own', async ({ call, answer }) => {
  const { client, sent } = clientOf(answer(), { userAgentSuffix: 'shop/1.2' });

  await call(client, { headers: { 'X-Trace': 'trace-1' } });

  const headers = new Headers(sent[0]?.init.headers);
  expect(headers.get('x-trace')).toBe('trace-1');
  expect(headers.get('content-type')).toBe('application/json');
  expect(headers.get('accept')).toBe('application/json');
  expect(headers.get('user-agent')).toMatch(/^hosted-client\/\d+\.\d+\.\d+\S* shop\/1\.2$/);
});

test('without a suffix the user agent is the package and its version', async () => {
  const { client, sent } = clientOf({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' });

  await client.links.get('ref-1');

  expect(new Headers(sent[0]?.init.headers).get('user-agent')).toMatch(/^hosted-client\/\d+\.\d+\.\d+$/);
});
