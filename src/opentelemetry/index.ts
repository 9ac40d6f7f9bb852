/**
 * `hosted-client/opentelemetry`: spans and metrics of every client, from the tracing channels.
 *
 * @module hosted-client/opentelemetry
 */

import {
  type Attributes,
  context,
  type MeterProvider,
  metrics,
  type Span,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import type { CallMessage } from '../call/attempt.js';
import type { CallbackMessage } from '../callbacks/reports.js';
import { HostedConfigError } from '../errors/client-errors.js';
import type { Issue } from '../errors/hosted-error.js';
import { ignoreErrors } from '../events.js';
import type { WaitMessage } from '../jobs/wait-trace.js';
import {
  type ChannelName,
  instruments,
  openChannel,
  runInside,
  type TraceMessage,
} from '../runtime/tracing-channel.js';
import { copyProperties, hasMethods } from '../runtime/untrusted-objects.js';
import { version } from '../settings.js';
import type { BatchMessage, DeliveryMessage, Instruments } from '../tracking/instruments.js';
import { createMeasurements } from './measurements.js';
import {
  batchDescription,
  callbackDescription,
  callDescription,
  type Description,
  deliveryDescription,
  known,
  toLink,
  toTraceparent,
  waitDescription,
} from './spans.js';

/**
 * Creates spans and metrics of calls, waits and callbacks, for every client in the process, including clients that
 * exist already, and of the polls and deliveries of every tracker. The spans are children of the active span. Spans that begin during a call (for example, spans of the
 * instrumentation of fetch) are children of the call's span. Spans that begin in `onEvent` are children of the
 * callback's span. A batch of polls and a delivery have traces of their own. No attribute names a person, a job or a link.
 *
 * This function needs `node:diagnostics_channel`, so it works only in Node, Bun, Deno, and Workers with
 * `nodejs_compat`. On other platforms, it does nothing. Call it once, when the process starts.
 *
 * @param options - The providers of spans and measurements, and your trackers.
 * @returns An object with `disable()`, which stops the instrumentation.
 * @throws {HostedConfigError} when a provider has no `getTracer()` or `getMeter()`, or when a tracker is none.
 *
 * @example With the SDK's global providers
 * ```ts
 * const { disable } = instrument();
 * ```
 */
export function instrument(
  options: {
    /** An object with `getTracer()`. Default: the global provider, even if it is registered later. */
    tracerProvider?: object;
    /** An object with `getMeter()`. Default: the provider that is global when the first measurement is taken. */
    meterProvider?: object;
    /**
     * A tracker of `hosted-client/tracking`, or several. Their jobs, ages and problems become gauges, together. The spans of
     * their deliveries are linked to the spans in which `track()` or `trackLink()` was called, or a callback received, in
     * any process that passes its tracker.
     */
    tracker?: object | readonly object[];
  } = {},
): {
  /** Stops the instrumentation. Later calls have no span. Spans of running calls still end. */
  disable(): void;
} {
  const { tracerProvider, meterProvider, trackers } = readInput(options);
  const tracer = (tracerProvider ?? trace).getTracer('hosted-client', version);
  const measurements = createMeasurements(() => meterProvider ?? metrics.getMeterProvider(), trackers);
  for (const tracker of trackers) tracker.findTrace = findTrace;
  const ends = [
    follow<CallMessage>('call', tracer, callDescription, (message, seconds, attributes) =>
      measurements.recordCall(seconds, Math.max(0, message.attempts - 1), attributes),
    ),
    follow<WaitMessage>('wait', tracer, waitDescription, (_message, seconds, attributes) =>
      measurements.recordWait(seconds, attributes),
    ),
    follow<CallbackMessage>('callback', tracer, callbackDescription, (_message, seconds, attributes) =>
      measurements.recordCallback(seconds, attributes),
    ),
    follow<BatchMessage>('batch', tracer, batchDescription, measurements.recordBatch),
    follow<DeliveryMessage>('delivery', tracer, deliveryDescription, (message, _seconds, attributes) =>
      measurements.recordDelivery(message, attributes),
    ),
  ];
  return {
    disable() {
      for (const end of ends) end();
      measurements.stop();
      for (const tracker of trackers) if (tracker.findTrace === findTrace) tracker.findTrace = null;
    },
  };
}

function findTrace(): string | null {
  const active = trace.getSpanContext(context.active());
  return active ? toTraceparent(active) : null;
}

interface Input {
  readonly tracerProvider?: TracerProvider;
  readonly meterProvider?: MeterProvider;
  readonly trackers: readonly Instruments[];
}

function readInput(options: object): Input {
  const given = copyProperties(Object(options), ['tracerProvider', 'meterProvider', 'tracker']);
  const trackers = [given.tracker ?? []].flat().map((tracker) => Object(tracker)[instruments]);
  const issues: Issue[] = [];
  for (const [name, method] of [
    ['tracerProvider', 'getTracer'],
    ['meterProvider', 'getMeter'],
  ] as const) {
    if (given[name] === undefined || hasMethods(given[name], method)) continue;
    issues.push({ path: name, message: `must have ${method}()` });
  }
  if (trackers.some((found) => found === undefined))
    issues.push({ path: 'tracker', message: 'must be a tracker of createTracker() or createTestTracker(), or a list' });
  if (issues.length > 0) throw new HostedConfigError(issues, { task: 'instrument the client' });
  return { ...given, trackers };
}

/** Creates a span for each message of a channel, until the returned function is called. */
function follow<Message extends TraceMessage>(
  name: ChannelName,
  tracer: Tracer,
  description: Description<Message>,
  measure: (message: Message, seconds: number, attributes: Attributes) => void,
): () => void {
  const channel = openChannel(name);
  if (channel === null) return () => undefined;
  // The map is weak, because a wait that its caller abandons never ends.
  const running = new WeakMap<object, { readonly span: Span; readonly startedAt: number }>();
  let runningCount = 0;
  let isEnabled = true;

  // An error that a subscriber throws ends the process, so errors of a provider are caught.
  const onStart = (given: object) => ignoreErrors(() => begin(given));
  const onEnd = (given: object) => ignoreErrors(() => end(given));

  function begin(given: object): void {
    const message = given as Message;
    const { kind } = description;
    const causes = description.causes?.(message);
    const span = tracer.startSpan(description.name(message), {
      kind,
      attributes: known(description.startAttributes(message)),
      ...(causes && { root: true, links: causes.map(toLink) }),
    });
    running.set(message, { span, startedAt: performance.now() });
    runningCount += 1;
    const active = trace.setSpan(context.active(), span);
    // `runInside` makes the span active. The channel cannot do this: for that, it would need the store of the context
    // manager (an `AsyncLocalStorage`), and the context manager does not give access to its store.
    const before = message[runInside] ?? ((run: () => void) => run());
    message[runInside] = (run) => before(() => context.with(active, run));
  }

  function end(given: object): void {
    const message = given as Message;
    const begun = running.get(message);
    if (begun === undefined) return;
    running.delete(message);
    runningCount -= 1;
    begun.span.setAttributes(known(description.endAttributes(message)));
    const isFailure = description.isFailure?.(message) ?? message.errorCode !== null;
    if (isFailure) begun.span.setStatus({ code: SpanStatusCode.ERROR });
    begun.span.end();
    measure(message, (performance.now() - begun.startedAt) / 1_000, known(description.measuredAttributes(message)));
    endWhenDone();
  }

  function endWhenDone(): void {
    if (!isEnabled && runningCount === 0) channel?.asyncEnd.unsubscribe(onEnd);
  }

  channel.start.subscribe(onStart);
  channel.asyncEnd.subscribe(onEnd);
  return () => {
    isEnabled = false;
    channel.start.unsubscribe(onStart);
    endWhenDone();
  };
}
