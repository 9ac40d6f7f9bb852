/**
 * The names and attributes of spans and metrics. If OpenTelemetry's semantic conventions for HTTP clients and messaging
 * define a name, that name is used here. No attribute names a person, a job or a link.
 *
 * @module
 */

import { type Attributes, type Link, SpanKind } from '@opentelemetry/api';
import type { CallMessage } from '../call/attempt.js';
import type { CallbackMessage } from '../callbacks/reports.js';
import type { WaitMessage } from '../jobs/wait-trace.js';
import type { BatchMessage, DeliveryMessage } from '../tracking/instruments.js';

/** How the messages of a channel become spans and measurements. */
export interface Description<Message> {
  readonly kind: SpanKind;
  name(message: Message): string;
  /** The attributes that are known at the start. */
  startAttributes(message: Message): Facts;
  /** The attributes that are known at the end. */
  endAttributes(message: Message): Facts;
  /** Whether the span has error status. Default: whether the message has the code of an error. */
  isFailure?(message: Message): boolean;
  /** Traces that led to the message, as `traceparent`. A span that has them is the root of its own trace. */
  causes?(message: Message): readonly string[];
  /** The attributes of the measurements. Each attribute has only a few different values. */
  measuredAttributes(message: Message): Facts;
}

/** Attributes, some without a value. */
type Facts = Readonly<Record<string, string | number | null>>;

/** Leaves out attributes without a value. */
export function known(facts: Facts): Attributes {
  return Object.fromEntries(Object.entries(facts).flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}

/** How calls become spans and measurements. */
export const callDescription: Description<CallMessage> = {
  kind: SpanKind.CLIENT,
  name: ({ operation }) => `hosted ${operation}`,
  startAttributes: (message) => ({
    'hosted.operation': message.operation,
    'hosted.call_id': message.callId,
    'http.request.method': message.method,
    ...serverOf(message),
    'url.scheme': new URL(message.origin).protocol.slice(0, -1),
    'url.template': message.route,
  }),
  endAttributes: (message) => ({
    ...callResultOf(message),
    'http.request.resend_count': message.attempts > 1 ? message.attempts - 1 : null,
  }),
  measuredAttributes: (message) => ({
    'hosted.operation': message.operation,
    ...callResultOf(message),
    ...serverOf(message),
  }),
};

function callResultOf({ outcome, status, errorCode }: CallMessage) {
  return { 'hosted.outcome': outcome, 'http.response.status_code': status, 'error.type': errorCode };
}

function serverOf({ origin }: CallMessage) {
  const { hostname, port, protocol } = new URL(origin);
  return { 'server.address': hostname, 'server.port': Number(port) || (protocol === 'http:' ? 80 : 443) };
}

/** How waits become spans and measurements. */
export const waitDescription: Description<WaitMessage> = {
  kind: SpanKind.INTERNAL,
  name: () => 'hosted jobs.wait',
  startAttributes: ({ callId }) => ({ 'hosted.call_id': callId }),
  endAttributes: (message) => ({ 'hosted.polls': message.polls, ...waitResultOf(message) }),
  measuredAttributes: waitResultOf,
};

function waitResultOf({ outcome, errorCode }: WaitMessage) {
  return { 'hosted.outcome': outcome, 'error.type': errorCode };
}

/** How deliveries of callbacks become spans and measurements. */
export const callbackDescription: Description<CallbackMessage> = {
  kind: SpanKind.CONSUMER,
  name: () => 'hosted callback',
  startAttributes: () => ({
    'messaging.system': 'hosted',
    'messaging.operation.name': 'callback',
    'messaging.operation.type': 'process',
  }),
  endAttributes: deliveryOf,
  // A 4xx status is not an error, because anyone can post invalid callbacks. The spans of HTTP servers follow the same
  // rule.
  isFailure: ({ result }) => result === 'failed',
  measuredAttributes: deliveryOf,
};

function deliveryOf({ result, status, errorCode }: CallbackMessage) {
  return { 'hosted.result': result, 'http.response.status_code': status, 'error.type': errorCode };
}

/** How batches of polls of a tracker become spans and measurements. */
export const batchDescription: Description<BatchMessage> = {
  kind: SpanKind.INTERNAL,
  name: () => 'hosted tracker.batch',
  startAttributes: ({ jobs, lateMs }) => ({ 'hosted.jobs': jobs, 'hosted.lateness': lateMs / 1_000 }),
  endAttributes: ({ errorCode }) => ({ 'error.type': errorCode }),
  causes: () => [],
  measuredAttributes: () => ({}),
};

/** How deliveries of completions become spans and measurements. */
export const deliveryDescription: Description<DeliveryMessage> = {
  kind: SpanKind.CONSUMER,
  name: () => 'hosted tracker.delivery',
  startAttributes: ({ attempt, outcome }) => ({
    'messaging.system': 'hosted',
    'messaging.operation.name': 'delivery',
    'messaging.operation.type': 'process',
    'hosted.outcome': outcome,
    'hosted.attempt': attempt,
  }),
  endAttributes: ({ result, errorCode }) => ({ 'hosted.result': result, 'error.type': errorCode }),
  causes: ({ causes }) => causes,
  measuredAttributes: ({ result }) => ({ 'hosted.result': result }),
};

/** Reads a trace context, which the tracker has checked. */
export function toLink(traceparent: string): Link {
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return { context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true } };
}

/** Writes the trace context of a span. */
export function toTraceparent({ traceId, spanId, traceFlags }: Link['context']): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
