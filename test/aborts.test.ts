// An abort of everything that can be aborted, and a time limit of each call, at each moment: both end it at once.

import { getEventListeners } from 'node:events';
import { type HostedClient, HostedConnectionError, HostedTimeoutError, type WaitOptions } from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { deferred, operations, rejection } from './support/fake-fetch.js';
import { abortables, type Doing, drain, iterables, job, start, steady, untilAborted } from './support/stoppable.js';
import { failOnStrayRejections } from './support/stray-rejections.js';

failOnStrayRejections();

const busy = () => Response.json({}, { status: 429, headers: { 'retry-after': '50' } });

interface Moment {
  readonly moment: string;
  /** What the signer or fetch does at that moment. It calls `reach`, and does not go on. */
  readonly doing: (reach: () => Promise<never>) => Doing;
  /** Whether the fetch never ends. */
  readonly isDeaf?: true;
}

const moments: readonly Moment[] = [
  { moment: 'while it is signed', doing: (reach) => ({ sign: reach }) },
  {
    moment: 'during its fetch',
    doing: (reach) => ({
      fetch: (signal) => {
        void reach();
        return untilAborted(signal);
      },
    }),
  },
  {
    moment: 'during its fetch, which then rejects with an error of its own',
    doing: (reach) => ({
      fetch: (signal) => {
        void reach();
        return untilAborted(signal, () => new DOMException('This operation was aborted', 'AbortError'));
      },
    }),
  },
  { moment: 'during its fetch, which never settles', doing: (reach) => ({ fetch: reach }), isDeaf: true },
  {
    moment: 'while its body is read',
    doing: (reach) => ({
      fetch: () =>
        new Response(
          new ReadableStream<Uint8Array>({
            start: (stream) => stream.enqueue(new TextEncoder().encode('{"job_complete":')),
            pull: () => void reach(),
          }),
        ),
    }),
  },
  { moment: 'while its response is verified', doing: (reach) => ({ verify: reach }) },
  {
    moment: 'while it waits to be retried',
    doing: (reach) => ({
      fetch: () => {
        void reach();
        return busy();
      },
    }),
  },
];

const reasons = [
  ['an object', { why: 'the user left' }],
  ['an error of this package', new HostedConnectionError('of another call', {})],
  ['undefined', undefined],
] as const;

test.each(
  abortables.flatMap((abortable) =>
    moments.flatMap((moment) =>
      (abortable.many ? ['first', 'second'] : ['first']).map((request) => ({ ...abortable, ...moment, request })),
    ),
  ),
)('an abort of $what at its $request request, $moment, rejects with its reason', async (row) => {
  for (const [, reason] of reasons) {
    const reached = deferred();
    const reach = () => {
      reached.resolve();
      return new Promise<never>(() => undefined);
    };
    const { client, clock, requests, events, expectNothingLeft } = start(
      row.doing(reach),
      row.request === 'first' ? 1 : 2,
    );
    const controller = new AbortController();

    const ended = rejection(row.run(client, controller.signal));
    // The second poll of a wait comes after two seconds.
    await clock.advance(4_000);
    await reached.promise;
    const before = events.length;
    controller.abort(reason);

    expect(await ended).toBe(reason ?? controller.signal.reason);
    if (row.moment.startsWith('during')) expect(requests.at(-1)?.aborted).toBe(true);
    for (const event of events.slice(before)) expect(event).toMatchObject({ type: 'call', outcome: 'aborted' });
    await expectNothingLeft(controller.signal, row.isDeaf);
  }
});

test.each(abortables)(
  '$what rejects with the reason of a signal that is already aborted, and sends nothing',
  async ({ run }) => {
    const { client, requests, expectNothingLeft } = start();
    const signal = AbortSignal.abort(reasons[0][1]);

    expect(await rejection(run(client, signal))).toBe(signal.reason);
    expect(requests).toEqual([]);
    await expectNothingLeft(signal);
  },
);

test.each(abortables.filter(({ many }) => !many))(
  'an abort after the end of $what changes nothing',
  async ({ run }) => {
    const { client, expectNothingLeft } = start();
    const controller = new AbortController();

    await run(client, controller.signal);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    controller.abort();

    await expectNothingLeft(controller.signal);
  },
);

test.each(
  // The time limits end with the body.
  operations.flatMap(({ name, call }) => moments.slice(0, 5).map((moment) => ({ what: name, call, ...moment }))),
)('a time limit of $what, $moment, rejects with HostedTimeoutError, and leaves nothing behind', async (row) => {
  const wasSent = row.moment !== 'while it is signed';
  for (const [phase, name] of [
    ['attempt', 'timeoutMs'],
    ['total', 'totalTimeoutMs'],
  ] as const) {
    const { client, clock, requests, expectNothingLeft } = start(row.doing(() => new Promise(() => undefined)));
    let isOver = false;

    const ended = rejection(Promise.resolve(row.call(client, { [name]: 5_000, maxRetries: 0 }))).finally(() => {
      isOver = true;
    });
    await clock.advance(4_999);
    expect(isOver).toBe(false);
    await clock.advance(1);

    const error = await ended;
    expect(error).toBeInstanceOf(HostedTimeoutError);
    expect(error).toMatchObject({ phase, timeoutMs: 5_000, outcome: wasSent ? 'unknown' : 'not_sent', attempts: 1 });
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({ code: 'timeout', phase, timeoutMs: 5_000 });
    expect(String(error)).toContain(`"${name}" (5000 ms)`);
    expect(String(error).includes('links.find()')).toBe(row.what === 'links.create' && wasSent);
    expect(requests.map(({ aborted }) => aborted)).toEqual(wasSent ? [true] : []);
    await expectNothingLeft(undefined, row.isDeaf);
  }
});

const waits: readonly (readonly [string, (client: HostedClient, options: WaitOptions) => Promise<unknown>])[] = [
  ['waitForCompletion()', (client, options) => client.jobs.waitForCompletion(job, options)],
  ['watch()', (client, options) => drain(client.jobs.watch(job, options))],
  ['waitForAll()', (client, options) => drain(client.jobs.waitForAll([job], options))],
];

test.each(
  waits.flatMap(([what, run]) =>
    (
      [
        ['between two polls', {}, 1_000, 1],
        ['at the time of a poll', {}, 2_000, 1],
        ['during the initial delay', { initialDelayMs: 5_000 }, 1_000, 0],
      ] as const
    ).map(([moment, options, afterMs, polls]) => ({ what, run, moment, options, afterMs, polls })),
  ),
)('an abort of $what $moment rejects with its reason', async ({ run, options, afterMs, polls }) => {
  const { client, clock, requests, expectNothingLeft } = start();
  const controller = new AbortController();
  const onPoll = vi.fn();

  const ended = rejection(run(client, { ...steady, ...options, signal: controller.signal, onPoll }));
  await clock.advance(0);
  const aborted = clock.sleep?.(afterMs).then(() => controller.abort(reasons[0][1]));
  await clock.advance(afterMs);
  await aborted;

  expect(await ended).toBe(reasons[0][1]);
  expect(requests).toHaveLength(polls);
  expect(onPoll).toHaveBeenCalledTimes(polls);
  await expectNothingLeft(controller.signal);
});

test.each([
  ...abortables.map(({ what, run }) => [what, run] as const),
  ...iterables.map(
    ([what, , open]) =>
      [
        `a break from ${what}`,
        async (client: HostedClient, signal: AbortSignal) => {
          for await (const _value of open(client, { signal })) break;
        },
      ] as const,
  ),
])('30 times %s on one signal, however they end, leaves no listener and no timer', async (_what, run) => {
  const controller = new AbortController();
  const ends = [start(), start({ fetch: () => Response.json({}, { status: 404 }) }), start({ fetch: untilAborted })];

  const running = Promise.allSettled(
    Array.from({ length: 30 }, (_, index) => run((ends[index % 3] ?? start()).client, controller.signal)),
  );
  for (const { clock } of ends) await clock.advance(3_000);
  expect(getEventListeners(controller.signal, 'abort').length).toBeGreaterThan(0);
  controller.abort();
  await running;

  for (const { expectNothingLeft } of ends) await expectNothingLeft(controller.signal);
});
