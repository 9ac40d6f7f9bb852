// The event that ends every call, however it ends.

import { HostedClient, type HostedEvent, HostedTimeoutError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, test, vi } from 'vitest';
import {
  clientOf,
  deferred,
  failed,
  manualClock,
  now,
  operations,
  type Reply,
  recordingClock,
  rejection,
} from '../support/fake-fetch.js';

const [create, , get] = operations;

type CallEvent = Extract<HostedEvent, { type: 'call' }>;

function recording(replies: Reply | readonly Reply[], options: Parameters<typeof clientOf>[1] = {}) {
  const events: HostedEvent[] = [];
  const made = clientOf(replies, { ...options, onEvent: (event) => events.push(event) });
  return { ...made, events, calls: () => events.filter((event): event is CallEvent => event.type === 'call') };
}

test('the duration of an attempt ends with its body, and does not count parsing it', async () => {
  const clock = manualClock();
  const parse = JSON.parse;
  const { client, events } = recording(get?.answer() ?? {}, { clock });
  const parsing = vi.spyOn(JSON, 'parse').mockImplementation((text) => {
    if (text.includes('link_url')) clock.time += 1_000;
    return parse(text);
  });

  await client.links.get('ref-1');
  parsing.mockRestore();

  expect(events.filter(({ type }) => type === 'response')).toEqual([expect.objectContaining({ durationMs: 0 })]);
});

test('a request that cannot be written was not sent, and is no broken connection', async () => {
  const planted = new Error('planted');
  const { client, events, calls, sent } = recording(create?.answer() ?? {}, {
    signer: {
      name: 'planting',
      sign() {
        Object.defineProperty(Object.prototype, 'linkId', {
          configurable: true,
          get() {
            throw planted;
          },
        });
        return 'signature';
      },
      verify: () => true,
    },
  });

  let error: unknown;
  try {
    error = await rejection(create?.call(client) ?? Promise.resolve());
  } finally {
    delete (Object.prototype as { linkId?: unknown }).linkId;
  }

  expect(error).toBe(planted);
  expect(sent).toHaveLength(0);
  expect(calls()).toEqual([expect.objectContaining({ outcome: 'not_sent' })]);
  expect(events.filter(({ type }) => type === 'request')).toEqual([]);
});

test.each(operations)('$name ends with a call event, after its other events', async ({ name, call, answer }) => {
  const { client, events } = recording(answer());

  await call(client);

  expect(events.map(({ type }) => type)).toEqual(['request', 'response', 'call']);
  expect(events.at(-1)).toEqual({
    type: 'call',
    callId: 1,
    operation: name,
    outcome: 'ok',
    attempts: 1,
    durationMs: 0,
  });
});

test('a call event counts the attempts, and the time with the pauses between them', async () => {
  const clock = manualClock();
  const first = deferred<Response>();
  const { client, calls, arrived } = recording([() => first.promise, get.answer()], { clock });

  const call = get.call(client);
  await arrived(1);
  clock.advance(1_200);
  first.resolve(Response.json({}, { status: 503, headers: { 'retry-after': '3' } }));
  await clock.asleep(3_000);
  clock.advance(3_000);
  await call;

  expect(calls()).toEqual([
    { type: 'call', callId: 1, operation: 'links.get', outcome: 'ok', attempts: 2, durationMs: 4_200 },
  ]);
});

const broken = () => {
  throw failed('ECONNRESET');
};
const refused = () => {
  throw failed('ECONNREFUSED');
};

test.each<[string, Reply, CallEvent['outcome'], number]>([
  ['the connection is refused', refused, 'not_sent', 3],
  ['the connection breaks', broken, 'unknown', 1],
  ['the service responds with an error', Response.json({ error: 'no' }, { status: 400 }), 'refused', 1],
  ['the response is no JSON', new Response('<html>'), 'answered', 1],
])('the call event of a create says what became of it when %s', async (_what, reply, outcome, attempts) => {
  const { client, events } = recording(reply, { clock: recordingClock() });

  const error = await rejection(create.call(client));

  expect(error).toMatchObject({ outcome, attempts });
  expect(events.slice(-2)).toMatchObject([
    { type: 'error', callId: 1, attempts },
    { type: 'call', callId: 1, operation: 'links.create', outcome, attempts },
  ]);
});

test('the call event of a call with invalid input says that nothing was sent', async () => {
  const { client, events } = recording(get.answer());

  await rejection(client.links.get(''));

  expect(events).toEqual([
    { type: 'error', callId: 1, operation: 'links.get', code: 'validation', attempts: 0 },
    { type: 'call', callId: 1, operation: 'links.get', outcome: 'not_sent', attempts: 0, durationMs: 0 },
  ]);
});

test.each([
  ['a page', { page: -1 }],
  ['the number of pages', { maxPages: 'x' as never }],
  ['a limit of time', { timeoutMs: 0 }],
])('a list with an invalid option for %s is a call with invalid input, awaited or iterated', async (_what, options) => {
  const { client, events } = recording(get.answer());
  const list = client.links.list(options);

  await rejection(list);
  await rejection(list[Symbol.asyncIterator]().next());

  expect(events.filter(({ type }) => type === 'call')).toMatchObject(
    [1, 2].map((callId) => ({ callId, operation: 'links.list', outcome: 'not_sent', attempts: 0 })),
  );
  expect(events.filter(({ type }) => type === 'error')).toMatchObject(
    [1, 2].map((callId) => ({ callId, operation: 'links.list', code: 'validation', attempts: 0 })),
  );
  expect(events).toHaveLength(4);
});

test('a call that its caller aborts ends with a call event and no error event, whatever the reason is', async () => {
  for (const reason of [
    new Error('of the caller'),
    new HostedTimeoutError('x', { phase: 'total', timeoutMs: 1 }, {}),
    undefined,
  ]) {
    const { client, events, arrived } = recording(() => new Promise<Response>(() => undefined));
    const stopping = new AbortController();

    const call = rejection(client.links.get('ref-1', { signal: stopping.signal }));
    await arrived(1);
    stopping.abort(reason);
    await call;

    expect(events.map(({ type }) => type)).toEqual(['request', 'call']);
    expect(events.at(-1)).toMatchObject({ outcome: 'aborted', attempts: 1 });
  }
});

test('a call whose signal has aborted before ends with a call event that counts one attempt at most', async () => {
  const { client, events, sent } = recording(get.answer());

  await rejection(client.links.get('ref-1', { signal: AbortSignal.abort() }));

  expect(sent).toEqual([]);
  expect(events).toMatchObject([{ type: 'call', outcome: 'aborted' }]);
});

test('a clock that fails does not keep a call from ending with its event', async () => {
  let isBroken = false;
  const clock = { now: () => (isBroken ? Number.NaN : now) };
  const { client, events } = recording(
    () => {
      isBroken = true;
      return Response.json(get.answer());
    },
    { clock },
  );

  const error = await rejection(get.call(client));

  const message = 'must return the time as a finite number of milliseconds';
  expect(error).toMatchObject({ code: 'config', issues: [{ path: 'clock', message }] });
  expect(error).toHaveProperty('message', `Cannot get a link: "clock" ${message}`);
  expect(events.slice(-2)).toMatchObject([
    { type: 'error', code: 'config' },
    { type: 'call', attempts: 1, durationMs: 0 },
  ]);
});

test.each([
  ['before a call begins', true, 'not_sent', 0],
  ['once a request is sent', false, 'unknown', 1],
])('what the caller’s own clock throws %s ends the call, whose event says what was sent', async (_when, ...row) => {
  const [isBrokenAtOnce, outcome, attempts] = row;
  const ofTheClock = new Error('of the clock');
  let isBroken = false;
  const read = () => {
    if (isBroken) throw ofTheClock;
    return now;
  };
  const reply = () => {
    isBroken = true;
    return Response.json(get.answer());
  };
  const { client, calls } = recording(reply, { clock: { now: read } });
  isBroken = isBrokenAtOnce;

  const error = await rejection(get.call(client));

  expect(error).toBe(ofTheClock);
  expect(calls()).toMatchObject([{ outcome, attempts }]);
});

test('every poll of a wait, every page of a walk and every confirmation is a call of its own', async () => {
  const service = createMockService({ pageSize: 2 });
  const events: HostedEvent[] = [];
  const client = new HostedClient({
    ...service.sandbox.clientOptions,
    fetch: service.fetch,
    onEvent: (event) => events.push(event),
  });
  service.sandbox.links.seed(5);
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');

  await client.links.list().toArray({ limit: 5 });
  await client.jobs.waitForCompletion(job);
  await service.sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ onEvent: () => undefined }) });

  const ended = events.filter((event): event is CallEvent => event.type === 'call');
  expect(ended.map(({ operation }) => operation)).toEqual([
    'links.list',
    'links.list',
    'links.list',
    'jobs.status',
    'jobs.status',
  ]);
  expect(new Set(ended.map(({ callId }) => callId)).size).toBe(5);
  for (const id of [job.userId, job.jobId]) expect(JSON.stringify(events)).not.toContain(id);
});

test('a listener and a logger that throw change nothing', async () => {
  const refuse = () => {
    throw new Error('no');
  };
  const reject = (() => Promise.reject(new Error('no'))) as () => void;
  const { client } = clientOf(
    { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' },
    { onEvent: reject, logger: { debug: refuse, info: refuse, warn: refuse, error: reject } },
  );

  await expect(client.links.get('ref-1')).resolves.toMatchObject({ refId: 'ref-1' });
});
