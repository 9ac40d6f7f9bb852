// Walking the list of links: bad options, and errors on the way.

import {
  HostedClient,
  HostedConnectionError,
  HostedServerError,
  HostedValidationError,
  type ListOptions,
} from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { book, names, reason, serve, shelf, sixPages, walk } from './page-service.js';

failOnStrayRejections();

// Bad options ---------------------------------------------------------------

test.each<[string, unknown, string]>([
  ['a page of -1', { page: -1 }, 'page'],
  ['a page of 1.5', { page: 1.5 }, 'page'],
  ['a page that is text', { page: '2' }, 'page'],
  ['a page that is NaN', { page: Number.NaN }, 'page'],
  ['a prefetch of 17', { prefetch: 17 }, 'prefetch'],
  ['a prefetch of -1', { prefetch: -1 }, 'prefetch'],
  ['a prefetch of true', { prefetch: true }, 'prefetch'],
  ['maxPages of 0', { maxPages: 0 }, 'maxPages'],
  ['maxPages of 0.5', { maxPages: 0.5 }, 'maxPages'],
  ['a timeoutMs of 0', { timeoutMs: 0 }, 'timeoutMs'],
  ['a signal that is none', { signal: {} }, 'signal'],
  ['an unknown property', { pageSize: 50 }, 'pageSize'],
])('links.list() with %s rejects, however it is used, and sends nothing', async (_what, options, path) => {
  const { client, sent, settle } = serve(book(names(5)));
  const list = () => client.links.list(options as ListOptions);

  const errors = [
    await rejection(list()),
    await rejection(list().withResponse()),
    (await walk(list())).error,
    await rejection(list().pages()[Symbol.asyncIterator]().next()),
    await rejection(list().toArray({ limit: 5 })),
  ];
  await settle();

  for (const error of errors) {
    expect(error).toBeInstanceOf(HostedValidationError);
    expect(error).toMatchObject({ code: 'validation', operation: 'links.list', outcome: 'not_sent' });
    expect((error as HostedValidationError).issues).toMatchObject([{ path }]);
  }
  expect(sent).toEqual([]);
});

test.each([[5], ['options'], [[1]], [true], [() => undefined]])(
  'links.list(%j) never throws, and rejects, however it is used',
  async (options) => {
    const { client, sent } = serve(book(names(5)));
    const list = () => client.links.list(options as never);

    const errors = [
      await rejection(list()),
      (await walk(list())).error,
      await rejection(list().pages()[Symbol.asyncIterator]().next()),
      await rejection(list().toArray({ limit: 5 })),
    ];

    for (const error of errors) expect(error).toBeInstanceOf(HostedValidationError);
    expect(sent).toEqual([]);
  },
);

test('links.list() names every bad option at once', async () => {
  const { client } = serve(book(names(5)));

  const error = await rejection(client.links.list({ page: -1, prefetch: 17, maxPages: 0, timeoutMs: -5 }));

  expect((error as HostedValidationError).issues.map(({ path }) => path).sort()).toEqual([
    'maxPages',
    'page',
    'prefetch',
    'timeoutMs',
  ]);
});

test('a list that no caller awaits or iterates leaves no unhandled rejection, bad options or not', async () => {
  const { client, sent, settle } = serve(book(names(5)));

  client.links.list({ page: -1 });
  client.links.list({ signal: AbortSignal.abort(reason) }).pages();
  await settle();

  expect(sent).toEqual([]);
});

// Errors ----------------------------------------------------------------------

test('after an error a new iteration asks anew', async () => {
  const { client } = serve((page, before) =>
    before === 0 ? Response.json({ error: 'trouble' }, { status: 503 }) : book(names(3))(page, before),
  );
  const list = client.links.list();

  const failed = await walk(list);
  const again = await walk(list);

  expect(failed.error).toBeInstanceOf(HostedServerError);
  expect(again).toEqual({ refs: names(3), error: null });
});

test('an error in the middle comes after the links before it, and ends the walk', async () => {
  const { client, asked } = serve((page, before) => {
    if (page === 3) throw new TypeError('fetch failed');
    return shelf(sixPages)(page, before);
  });

  const { refs, error } = await walk(client.links.list());

  expect(error).toBeInstanceOf(HostedConnectionError);
  expect(refs).toEqual(['a', 'b']);
  expect(asked()).toEqual([undefined, 2, 3]);
});

test('pages are tried again as any call is, fetched ahead or not', async () => {
  const { fetch, sandbox } = createMockService({ pageSize: 2 });
  sandbox.links.seed(8);
  sandbox.failNext('links.list', { kind: 'status', status: 503, retryAfter: '0' }, 2);
  const clock = { now: () => Date.now(), sleep: immediateBackOff };
  const client = new HostedClient({ ...sandbox.clientOptions, fetch, clock });

  const { refs, error } = await walk(client.links.list({ prefetch: 2 }));

  expect(error).toBeNull();
  expect(refs).toHaveLength(8);
  expect(sandbox.requests.filter(({ status }) => status === 503)).toHaveLength(2);
});

/** Back-off ends at once, time limits never. */
function immediateBackOff(ms: number, signal?: AbortSignal): Promise<void> {
  return ms < 10_000
    ? Promise.resolve()
    : new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
}
