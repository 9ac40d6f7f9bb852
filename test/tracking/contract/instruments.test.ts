// What every tracker shows to OpenTelemetry: spans, links between them, metrics and the messages of its channels.

import { tracingChannel } from 'node:diagnostics_channel';
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { instrument } from 'hosted-client/opentelemetry';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { measuring } from '../../support/measuring.ts';
import { onEachPlace } from '../../support/on-each-place.ts';
import { newLink, openTracker } from '../world.ts';

const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const app = tracerProvider.getTracer('the app');

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => context.disable());
beforeEach(() => exporter.reset());

function start(options: { tracker: object; meterProvider?: object }) {
  const instrumentation = instrument({ tracerProvider, ...options });
  onTestFinished(() => instrumentation.disable());
  return instrumentation;
}

const named = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name);
const idOf = (span: ReadableSpan | undefined) => span?.spanContext().spanId;
const linksOf = (span: ReadableSpan | undefined) => span?.links.map((link) => link.context.spanId);

/** Does something in a span of the app. */
async function inSpan<T>(name: string, act: () => Promise<T>): Promise<T> {
  return app.startActiveSpan(name, async (span) => {
    try {
      return await act();
    } finally {
      span.end();
    }
  });
}

/** Collects the messages of a channel, as they are at the end. */
function listen(name: string) {
  const messages: unknown[] = [];
  const onEnd = (message: unknown) => void messages.push({ ...(message as object) });
  tracingChannel(`hosted-client:${name}`).asyncEnd.subscribe(onEnd);
  onTestFinished(() => void tracingChannel(`hosted-client:${name}`).asyncEnd.unsubscribe(onEnd));
  return messages;
}

const pollsOf = (batches: readonly unknown[]) =>
  (batches as readonly { readonly polls: readonly object[] }[]).flatMap(({ polls }) => polls);

onEachPlace((createWorld) => {
  test('a delivery is a trace of its own, which is linked to the callback and to the track() that led to it', async () => {
    const { world, tracker } = await openTracker(createWorld(), { minDelayMs: 60_000, maxDelayMs: 60_000 });
    start({ tracker });
    const job = world.service.jobs.start({ userId: 'planted-user', jobId: 'planted-job' });
    await inSpan('tracks', () => tracker.track({ ...job, context: 'planted-context' }));
    await inSpan('begins', () =>
      tracker.onCompletion(async () => {
        await inSpan('handles', async () => undefined);
      }),
    );
    await world.until(async () => (await tracker.get(job))?.polls === 1);
    world.service.jobs.complete(job, 'approved');
    await world.service.jobs.deliverCallback(job, { to: tracker.handler() });

    await world.until(() => named('hosted tracker.delivery').length === 1);

    const [delivery] = named('hosted tracker.delivery');
    expect(delivery?.parentSpanContext).toBeUndefined();
    expect(linksOf(delivery)).toEqual([idOf(named('hosted callback')[0]), idOf(named('tracks')[0])]);
    expect(delivery).toMatchObject({ kind: SpanKind.CONSUMER, status: { code: SpanStatusCode.UNSET } });
    expect(delivery?.attributes).toEqual({
      'messaging.system': 'hosted',
      'messaging.operation.name': 'delivery',
      'messaging.operation.type': 'process',
      'hosted.outcome': 'completed',
      'hosted.attempt': 1,
      'hosted.result': 'resolved',
    });
    const inside = exporter.getFinishedSpans().filter((span) => span.parentSpanContext?.spanId === idOf(delivery));
    expect(inside.map(({ name }) => name)).toEqual(['hosted jobs.status', 'handles']);
    const batches = named('hosted tracker.batch');
    expect(batches.map((span) => [span.parentSpanContext, span.links])).toEqual(batches.map(() => [undefined, []]));
    const shown = exporter
      .getFinishedSpans()
      .map(({ name, attributes, events, links }) => [name, attributes, events, links]);
    expect(JSON.stringify(shown)).not.toContain('planted');
  });

  test('a delivery of a tracked link is linked to trackLink()', async () => {
    const { world, tracker } = await openTracker(createWorld());
    start({ tracker });
    const { refId } = await world.client.links.create(newLink);
    await inSpan('tracks the link', () => tracker.trackLink(refId));
    const job = world.completeJob('approved', refId);
    await world.service.jobs.deliverCallback(job, { to: tracker.handler() });
    // After the callback, so that the link does not count the job as missing.
    await tracker.onCompletion(() => {});

    await world.until(() => named('hosted tracker.delivery').length === 1);

    expect(linksOf(named('hosted tracker.delivery')[0])).toEqual(
      [named('hosted callback')[0], named('tracks the link')[0]].map(idOf),
    );
  });

  test('a trace context that is none is not stored', async () => {
    const { world, tracker } = await openTracker(createWorld());
    start({ tracker });
    const traceId = 'planted'.repeat(1_000);
    const job = world.completeJob('approved');
    const active = trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId: 'planted', traceFlags: 1 });

    await context.with(active, () => tracker.track(job));
    await tracker.onCompletion(() => {});
    await world.until(() => named('hosted tracker.delivery').length === 1);

    expect(named('hosted tracker.delivery')[0]?.links).toEqual([]);
    expect(await world.dump()).not.toContain('planted');
  });

  test('polls, deliveries, handlers and dead letters are counted, and jobs by their state are measured', async () => {
    const world = createWorld();
    const { meterProvider, read } = measuring();
    const tracker = await world.open({ maxAttempts: 2, minDelayMs: 3_600_000, maxDelayMs: 3_600_000 });
    start({ tracker, meterProvider });
    const pending = world.service.jobs.start();
    const ended = world.completeJob('approved');
    const dead = world.completeJob('rejected');
    await tracker.track([pending, ended, dead]);

    const [batches, deliveries] = [listen('batch'), listen('delivery')];
    const before = await read();
    await tracker.onCompletion(({ job }) => {
      if (job?.jobId === dead.jobId) throw new Error('planted');
    });
    await world.until(() => pollsOf(batches).length === 3 && deliveries.length === 3);
    const after = await read();

    const jobs = (tracking: number, done: number, buried: number) =>
      Object.entries({ heard: 0, tracking, handing_over: 0, done, dead: buried }).map(([state, count]) => ({
        count,
        unit: '{job}',
        'hosted.state': state,
      }));
    expect(before['hosted.tracker.jobs']).toEqual(jobs(3, 0, 0));
    expect(after['hosted.tracker.jobs']).toEqual(jobs(1, 1, 1));
    const countsOf = (name: string) =>
      Object.fromEntries(
        (after[name] ?? []).map(({ count, ...attributes }) => [Object.values(attributes).join(), count]),
      );
    expect(countsOf('hosted.tracker.polls')).toEqual({ '{poll},pending': 1, '{poll},ended': 2 });
    expect(countsOf('hosted.tracker.deliveries')).toEqual({ '{delivery},resolved': 1, '{delivery},rejected': 2 });
    expect(countsOf('hosted.tracker.handler.duration')).toEqual({ 's,resolved': 1, 's,rejected': 2 });
    expect(after['hosted.tracker.dead_letters']).toEqual([{ count: 1, unit: '{completion}' }]);
    expect(after['hosted.tracker.overdue.age']).toEqual([{ count: 0, unit: 's' }]);
    expect(after['hosted.tracker.waiting.age']).toEqual([{ count: 0, unit: 's' }]);
    expect(after['hosted.tracker.problem']).toBeUndefined();
    expect(JSON.stringify([before, after])).not.toContain('planted');
  });

  test('the ages of what waits, and a problem, are measured until they are over', async () => {
    const world = createWorld({ maxRetries: 0 });
    const { meterProvider, read } = measuring();
    const tracker = await world.open();
    start({ tracker, meterProvider });
    const job = world.completeJob('approved');
    await tracker.track(job);
    await world.wait(50);
    expect((await read())['hosted.tracker.overdue.age']?.[0]?.count).toBeGreaterThanOrEqual(0.05);

    world.fail({ kind: 'status', status: 401 });
    const handlers: (() => void)[] = [];
    await tracker.onCompletion(() => new Promise<void>((resolve) => void handlers.push(resolve)));
    await world.until(async () => (await tracker.stats()).problem !== null);
    expect((await read())['hosted.tracker.problem']).toEqual([
      { count: 1, unit: '{problem}', 'error.type': 'authentication' },
    ]);
    world.fail(null);
    await world.until(async () => handlers.length > 0 && (await tracker.stats()).problem === null);
    await world.wait(50);
    const waiting = await read();
    handlers[0]?.();
    await world.until(async () => (await tracker.get(job))?.state === 'done');

    expect(waiting['hosted.tracker.waiting.age']?.[0]?.count).toBeGreaterThanOrEqual(0.05);
    expect(waiting['hosted.tracker.problem']).toEqual([
      { count: 0, unit: '{problem}', 'error.type': 'authentication' },
    ]);
    expect((await read())['hosted.tracker.waiting.age']).toEqual([{ count: 0, unit: 's' }]);
  });

  test('the channels have a message of each batch and each delivery, without ids', async () => {
    const { world, tracker } = await openTracker(createWorld({ maxRetries: 0 }), { maxAttempts: 1 });
    const [batches, deliveries] = [listen('batch'), listen('delivery')];
    const [ended, other] = [world.completeJob('approved'), world.service.jobs.start()];
    world.fail({ kind: 'status', status: 404 }, (_, body) => body.includes(other.jobId));
    await tracker.track([ended, other]);

    await tracker.onCompletion(() => {
      throw new Error('planted');
    });
    await world.until(() => deliveries.length > 0 && pollsOf(batches).length > 1);

    expect(deliveries).toEqual([
      {
        attempt: 1,
        outcome: 'completed',
        causes: [],
        result: 'rejected',
        durationMs: expect.any(Number),
        isDead: true,
        errorCode: 'rejected',
      },
    ]);
    expect(pollsOf(batches)).toContainEqual({ result: 'ended', errorCode: null });
    expect(pollsOf(batches)).toContainEqual({ result: 'failed', errorCode: 'not_found' });
    expect(batches[0]).toEqual({
      jobs: expect.any(Number),
      lateMs: expect.any(Number),
      polls: expect.any(Array),
      errorCode: expect.toSatisfy((code) => code === null || code === 'not_found'),
    });
  });

  test('the message of a delivery says that the handler was not called, because the status could not be fetched', async () => {
    const { world, tracker } = await openTracker(createWorld({ maxRetries: 0 }));
    const deliveries = listen('delivery');
    // The poll gets a response, and the first delivery none.
    let responses = 0;
    world.fail({ kind: 'status', status: 503 }, () => responses++ === 1);
    await tracker.track(world.completeJob('approved'));

    await tracker.onCompletion(() => {});
    await world.until(() => deliveries.length === 2);

    const shared = { attempt: 1, outcome: 'completed', causes: [], isDead: false, errorCode: null };
    expect(deliveries).toEqual([
      { ...shared, result: 'not_begun', durationMs: null },
      { ...shared, result: 'resolved', durationMs: expect.any(Number) },
    ]);
  });

  test('after disable(), no trace context is kept, and nothing is measured', async () => {
    const world = createWorld();
    const { meterProvider, read } = measuring();
    const tracker = await world.open();
    const instrumentation = start({ tracker, meterProvider });
    await read();
    instrumentation.disable();
    start({ tracker: [] });

    const job = world.completeJob('approved');
    await inSpan('tracks', () => tracker.track(job));
    await tracker.onCompletion(() => {});
    await world.until(() => named('hosted tracker.delivery').length === 1);

    expect(named('hosted tracker.delivery')[0]?.links).toEqual([]);
    expect((await read())['hosted.tracker.deliveries']).toBeUndefined();
  });
});
