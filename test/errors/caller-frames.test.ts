// The caller's frames in the stacks of errors: what is captured anew, and what stays as it is. `test/slow/stacks.test.ts` has
// every method with every kind of error.

import { HostedApiError, HostedNotFoundError } from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { addCallerFrames } from '../../src/errors/caller-frames.js';
import { clientOf, recordingClock, rejection, signed } from '../support/fake-fetch.js';

const notFound = () => Response.json({}, { status: 404 });
const job = { userId: 'user-1', jobId: 'job-1' };
const { captureStackTrace, stackTraceLimit } = Error;

afterEach(() => {
  Error.captureStackTrace = captureStackTrace;
  Error.stackTraceLimit = stackTraceLimit;
  vi.unstubAllGlobals();
});

async function errorOf(read: () => Promise<unknown>): Promise<HostedNotFoundError> {
  return (await rejection(read())) as HostedNotFoundError;
}

/** An error of this package that the caller has already, with the stack that it has. */
async function createKept() {
  const { client } = clientOf(notFound);
  const error = await errorOf(async function whereItHappened() {
    await client.links.get('ref-1');
  });
  return { error, stack: error.stack };
}

test('an error that reasons an abort keeps its stack', async () => {
  const { error, stack } = await createKept();
  expect(stack).toContain('whereItHappened');
  const ending = new AbortController();
  const { signal } = ending;
  const { client } = clientOf(() => {
    ending.abort(error);
    return Response.json(signed({ job_complete: false }));
  });

  const ended = [
    async () => client.links.get('ref-1', { signal }),
    async () => client.links.list({ signal }),
    async () => client.links.list({ signal }).withResponse(),
    async () => client.links.list({ signal })[Symbol.asyncIterator]().next(),
    async () => client.jobs.waitForCompletion(job, { signal }),
    async () => client.jobs.waitForAll([job], { signal })[Symbol.asyncIterator]().next(),
  ].map(async (read) => rejection(read()));

  for (const reason of await Promise.all(ended)) expect(reason).toBe(error);
  expect(error.stack).toBe(stack);
});

test('what a source of jobs throws keeps its stack, whatever it is', async () => {
  const { error, stack } = await createKept();
  const { client } = clientOf({});
  const jobs = {
    [Symbol.iterator]: () => ({
      next: () => {
        throw error;
      },
    }),
  };

  const thrown = await errorOf(async () => client.jobs.waitForAll(jobs)[Symbol.asyncIterator]().next());

  expect(thrown).toBe(error);
  expect(error.stack).toBe(stack);
});

test('a list that is awaited twice names the first that waits for it', async () => {
  const { client } = clientOf(notFound);
  const list = client.links.list();
  const first = errorOf(async function theFirst() {
    await list;
  });
  const second = errorOf(async function theSecond() {
    await list;
  });

  const errors = await Promise.all([first, second]);
  const third = await errorOf(async function theThird() {
    await list.withResponse();
  });

  expect(new Set([...errors, third]).size).toBe(1);
  expect(third.stack).toContain('theFirst');
  expect(third.stack).not.toMatch(/theSecond|theThird/);
});

test('calls that succeed capture no stack', async () => {
  const capture = vi.fn();
  Error.captureStackTrace = capture;
  const { client } = clientOf({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' });

  await client.links.get('ref-1');
  await client.links.get('ref-1').withResponse();

  expect(capture).not.toHaveBeenCalled();
});

test('an engine that captures no stacks leaves errors as they are', async () => {
  Object.assign(Error, { captureStackTrace: undefined });
  const { client } = clientOf(notFound);

  const error = await errorOf(async () => client.links.get('ref-1'));

  expect(error).toBeInstanceOf(HostedNotFoundError);
  expect(error.stack).toContain(error.message);
});

test('JSC, which follows no promises, keeps what it has', async () => {
  vi.stubGlobal('Bun', {});
  const { error, stack } = await createKept();

  expect(addCallerFrames(error)).toBe(error);
  expect(error.stack).toBe(stack);
});

test('without frames, the stack is the message', async () => {
  Error.stackTraceLimit = 0;
  const { client } = clientOf(notFound);

  const error = await errorOf(async () => client.links.get('ref-1'));

  expect(error.stack).toBe(`${error.name}: ${error.message}`);
});

test('our own frames do not take the place of those that the caller asks for', async () => {
  const statuses = [signed({ job_complete: false }), signed({ job_complete: false })];
  const clock = recordingClock();
  const { client } = clientOf(statuses, { clock });
  const missing = clientOf(notFound).client;

  for (const limit of [1, 10]) {
    Error.stackTraceLimit = limit;
    const errors = await Promise.all([
      errorOf(async function theCaller() {
        await client.jobs.waitForCompletion(job, { deadlineMs: 0 });
      }),
      errorOf(async function theCaller() {
        for await (const _ of client.jobs.watch(job, { deadlineMs: 0 }));
      }),
      errorOf(async function theCaller() {
        await missing.links.list().toArray({ limit: 1 });
      }),
    ]);

    for (const { stack } of errors) expect(stack).toContain('theCaller');
    expect(Error.stackTraceLimit).toBe(limit);
  }
});

test('an error that the caller has frozen is left as it is', async () => {
  const { error, stack } = await createKept();
  Object.freeze(error);

  expect(addCallerFrames(error)).toBe(error);
  expect(error.stack).toBe(stack);
});

test('what is no error of this package is left as it is', () => {
  const error = new Error('text');
  const { stack } = error;

  for (const given of [error, undefined, null, 'text', { stack: 'text' }]) expect(addCallerFrames(given)).toBe(given);
  expect(error.stack).toBe(stack);
});

test('an error in a wait has the frames of the wait also where onPoll saw it before', async () => {
  const { client } = clientOf(() => Response.json({}, { status: 400 }));
  const seen: unknown[] = [];

  const error = await errorOf(async function theWait() {
    await client.jobs.waitForCompletion(job, { onPoll: (poll) => seen.push(poll.error) });
  });

  expect(seen).toEqual([error]);
  expect(error).toBeInstanceOf(HostedApiError);
  expect(error.stack).toContain('theWait');
});
