/**
 * The metrics, and how they are recorded.
 *
 * @module
 */

import type { Attributes, Counter, Histogram, MeterProvider } from '@opentelemetry/api';
import { version } from '../settings.js';

/**
 * Records the metrics. The instruments are created at first use: if they were created before a provider is set, they
 * would record nothing.
 */
export interface Measurements {
  recordCall(seconds: number, retries: number, attributes: Attributes): void;
  recordWait(seconds: number, attributes: Attributes): void;
  recordCallback(seconds: number, attributes: Attributes): void;
}

/** Creates the measurements. `findProvider` is called when the first measurement is recorded. */
export function createMeasurements(findProvider: () => MeterProvider): Measurements {
  let made: Instruments | undefined;
  const instruments = () => {
    made ??= createInstruments(findProvider());
    return made;
  };
  return {
    recordCall(seconds, retries, attributes) {
      const { callDuration, retries: counter } = instruments();
      callDuration.record(seconds, attributes);
      const operation = attributes['hosted.operation'];
      if (retries > 0) counter.add(retries, operation === undefined ? {} : { 'hosted.operation': operation });
    },
    recordWait: (seconds, attributes) => instruments().waitDuration.record(seconds, attributes),
    recordCallback(seconds, attributes) {
      instruments().callbackDuration.record(seconds, attributes);
      instruments().callbacks.add(1, attributes);
    },
  };
}

interface Instruments {
  readonly callDuration: Histogram;
  readonly retries: Counter;
  readonly waitDuration: Histogram;
  readonly callbacks: Counter;
  readonly callbackDuration: Histogram;
}

/**
 * Bucket boundaries in seconds. They follow OpenTelemetry's conventions for HTTP, and continue up to the default time
 * limit of a call.
 */
const ofCalls = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120];
const ofWaits = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

function createInstruments(provider: MeterProvider): Instruments {
  const meter = provider.getMeter('hosted-client', version);
  const seconds = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries } });
  return {
    callDuration: seconds('hosted.client.call.duration', 'Duration of calls, including retries and pauses', ofCalls),
    retries: meter.createCounter('hosted.client.retries', { unit: '{retry}', description: 'Retries of calls' }),
    waitDuration: seconds('hosted.client.wait.duration', 'Duration of waits for jobs', ofWaits),
    callbacks: meter.createCounter('hosted.client.callbacks', {
      unit: '{callback}',
      description: 'Deliveries of callbacks',
    }),
    callbackDuration: seconds('hosted.client.callback.duration', 'Duration of handling callbacks', ofCalls),
  };
}
