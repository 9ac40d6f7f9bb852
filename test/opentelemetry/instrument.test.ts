// Spans and metrics through OpenTelemetry's own SDK, with its instrumentation of the platform's fetch.

import { tracingChannel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { context, metrics, type Span, SpanKind, SpanStatusCode, type TracerProvider, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { HostedClient, type HostedClientOptions, HostedConfigError } from 'hosted-client';
import { instrument } from 'hosted-client/opentelemetry';
import { createMockService, createTestClock, createTestTracker } from 'hosted-client/testing';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { undici } from '../../examples/hide-link-ids.ts';
import { collector } from '../support/collector.js';
import { rejection, thrownBy } from '../support/fake-fetch.js';
import { measuring } from '../support/measuring.js';

const service = createMockService();
const { sandbox } = service;
const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
let server: Server;
let origin = '';

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const init = { method: request.method ?? '', headers: { 'content-type': 'application/json' } };
    const body = await buffer(request);
    const answer = await service.fetch(`${sandbox.baseUrl}${request.url}`, { ...init, body });
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  undici.setTracerProvider(tracerProvider);
  undici.enable();
});

afterAll(() => {
  undici.disable();
  context.disable();
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  service.reset();
  exporter.reset();
});

afterEach(() => {
  trace.disable();
  metrics.disable();
});

/** Instruments until the test ends. */
function start(options: Partial<HostedClientOptions> = {}, given = {}) {
  const instrumentation = instrument({ tracerProvider, ...given });
  onTestFinished(() => instrumentation.disable());
  return { instrumentation, client: createClient(options) };
}

function createClient(options: Partial<HostedClientOptions> = {}) {
  const { baseUrls: _baseUrls, ...rest } = sandbox.clientOptions;
  return new HostedClient({ ...rest, baseUrls: { sandbox: origin }, ...options } as HostedClientOptions);
}

const quick = { minDelayMs: 1, maxDelayMs: 1, jitter: false } as const;
const spans = () => exporter.getFinishedSpans();
const named = (name: string) => spans().filter((span) => span.name === name);
const parentOf = (span: ReadableSpan | undefined) => span?.parentSpanContext?.spanId;
const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId;
const isHttp = ({ instrumentationScope }: ReadableSpan) => instrumentationScope.name.includes('undici');

/** Everything that an exporter would send. */
function exported(): string {
  return JSON.stringify(
    spans().map(({ name, attributes, events, status, resource, links }) => ({
      name,
      attributes,
      events,
      status,
      resource: resource.attributes,
      links,
    })),
  );
}

test('a wait of five polls is one span with five calls under it, each with its HTTP span', async () => {
  const { client } = start();
  const job = sandbox.jobs.start({ userId: 'user-4711', jobId: 'job-0815' });
  const tracer = tracerProvider.getTracer('the app');

  await tracer.startActiveSpan('the app', async (span) => {
    await client.jobs.waitForCompletion(job, {
      ...quick,
      onPoll: ({ attempt }) => {
        if (attempt === 4) sandbox.jobs.complete(job, 'approved');
      },
    });
    span.end();
  });

  const [app] = named('the app');
  const waits = named('hosted jobs.wait');
  const calls = named('hosted jobs.status');
  const requests = spans().filter(isHttp);
  expect([waits.length, calls.length, requests.length, spans().length]).toEqual([1, 5, 5, 12]);
  expect(parentOf(waits[0])).toBe(idOf(app));
  expect(calls.map(parentOf)).toEqual(Array(5).fill(idOf(waits[0])));
  expect(requests.map(parentOf)).toEqual(calls.map(idOf));
  expect(waits[0]).toMatchObject({
    kind: SpanKind.INTERNAL,
    status: { code: SpanStatusCode.UNSET },
    attributes: { 'hosted.polls': 5, 'hosted.outcome': 'ok' },
  });
  for (const id of ['4711', '0815', sandbox.clientOptions.apiKey ?? '']) expect(exported()).not.toContain(id);
});

test('a call’s span has the semantic conventions of an HTTP client, without the URL', async () => {
  const { client } = start();

  await client.links.list();

  const [span] = named('hosted links.list');
  expect(span?.kind).toBe(SpanKind.CLIENT);
  expect(span?.attributes).toEqual({
    'hosted.operation': 'links.list',
    'hosted.call_id': 1,
    'hosted.outcome': 'ok',
    'http.request.method': 'POST',
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(origin).port),
    'url.scheme': 'http',
    'url.template': '/v1/hosted_links/list',
    'http.response.status_code': 200,
  });
});

test('no attribute, name or event holds an id of a person, a job or a link, whatever is called', async () => {
  const { client } = start({ maxRetries: 0 });
  const link = await client.links.create({
    companyName: 'planted-company',
    dataPrivacyPolicyUrl: 'https://planted-host.test/privacy',
    callbackUrl: 'https://planted-host.test/callback',
    name: 'planted-name',
    userId: 'planted-user',
  });
  const job = sandbox.jobs.start({ userId: 'planted-user', jobId: 'planted-job', linkRefId: link.refId });
  sandbox.jobs.complete(job, 'approved');

  await client.links.get(link.refId);
  await client.links.disable(link.refId);
  await client.links.list();
  await client.jobs.status(job);
  await rejection(client.links.get('planted-ref'));
  await rejection(client.jobs.status({ userId: 'planted-user', jobId: 'planted-other' }));
  await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ onEvent: () => undefined }) });

  expect(spans().filter(isHttp).length).toBeGreaterThan(6);
  expect(exported()).not.toContain(link.refId);
  expect(exported()).not.toMatch(/planted|0810|Approved/);
});

test('a failed call has error status and the code of its error; its message is not there', async () => {
  const { client } = start({ maxRetries: 0 });
  sandbox.failNext('links.list', { kind: 'status', status: 503 });

  await rejection(Promise.resolve(client.links.list()));
  await rejection(client.links.get(''));

  expect(named('hosted links.list')).toMatchObject([
    {
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'server', 'hosted.outcome': 'refused', 'http.response.status_code': 503 },
    },
  ]);
  expect(named('hosted links.get')).toMatchObject([
    {
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'validation', 'hosted.outcome': 'not_sent' },
    },
  ]);
  expect(
    spans()
      .filter((span) => span.name.startsWith('hosted'))
      .map(({ status, events }) => [status, events]),
  ).toEqual(Array(2).fill([{ code: SpanStatusCode.ERROR }, []]));
});

test('a call that is retried counts it, and a call that its caller aborts is no error', async () => {
  const { client } = start();
  const stopping = new AbortController();
  sandbox.failNext('links.list', { kind: 'status', status: 503, retryAfter: '0' });

  await client.links.list();
  const aborted = rejection(client.links.get('ref-1', { signal: stopping.signal }));
  stopping.abort();
  await aborted;

  expect(named('hosted links.list')).toMatchObject([
    { status: { code: SpanStatusCode.UNSET }, attributes: { 'http.request.resend_count': 1, 'hosted.outcome': 'ok' } },
  ]);
  expect(named('hosted links.get')).toMatchObject([
    { status: { code: SpanStatusCode.UNSET }, attributes: { 'hosted.outcome': 'aborted' } },
  ]);
  expect(named('hosted links.get')[0]?.attributes).not.toHaveProperty('error.type');
});

test('a callback is a span of messaging, with its confirming call and what onEvent does under it', async () => {
  const { client } = start();
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  let fails = true;
  const to = client.callbacks.handler({
    onEvent: async () => {
      tracerProvider.getTracer('the app').startSpan('the app').end();
      if (fails) throw new Error('planted');
    },
  });

  await sandbox.jobs.deliverCallback(job, { to });
  fails = false;
  await sandbox.jobs.deliverCallback(job, { to });
  await sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });

  const callbacks = named('hosted callback');
  expect(callbacks.every(({ kind }) => kind === SpanKind.CONSUMER)).toBe(true);
  const messaging = { 'messaging.operation.name': 'callback', 'messaging.operation.type': 'process' };
  expect(callbacks).toMatchObject([
    {
      status: { code: SpanStatusCode.ERROR },
      attributes: {
        ...messaging,
        'hosted.result': 'failed',
        'http.response.status_code': 500,
        'error.type': 'handler',
      },
    },
    { status: { code: SpanStatusCode.UNSET }, attributes: { ...messaging, 'hosted.result': 'accepted' } },
    {
      status: { code: SpanStatusCode.UNSET },
      attributes: { ...messaging, 'hosted.result': 'refused', 'error.type': 'mismatch' },
    },
  ]);
  expect([...named('hosted jobs.status'), ...named('the app')].map(parentOf).sort()).toEqual(
    [callbacks[0], callbacks[0], callbacks[1], callbacks[1]].map(idOf).sort(),
  );
  expect(exported()).not.toContain('planted');
});

test('calls, retries, waits and callbacks are measured, with nothing of a person, a job or a link', async () => {
  const { meterProvider, read } = measuring();
  const { client } = start({}, { meterProvider });
  const job = sandbox.jobs.start({ userId: 'planted-user', jobId: 'planted-job' });
  sandbox.jobs.complete(job, 'approved');
  sandbox.failNext('links.list', { kind: 'status', status: 503, retryAfter: '0' });

  await client.links.list();
  await client.jobs.waitForCompletion(job);
  await rejection(client.links.get('planted-ref'));
  const known = ['new', 'known'] as const;
  const replayGuard = {
    begin: vi.fn(async () => known[replayGuard.begin.mock.calls.length - 1] ?? 'busy'),
    commit: async () => undefined,
    forget: async () => undefined,
  };
  const to = client.callbacks.handler({ replayGuard, onEvent: () => undefined });
  await sandbox.jobs.deliverCallback(job, { to });
  // Another job, because two requests about one are a second apart. Its callback is old enough for the first status.
  const other = sandbox.jobs.start({ userId: 'planted-user', jobId: 'planted-other' });
  sandbox.jobs.complete(other, 'approved');
  await sandbox.jobs.deliverCallback(other, { to, variant: 'stale' });
  await sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });

  const found = await read();
  const server = { 'server.address': '127.0.0.1', 'server.port': Number(new URL(origin).port) };
  const ok = { unit: 's', 'hosted.outcome': 'ok', 'http.response.status_code': 200, ...server };
  const accepted = { 'hosted.result': 'accepted', 'http.response.status_code': 200 };
  const repeated = { 'hosted.result': 'repeat', 'http.response.status_code': 200 };
  const refused = { 'hosted.result': 'refused', 'http.response.status_code': 401, 'error.type': 'mismatch' };
  expect(found).toEqual({
    'hosted.client.call.duration': [
      { ...ok, count: 1, 'hosted.operation': 'links.list' },
      { ...ok, count: 3, 'hosted.operation': 'jobs.status' },
      {
        ...server,
        unit: 's',
        count: 1,
        'hosted.operation': 'links.get',
        'hosted.outcome': 'refused',
        'http.response.status_code': 404,
        'error.type': 'not_found',
      },
    ],
    'hosted.client.retries': [{ count: 1, unit: '{retry}', 'hosted.operation': 'links.list' }],
    'hosted.client.wait.duration': [{ count: 1, unit: 's', 'hosted.outcome': 'ok' }],
    'hosted.client.callbacks': [
      { count: 1, unit: '{callback}', ...accepted },
      { count: 1, unit: '{callback}', ...repeated },
      { count: 1, unit: '{callback}', ...refused },
    ],
    'hosted.client.callback.duration': [
      { count: 1, unit: 's', ...accepted },
      { count: 1, unit: 's', ...repeated },
      { count: 1, unit: 's', ...refused },
    ],
  });
  expect(JSON.stringify(found)).not.toContain('planted');
});

test('the gauges of several trackers are those of all their jobs', async () => {
  const { meterProvider, read } = measuring();
  const clock = createTestClock();
  const trackers = [1, 2].map(() => createTestTracker({ client: createClient({ clock }), clock }));
  for (const tracker of trackers) await tracker.track(sandbox.jobs.start());
  await clock.advance(5_000);
  await trackers[0]?.track(sandbox.jobs.start());
  start({}, { meterProvider, tracker: trackers });

  const found = await read();

  expect(found['hosted.tracker.jobs']).toContainEqual({ count: 3, unit: '{job}', 'hosted.state': 'tracking' });
  expect(found['hosted.tracker.overdue.age']).toEqual([{ count: 5, unit: 's' }]);
  await Promise.all(trackers.map((tracker) => tracker.stop()));
});

test('several clients are traced, those made before too, and calls at once stay apart', async () => {
  const before = createClient();
  start();
  const after = createClient();

  await Promise.all([before.links.list(), after.links.list(), before.links.list(), after.links.list()]);

  const calls = named('hosted links.list');
  expect(calls).toHaveLength(4);
  expect(spans().filter(isHttp).map(parentOf).sort()).toEqual(calls.map(idOf).sort());
});

test('disable() ends it: no span and no measurement comes any more, and what is under way ends its span', async () => {
  const { meterProvider, read } = measuring();
  const { client, instrumentation } = start({}, { meterProvider });
  const job = sandbox.jobs.start();

  const call = client.jobs.status(job);
  instrumentation.disable();
  await call;
  await client.jobs.status(job);
  instrumentation.disable();

  expect(named('hosted jobs.status')).toHaveLength(1);
  for (const name of ['call', 'wait', 'callback']) {
    expect(tracingChannel(`hosted-client:${name}`).hasSubscribers).toBe(false);
  }
  expect((await read())['hosted.client.call.duration'] ?? []).toHaveLength(1);
});

test('without options the global providers are used, also those that are registered later', async () => {
  const { meterProvider, read } = measuring();
  const instrumentation = instrument();
  onTestFinished(() => instrumentation.disable());
  trace.setGlobalTracerProvider(tracerProvider);
  metrics.setGlobalMeterProvider(meterProvider);

  await createClient().links.list();

  expect(named('hosted links.list')).toHaveLength(1);
  expect(Object.keys(await read())).toEqual(['hosted.client.call.duration']);
});

test('without an SDK it costs spans nobody sees, and calls go on', async () => {
  const instrumentation = instrument();
  onTestFinished(() => instrumentation.disable());

  expect((await createClient().links.list()).links).toEqual([]);
  expect(named('hosted links.list')).toEqual([]);
});

test('a provider that throws changes no call, and ends no process', async () => {
  const broken = () => {
    throw new Error('of the provider');
  };
  const tracer = { startSpan: broken, startActiveSpan: broken };
  const { client } = start({}, { tracerProvider: { getTracer: () => tracer } });

  expect((await client.links.list()).links).toEqual([]);
});

test.each([
  ['tracerProvider', { tracerProvider: {} }],
  ['meterProvider', { meterProvider: 'planted' }],
  ['tracker', { tracker: [{ stats() {} }] }],
])('instrument() refuses a %s that is none', (name, options) => {
  const error = thrownBy(() => instrument(options as object), HostedConfigError);

  expect(error.issues.map(({ path }) => path)).toEqual([name]);
  expect((error as Error).message).not.toContain('planted');
});

// Its waits never end, so it is the last: they keep the channel observed.
test('a wait that its caller abandons is not kept', async () => {
  const client = createClient();
  const job = sandbox.jobs.start();
  const begun: WeakRef<Span>[] = [];
  const provider: TracerProvider = {
    getTracer: () => {
      const tracer = tracerProvider.getTracer('kept');
      return Object.assign(Object.create(tracer), {
        startSpan(name: string, ...given: []) {
          const span = tracer.startSpan(name, ...given);
          if (name === 'hosted jobs.wait') begun.push(new WeakRef(span));
          return span;
        },
      });
    },
  };
  const instrumentation = instrument({ tracerProvider: provider });
  onTestFinished(() => instrumentation.disable());

  for (let count = 0; count < 20; count++) {
    await client.jobs.watch(job, quick)[Symbol.asyncIterator]().next();
  }
  await new Promise(setImmediate);
  collector()();

  expect(begun).toHaveLength(20);
  // The latest is still in the context of this test.
  expect(begun.filter((span) => span.deref()).length).toBeLessThan(3);
});
