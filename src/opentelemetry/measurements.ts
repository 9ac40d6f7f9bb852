/**
 * The metrics, and how they are recorded.
 *
 * @module
 */

import { type Attributes, type BatchObservableResult, createNoopMeter, type MeterProvider } from '@opentelemetry/api';
import { version } from '../settings.js';
import type { BatchMessage, DeliveryMessage, Instruments } from '../tracking/instruments.js';
import { known } from './spans.js';

/**
 * Creates the functions that record the metrics. `findProvider` is called, and the instruments are created, when the
 * first measurement is recorded: if they were created before a provider is set, they would record nothing. If there is a
 * provider already, the gauges of the trackers begin at once.
 */
export function createMeasurements(findProvider: () => MeterProvider, trackers: readonly Instruments[]) {
  let made: ReturnType<typeof createInstruments> | undefined;
  let stopGauges = () => {};
  const instruments = () => {
    if (!made) {
      made = createInstruments(findProvider());
      if (trackers.length > 0) stopGauges = observe(findProvider(), trackers);
    }
    return made;
  };
  const isThere = () => findProvider().getMeter('hosted-client', version) !== createNoopMeter();
  if (trackers.length > 0 && isThere()) instruments();
  return {
    recordCall(seconds: number, retries: number, attributes: Attributes) {
      const { callDuration, retries: counter } = instruments();
      callDuration.record(seconds, attributes);
      const operation = attributes['hosted.operation'];
      if (retries > 0) counter.add(retries, operation === undefined ? {} : { 'hosted.operation': operation });
    },
    recordWait: (seconds: number, attributes: Attributes) => instruments().waitDuration.record(seconds, attributes),
    recordCallback(seconds: number, attributes: Attributes) {
      instruments().callbackDuration.record(seconds, attributes);
      instruments().callbacks.add(1, attributes);
    },
    recordBatch(message: BatchMessage) {
      instruments().lateness.record(message.lateMs / 1_000);
      for (const { result, errorCode } of message.polls) {
        instruments().polls.add(1, known({ 'hosted.result': result, 'error.type': errorCode }));
      }
    },
    recordDelivery({ durationMs, isDead }: DeliveryMessage, attributes: Attributes) {
      instruments().deliveries.add(1, attributes);
      if (durationMs !== null) instruments().handlerDuration.record(durationMs / 1_000, attributes);
      if (isDead) instruments().deadLetters.add(1);
    },
    /** Ends the gauges. */
    stop: () => stopGauges(),
  };
}

/** Observes the gauges at each export, with one statement for each tracker, until the returned function is called. */
function observe(provider: MeterProvider, trackers: readonly Instruments[]): () => void {
  const meter = provider.getMeter('hosted-client', version);
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(`hosted.tracker.${name}`, { unit, description });
  const jobs = gauge('jobs', '{job}', 'Jobs, tracked links and completions "unheard", by their state');
  const overdue = gauge('overdue.age', 's', 'How late the most overdue poll is');
  const waiting = gauge('waiting.age', 's', 'How long ago the oldest completion ended that is not handled');
  const problem = gauge('problem', '{problem}', 'Whether a problem affects all jobs');
  const seen = new Set<string>();
  const gauges = [jobs, overdue, waiting, problem];

  async function read(result: BatchObservableResult): Promise<void> {
    const all = await Promise.all(trackers.map((tracker) => tracker.readGauges()));
    for (const state of ['heard', 'tracking', 'handing_over', 'done', 'dead'] as const) {
      const count = all.reduce((sum, each) => sum + each.jobs[state], 0);
      result.observe(jobs, count, { 'hosted.state': state });
    }
    result.observe(overdue, Math.max(...all.map(({ overdueMs }) => overdueMs)) / 1_000);
    result.observe(waiting, Math.max(...all.map(({ waitingMs }) => waitingMs)) / 1_000);
    // A problem that is over is observed as 0, because some exporters repeat the last value of each attribute.
    const problems = all.flatMap((each) => each.problem ?? []);
    for (const code of problems) seen.add(code);
    for (const code of seen) {
      result.observe(problem, problems.filter((each) => each === code).length, { 'error.type': code });
    }
  }

  // If the database cannot be used, there are no values.
  const observed = (result: BatchObservableResult) => read(result).catch(() => undefined);
  meter.addBatchObservableCallback(observed, gauges);
  return () => meter.removeBatchObservableCallback(observed, gauges);
}

/**
 * Bucket boundaries in seconds. They follow OpenTelemetry's conventions for HTTP, and continue up to the default time
 * limit of a call.
 */
const ofCalls = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60, 120];
const ofWaits = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

function createInstruments(provider: MeterProvider) {
  const meter = provider.getMeter('hosted-client', version);
  const seconds = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries } });
  const counter = (name: string, unit: string, description: string) => meter.createCounter(name, { unit, description });
  return {
    callDuration: seconds('hosted.client.call.duration', 'Duration of calls, including retries and pauses', ofCalls),
    retries: counter('hosted.client.retries', '{retry}', 'Retries of calls'),
    waitDuration: seconds('hosted.client.wait.duration', 'Duration of waits for jobs', ofWaits),
    callbacks: counter('hosted.client.callbacks', '{callback}', 'Deliveries of callbacks'),
    callbackDuration: seconds('hosted.client.callback.duration', 'Duration of handling callbacks', ofCalls),
    polls: counter('hosted.tracker.polls', '{poll}', 'Polls of jobs and links'),
    lateness: seconds('hosted.tracker.batch.lateness', 'Lateness of the earliest poll of each batch', ofWaits),
    deliveries: counter('hosted.tracker.deliveries', '{delivery}', 'Deliveries of completions'),
    handlerDuration: seconds('hosted.tracker.handler.duration', 'Duration of handlers of completions', ofCalls),
    deadLetters: counter('hosted.tracker.dead_letters', '{completion}', 'Completions that have become dead letters'),
  };
}
