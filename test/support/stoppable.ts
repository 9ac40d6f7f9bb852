// Everything that can be ended early, and a client that shows what is left behind.

import { getEventListeners } from 'node:events';
import { HostedClient, type HostedEvent } from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { expect } from 'vitest';
import { createCountingClock } from './counting-clock.js';
import { now, operations, optionsOf, signed } from './fake-fetch.js';
import { createImmediateSigner } from './immediate-signer.js';

export const job = { userId: 'user-1', jobId: 'job-1' };
export const jobs = ['complete', 'job-1'].map((jobId) => ({ userId: 'user-1', jobId }));
export const steady = { jitter: false } as const;

/** What a signer or a fetch does at the moment of a test. */
export interface Doing {
  readonly sign?: () => Promise<never>;
  readonly verify?: () => Promise<never>;
  readonly fetch?: (signal: AbortSignal) => Response | Promise<never>;
}

/** A client on a clock that a test moves. From the nth request on, its signer or fetch does something else. */
export function start(doing: Doing = {}, nth = 1) {
  const clock = createTestClock(now);
  const { asleep, ...counting } = createCountingClock(clock);
  const events: HostedEvent[] = [];
  const requests: AbortSignal[] = [];
  const { sign, verify } = createImmediateSigner();
  let inFlight = 0;
  let signing = 0;

  async function respond(url: string, body: Record<string, unknown>, signal: AbortSignal): Promise<Response> {
    if (requests.length >= nth && doing.fetch) return doing.fetch(signal);
    const page = Number(body.page ?? 1);
    const meta = { currentPage: page, limit: 2, totalCount: 12, totalPages: 6 };
    const link = (ref: string) => ({
      link_url: `https://links.hosted.test/${ref}`,
      ref_id: ref,
      link: 'https://l.test',
    });
    const record = url.endsWith('/job_status')
      ? { job_complete: body.job_id === 'complete', job_success: true, user_id: 'user-1', job_id: body.job_id }
      : { ...link('ref-1'), links: [link(`a${page}`), link(`b${page}`)], meta, id_types: [] };
    return Response.json(signed(record, { timestamp: new Date(clock.now() - 7).toISOString() }));
  }

  const client = new HostedClient(
    optionsOf(
      {
        fetch: (async (url: string, init: { body: string; signal: AbortSignal }) => {
          requests.push(init.signal);
          inFlight += 1;
          return respond(url, JSON.parse(init.body), init.signal).finally(() => {
            inFlight -= 1;
          });
        }) as unknown as typeof globalThis.fetch,
      },
      {
        clock: counting,
        onEvent: (event) => void events.push(event),
        signer: {
          name: 'immediate',
          sign: (input) => {
            signing += 1;
            return signing >= nth && doing.sign ? doing.sign() : sign(input);
          },
          verify: (signature, input) =>
            requests.length >= nth && doing.verify ? doing.verify() : verify(signature, input),
        },
      },
    ),
  );

  /** Expects that all ends at once, and that nothing happens later. */
  async function expectNothingLeft(signal?: AbortSignal, deaf = false): Promise<void> {
    expect(asleep()).toBe(0);
    if (signal) expect(getEventListeners(signal, 'abort')).toEqual([]);
    const sent = requests.length;
    await clock.advance(3_600_000);
    expect(requests).toHaveLength(sent);
    if (!deaf) expect(inFlight).toBe(0);
  }

  return { client, clock, requests, events, expectNothingLeft };
}

/** Rejects when the signal is aborted, with its reason or another error. */
export const untilAborted = (signal: AbortSignal, errorOf = () => signal.reason as unknown) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(errorOf()), { once: true });
  });

export interface Abortable {
  readonly what: string;
  readonly run: (client: HostedClient, signal: AbortSignal) => Promise<unknown>;
  /** Whether it sends more than one request. */
  readonly many?: true;
}

export async function drain(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _value of values);
}

export const abortables: readonly Abortable[] = [
  ...operations.map(({ name, call }) => ({
    what: name,
    run: (client: HostedClient, signal: AbortSignal) => Promise.resolve(call(client, { signal })),
  })),
  {
    what: 'callbacks.confirm()',
    run: (client, signal) =>
      client.callbacks.confirm({ ...job, linkId: null, isFinal: true, signedAt: new Date(now) }, { signal }),
  },
  { what: 'a walk of links', run: (client, signal) => drain(client.links.list({ signal })), many: true },
  {
    what: 'the second walk of a list',
    run: async (client, signal) => {
      const list = client.links.list({ signal });
      for await (const _link of list) break;
      return drain(list);
    },
    many: true,
  },
  {
    what: 'a walk of pages with prefetch',
    run: (client, signal) => drain(client.links.list({ signal, prefetch: 3 }).pages()),
    many: true,
  },
  { what: 'toArray()', run: (client, signal) => client.links.list({ signal }).toArray({ limit: 100 }), many: true },
  { what: 'links.find()', run: (client, signal) => client.links.find({ name: 'none' }, { signal }), many: true },
  {
    what: 'waitForCompletion()',
    run: (client, signal) => client.jobs.waitForCompletion(job, { ...steady, signal }),
    many: true,
  },
  { what: 'watch()', run: (client, signal) => drain(client.jobs.watch(job, { ...steady, signal })), many: true },
  {
    what: 'waitForAll()',
    run: (client, signal) => drain(client.jobs.waitForAll([job], { ...steady, signal })),
    many: true,
  },
];

export interface Options {
  readonly signal: AbortSignal;
}

/** Everything that is iterated, and how many requests it has sent when the first value is there and all is quiet. */
export const iterables: readonly (readonly [
  string,
  number,
  (client: HostedClient, options: Options) => AsyncIterable<unknown>,
])[] = [
  ['the links of a list', 1, (client, options) => client.links.list(options)],
  ['the pages of a list', 1, (client, options) => client.links.list(options).pages()],
  ['the pages of a list with prefetch', 4, (client, options) => client.links.list({ ...options, prefetch: 3 }).pages()],
  ['watch()', 1, (client, options) => client.jobs.watch(job, { ...steady, ...options })],
  ['waitForAll()', 2, (client, options) => client.jobs.waitForAll(jobs, { ...steady, ...options })],
];
