/**
 * `hosted-client/opentelemetry`: spans and metrics of every client, from the tracing channels.
 *
 * @module hosted-client/opentelemetry
 */

import {
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
import { HostedConfigError } from '../errors/errors.js';
import type { Issue } from '../errors/hosted-error.js';
import { ignoreErrors } from '../events.js';
import type { WaitMessage } from '../jobs/wait-trace.js';
import { type ChannelName, openChannel, runInside, type TraceMessage } from '../runtime/tracing-channel.js';
import { copyProperties, hasMethods } from '../runtime/untrusted-objects.js';
import { version } from '../settings.js';
import { createMeasurements } from './measurements.js';
import { callbackDescription, callDescription, type Description, waitDescription } from './spans.js';

/**
 * Creates spans and metrics of calls, waits and callbacks, for every client in the process, including clients that
 * exist already. The spans are children of the active span. Spans that begin during a call (for example, spans of the
 * instrumentation of fetch) are children of the call's span. Spans that begin in `onEvent` are children of the
 * callback's span. No attribute names a person, a job or a link.
 *
 * This function needs `node:diagnostics_channel`, so it works only in Node, Bun, Deno, and Workers with
 * `nodejs_compat`. On other platforms, it does nothing. Call it once, when the process starts.
 *
 * @param options - The providers of spans and measurements.
 * @returns An object with `disable()`, which stops the instrumentation.
 * @throws {HostedConfigError} when a provider has no `getTracer()` or `getMeter()`.
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
  } = {},
): {
  /** Stops the instrumentation. Later calls have no span. Spans of running calls still end. */
  disable(): void;
} {
  const { tracerProvider, meterProvider } = readProviders(options);
  const tracer = (tracerProvider ?? trace).getTracer('hosted-client', version);
  const measurements = createMeasurements(() => meterProvider ?? metrics.getMeterProvider());
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
  ];
  return {
    disable() {
      for (const end of ends) end();
    },
  };
}

interface Providers {
  readonly tracerProvider?: TracerProvider;
  readonly meterProvider?: MeterProvider;
}

function readProviders(options: object): Providers {
  const given = copyProperties(Object(options), ['tracerProvider', 'meterProvider']);
  const issues: Issue[] = [];
  for (const [name, method] of [
    ['tracerProvider', 'getTracer'],
    ['meterProvider', 'getMeter'],
  ] as const) {
    if (given[name] === undefined || hasMethods(given[name], method)) continue;
    issues.push({ path: name, message: `must have ${method}()` });
  }
  if (issues.length > 0) throw new HostedConfigError(issues, { task: 'instrument the client' });
  return given;
}

type Measure<Message> = (
  message: Message,
  seconds: number,
  attributes: ReturnType<Description<Message>['measuredAttributes']>,
) => void;

/** Creates a span for each message of a channel, until the returned function is called. */
function follow<Message extends TraceMessage>(
  name: ChannelName,
  tracer: Tracer,
  description: Description<Message>,
  measure: Measure<Message>,
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
    const span = tracer.startSpan(description.name(message), {
      kind,
      attributes: description.startAttributes(message),
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
    begun.span.setAttributes(description.endAttributes(message));
    if (description.isFailure(message)) begun.span.setStatus({ code: SpanStatusCode.ERROR });
    begun.span.end();
    measure(message, (performance.now() - begun.startedAt) / 1_000, description.measuredAttributes(message));
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
