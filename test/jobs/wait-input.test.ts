/** The options of a wait: what is said of those that are wrong, and what of them reaches each poll. */

import { type HostedClient, HostedValidationError } from 'hosted-client';
import { expect, onTestFinished, test } from 'vitest';
import { clientOf, rejection, signed } from '../support/fake-fetch.js';
import { failWhenClockIsIdle } from './idle-clock.js';
import { passed, pending, serviceOf } from './job-service.js';

failWhenClockIsIdle();

const job = { userId: 'user-1', jobId: 'job-1' };

test.each<[path: string, value: unknown, message?: RegExp]>([
  ['deadlineMs', -1, /^must be .*milliseconds, or Infinity$/],
  ['deadlineMs', 'soon', /^must be .*milliseconds, or Infinity$/],
  ['initialDelayMs', -1],
  ['initialDelayMs', Number.POSITIVE_INFINITY],
  ['minDelayMs', 0],
  ['minDelayMs', 31_000, /^must be at most "maxDelayMs" \(30000\), got 31000$/],
  ['maxDelayMs', 0],
  ['maxDelayMs', 2 ** 31],
  ['backoffFactor', 0.5, /^must be a number of 1 or more$/],
  ['backoffFactor', '2', /^must be a number of 1 or more$/],
  ['backoffFactor', Number.POSITIVE_INFINITY],
  ['jitter', 'no'],
  ['notFoundGraceMs', -1],
  ['maxConsecutiveErrors', -1],
  ['imageLinks', 1],
  ['history', 'true'],
  ['onPoll', 'log', /^must be a function$/],
  ['signal', {}],
])('a wait whose %s is %j says what would be right, and sends nothing', async (path, value, message = /^must be /) => {
  const { client, sent } = clientOf({});
  const options = { [path]: value };

  const errors = [
    await rejection(client.jobs.waitForCompletion(job, options), HostedValidationError),
    await rejection(firstOf(client.jobs.watch(job, options)), HostedValidationError),
  ];

  for (const error of errors) {
    expect(error).toMatchObject({
      ...{ code: 'validation', operation: 'jobs.status', outcome: 'not_sent' },
      issues: [{ path, message: expect.stringMatching(message) }],
      message: expect.stringMatching(`^Cannot get the status of a job: "${path}" must `),
    });
  }
  expect(sent).toEqual([]);
});

test('a wait names every bad option at once', async () => {
  const { client } = clientOf({});
  const options = { deadlineMs: -1, minDelayMs: 0, jitter: 1, onPoll: 1, timeoutMs: -1, intervalMs: 1 };
  const ofMany = { concurrency: 0, ...options };

  const errors = [
    await rejection(client.jobs.waitForCompletion(job, options as never), HostedValidationError),
    await rejection(firstOf(client.jobs.waitForAll([job], ofMany as never)), HostedValidationError),
  ];

  const paths = errors.map(({ issues }) => issues.map(({ path }) => path).sort());
  expect(paths).toEqual([options, ofMany].map((given) => Object.keys(given).sort()));
});

test.each([undefined, null, 5, { userId: 'user-1', jobId: 'job-1' }])(
  'waitForAll() of %j, which is no iterable, says so',
  async (jobs) => {
    const { client, sent } = clientOf({});

    const error = await rejection(
      (async () => {
        for await (const _ of client.jobs.waitForAll(jobs as never));
      })(),
      HostedValidationError,
    );

    expect(error).toMatchObject({
      operation: 'jobs.status',
      issues: [{ path: 'jobs', message: 'must be an iterable of jobs' }],
      message: 'Cannot get the status of a job: "jobs" must be an iterable of jobs',
    });
    expect(sent).toEqual([]);
  },
);

const oneByOne = 'must be one object with "userId" and "jobId", not the ids one by one';

test.each<[string, string, string, (client: HostedClient) => Promise<unknown>]>([
  ['status()', '', oneByOne, (client) => client.jobs.status('user-1' as never, 'job-1' as never)],
  ['waitForCompletion()', '', oneByOne, (client) => client.jobs.waitForCompletion('user-1' as never, 'job-1' as never)],
  ['waitForCompletion() and options', '', oneByOne, (client) => client.jobs.waitForCompletion('job-1' as never, {})],
  ['watch()', '', oneByOne, (client) => firstOf(client.jobs.watch('user-1' as never, 'job-1' as never))],
  [
    'waitForAll()',
    'jobs',
    'must be an iterable of objects with "userId" and "jobId", not the ids one by one',
    (client) => firstOf(client.jobs.waitForAll('user-1' as never, 'job-1' as never)),
  ],
  [
    'waitForAll() of a list',
    '',
    oneByOne,
    (client) =>
      firstOf(client.jobs.waitForAll(['user-1', 'job-1'] as never)).then(({ error }) => Promise.reject(error)),
  ],
  [
    'callbacks.confirm()',
    '',
    'must be what receive() returned',
    (client) => client.callbacks.confirm('user-1' as never, 'job-1' as never),
  ],
])('ids that are given one by one to %s are told as such, once', async (_, path, message, call) => {
  const { client, sent } = clientOf({});

  const error = await rejection(call(client), HostedValidationError);

  expect(error).toMatchObject({ issues: [{ path, message }] });
  expect(sent).toEqual([]);
});

async function firstOf<T>(entries: AsyncIterable<T>): Promise<T> {
  for await (const entry of entries) return entry;
  throw new Error('there is no entry');
}

test.each([undefined, null, {}])('a wait with %j for options has the defaults', async (options) => {
  const { client, clock, polledAt } = serviceOf(() => pending);

  const failed = rejection(client.jobs.waitForCompletion(job, options as never));
  await clock.advance(600_000);

  expect(await failed).toMatchObject({ code: 'poll_timeout', elapsedMs: 600_000 });
  expect(polledAt().at(0)).toBe(0);
});

test('the headers of a wait are sent with its polls', async () => {
  const { client, sent } = clientOf(signed(passed(job)));

  await client.jobs.waitForCompletion(job, { headers: { 'x-trace': 'trace-1' } });

  expect(sent.map(({ init }) => new Headers(init.headers).get('x-trace'))).toEqual(['trace-1']);
});

test('an abort while the last status is read rejects with the reason, though the deadline is over by then', async () => {
  const { client, clock } = serviceOf(() => pending, { latencyMs: 100 });
  const stopping = new AbortController();
  const options = { deadlineMs: 1_000, jitter: false, signal: stopping.signal };
  const statuses = client.jobs.watch(job, options)[Symbol.asyncIterator]();
  for (let poll = 0; poll < 2; poll++) {
    const next = statuses.next();
    await clock.advance(poll === 0 ? 100 : 800);
    expect((await next).value).toMatchObject({ state: 'pending' });
  }

  await clock.advance(200);
  const reason = new Error('the caller gave up');
  stopping.abort(reason);

  expect(await rejection(statuses.next())).toBe(reason);
});

test.each<[string, object | undefined]>([
  ['without options', undefined],
  ['with options', { deadlineMs: 600_000 }],
])('a totalTimeoutMs on Object.prototype does not lengthen a wait %s', async (_what, options) => {
  const { client, clock } = serviceOf((_asked, before) => (before.length < 20 ? pending : 'stall'), {
    totalTimeoutMs: 2_000_000,
    timeoutMs: 1_000_000,
  });
  let endedAt = Number.NaN;
  const startedAt = clock.now();
  Object.defineProperty(Object.prototype, 'totalTimeoutMs', { value: 1, configurable: true, writable: true });
  onTestFinished(() => {
    delete (Object.prototype as Record<string, unknown>).totalTimeoutMs;
  });

  const failed = rejection(client.jobs.waitForCompletion(job, options)).finally(() => {
    endedAt = clock.now() - startedAt;
  });
  await clock.advance(3_000_000);

  expect(await failed).toMatchObject({ code: 'poll_timeout' });
  expect(endedAt).toBe(600_000);
});
