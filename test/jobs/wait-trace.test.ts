// Waits on their tracing channel: one message for each job that is waited for.

import { expect, onTestFinished, test, vi } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { subscribeTo } from '../support/traced.js';
import { failWhenClockIsIdle } from './idle-clock.js';
import { start, steady } from './started-job.js';

failWhenClockIsIdle();

failOnStrayRejections();

test('a wait of five polls is one message, and its five calls run within its store', async () => {
  const { inside, ended, seen } = subscribeTo('wait', 'call');
  const polls: unknown[] = [];
  const { client, clock, job, complete, fetch } = start();
  const counted = client.withOptions({
    fetch: async (...given) => {
      polls.push(inside().map((message) => 'polls' in message));
      return fetch(...given);
    },
  });

  const waited = counted.jobs.waitForCompletion(job, { ...steady, backoffFactor: 1 });
  await clock.advance(6_000);
  complete('rejected');
  await clock.advance(2_000);
  await waited;

  expect(polls).toEqual(Array(5).fill([true, false]));
  expect(ended('call')).toHaveLength(5);
  expect(ended('wait')).toEqual([{ callId: 1, operation: 'jobs.status', polls: 5, outcome: 'ok', errorCode: null }]);
  expect(seen.at(0)).toMatchObject({ channel: 'wait', step: 'start' });
  expect(seen.at(-1)).toMatchObject({ channel: 'wait', step: 'asyncEnd' });
  for (const id of [job.userId, job.jobId]) expect(JSON.stringify(seen)).not.toContain(id);
});

test('a wait that fails, times out or is left ends with what became of it', async () => {
  const { ended, seen } = subscribeTo('wait');
  const { client, clock, job, fail } = start();
  const stopping = new AbortController();

  fail({ kind: 'bad-signature' });
  await Promise.all([rejection(client.jobs.waitForCompletion(job)), clock.advance(0)]);
  const timedOut = rejection(client.jobs.waitForCompletion(job, { deadlineMs: 1_000 }));
  await clock.advance(1_000);
  await timedOut;
  for await (const _status of client.jobs.watch(job)) break;
  const aborted = rejection(client.jobs.waitForCompletion(job, { signal: stopping.signal }));
  await clock.advance(0);
  stopping.abort();
  await aborted;

  expect(ended('wait').map(({ outcome, errorCode }) => [outcome, errorCode])).toEqual([
    ['answered', 'signature'],
    ['answered', 'poll_timeout'],
    ['aborted', null],
    ['aborted', null],
  ]);
  expect(seen.filter(({ step }) => step === 'error')).toHaveLength(2);
});

test('each job of waitForAll is a message of its own, those that are left too, and its polls run within it', async () => {
  const { inside, ended, seen } = subscribeTo('wait');
  const polled: (readonly object[])[] = [];
  const { client, clock, job, complete, sandbox, fetch } = start();
  const other = sandbox.jobs.start({ userId: 'user-4712', jobId: 'job-0816' });
  const counted = client.withOptions({
    fetch: async (...given) => {
      polled.push(inside());
      return fetch(...given);
    },
  });

  const first = (async () => {
    for await (const { status } of counted.jobs.waitForAll([job, other], steady)) return status?.state;
    return undefined;
  })();
  await clock.advance(2_000);
  complete();
  await clock.advance(3_000);

  expect(await first).toBe('succeeded');
  expect(ended('wait').map(({ polls, outcome }) => [polls, outcome])).toEqual([
    [3, 'ok'],
    [3, 'aborted'],
  ]);
  const messages = seen.filter(({ step }) => step === 'start').map(({ identity }) => identity);
  expect(polled.map((within) => within.map((message) => messages.indexOf(message)))).toEqual(
    Array.from({ length: 6 }, (_, index) => [index % 2]),
  );
});

test('a job of waitForAll whose deadline passes while others take all requests ends with its error', async () => {
  const { ended } = subscribeTo('wait');
  const { client, clock, sandbox } = start();
  const jobs = Array.from({ length: 3 }, () => sandbox.jobs.start());

  const errors: unknown[] = [];
  const waited = (async () => {
    for await (const { error } of client.jobs.waitForAll(jobs, { ...steady, deadlineMs: 5_000, concurrency: 1 })) {
      errors.push(error?.code);
    }
  })();
  await clock.advance(20_000);
  await waited;

  expect(errors).toEqual(['poll_timeout', 'poll_timeout', 'poll_timeout']);
  expect(ended('wait').map(({ errorCode }) => errorCode)).toEqual(errors);
});

test('on a platform without tracing channels, a wait ends with its status', async () => {
  onTestFinished(() => {
    vi.restoreAllMocks();
    vi.resetModules();
  });
  const { getBuiltinModule } = process;
  vi.spyOn(process, 'getBuiltinModule').mockImplementation(((name: string) =>
    name.endsWith('diagnostics_channel') ? undefined : getBuiltinModule(name)) as typeof getBuiltinModule);
  vi.resetModules();
  const { client, clock, job, complete } = (await import('./started-job.js')).start();
  complete();

  const waited = client.jobs.waitForCompletion(job);
  await clock.advance(0);

  expect((await waited).state).toBe('succeeded');
});
