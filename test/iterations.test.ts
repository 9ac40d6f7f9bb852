// An iteration that ends early, by a break, an error, return() or an abort: nothing is left behind.

import type { HostedClient } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection } from './support/fake-fetch.js';
import { type Doing, iterables, type Options, start, untilAborted } from './support/stoppable.js';
import { failOnStrayRejections } from './support/stray-rejections.js';

failOnStrayRejections();

const never: Doing = { fetch: untilAborted };

/** An iteration that has given its first value; no later request gets a response. */
async function startIteration(open: (client: HostedClient, options: Options) => AsyncIterable<unknown>, nth = 2) {
  const started = start(never, nth);
  const controller = new AbortController();
  const iterable = open(started.client, { signal: controller.signal });
  return { ...started, controller, iterable, values: iterable[Symbol.asyncIterator]() };
}

test.each(iterables)('a break from %s ends all requests', async (_what, sent, open) => {
  const { iterable, controller, clock, requests, expectNothingLeft } = await startIteration(open);

  for await (const _value of iterable) {
    await clock.advance(0);
    break;
  }

  expect(requests).toHaveLength(sent);
  expect(requests.slice(1).every(({ aborted }) => aborted)).toBe(true);
  await expectNothingLeft(controller.signal);
});

test.each(iterables)(
  'an error of a caller who reads %s passes through, and ends all requests',
  async (_what, _sent, open) => {
    const { iterable, controller, expectNothingLeft } = await startIteration(open);
    const mistake = new Error('of the reader');

    const read = async () => {
      for await (const _value of iterable) throw mistake;
    };

    expect(await rejection(read())).toBe(mistake);
    await expectNothingLeft(controller.signal);
  },
);

test.each(iterables)('return() of %s before the first next() sends nothing', async (_what, _sent, open) => {
  const { values, controller, requests, expectNothingLeft } = await startIteration(open);

  await values.return?.();

  expect(await values.next()).toEqual({ done: true, value: undefined });
  expect(requests).toEqual([]);
  await expectNothingLeft(controller.signal);
});

test.each(iterables)('return() of %s during a request ends it at once', async (_what, _sent, open) => {
  const { values, controller, clock, requests, expectNothingLeft } = await startIteration(open);
  await values.next();

  // A page of two links: the third is on the next page.
  const next = Promise.all([values.next(), values.next()]);
  await clock.advance(2_500);
  await values.return?.();
  const [, last] = await next;

  expect(last).toEqual({ done: true, value: undefined });
  expect(await values.next()).toEqual({ done: true, value: undefined });
  expect(requests.length).toBeGreaterThan(1);
  expect(requests.slice(1).every(({ aborted }) => aborted)).toBe(true);
  await expectNothingLeft(controller.signal);
});

test.each(iterables)('return() of %s between two requests ends it', async (_what, sent, open) => {
  const { values, controller, clock, requests, expectNothingLeft } = await startIteration(open, 9);
  await values.next();
  await clock.advance(500);

  await values.return?.();

  expect(requests).toHaveLength(sent);
  await expectNothingLeft(controller.signal);
});

test.each(iterables.flatMap(([what, sent, open]) => [2, 9].map((nth) => ({ what, sent, open, nth }))))(
  'an abort of $what that is not being read ends all, also if more is ready ($nth)',
  async ({ sent, open, nth }) => {
    const { values, controller, clock, requests, expectNothingLeft } = await startIteration(open, nth);
    const reason = { why: 'the user left' };
    await values.next();
    await clock.advance(0);

    controller.abort(reason);
    await clock.advance(0);

    expect(requests).toHaveLength(sent);
    if (nth === 2) expect(requests.slice(1).every(({ aborted }) => aborted)).toBe(true);
    await expectNothingLeft(controller.signal);
    expect(await rejection(values.next())).toBe(reason);
  },
);
