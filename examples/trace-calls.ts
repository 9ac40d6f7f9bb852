/** A span for each call, and measurements, through OpenTelemetry; nothing in them names a person, a job or a link. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { metrics, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { HostedClient, type HostedEvent, isHostedError } from 'hosted-client';

// Load this after the SDK has started: instruments that are made before it measure nothing.
const tracer = trace.getTracer('hosted-client');
const meter = metrics.getMeter('hosted-client');
const durations = meter.createHistogram('hosted.request.duration', { unit: 'ms' });
const retries = meter.createCounter('hosted.retries');
const underway = new AsyncLocalStorage<Span>();

export const client = HostedClient.fromEnv({ onEvent: note });

/** Makes a call under a span of its own, which ends with it: answered, failed or aborted. */
export function traced<T>(call: () => Promise<T>): Promise<T> {
  return tracer.startActiveSpan('hosted call', { kind: SpanKind.CLIENT }, async (span) => {
    try {
      // Awaited in there: a list asks for nothing before.
      return await underway.run(span, async () => await call());
    } catch (error) {
      const outcome = isHostedError(error) ? error.outcome : 'aborted';
      span.setAttributes({ 'hosted.outcome': outcome, 'error.type': isHostedError(error) ? error.code : 'aborted' });
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  });
}

function note(event: HostedEvent): void {
  // Events come in the context of the call they belong to.
  const span = underway.getStore();
  switch (event.type) {
    case 'request':
      span?.updateName(`hosted ${event.operation}`);
      span?.setAttributes({ 'hosted.call_id': event.callId, 'hosted.attempts': event.attempt });
      break;
    case 'response': {
      const { operation, status, durationMs, requestId } = event;
      durations.record(durationMs, { 'hosted.operation': operation, 'http.response.status_code': status });
      span?.setAttribute('http.response.status_code', status);
      if (requestId !== null) span?.setAttribute('hosted.request_id', requestId);
      break;
    }
    case 'retry':
      retries.add(1, { 'hosted.operation': event.operation, 'error.type': event.reason });
      span?.addEvent('retry', { 'error.type': event.reason, 'hosted.delay_ms': event.delayMs });
      break;
  }
}

const { links } = await traced(() => client.links.list());
console.log(`${links.length} links, traced`);
