/** The alert rules of docs/observability.md, and runs of the tracker for tests in which they fire or are silent. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { HostedClient } from 'hosted-client';
import { instrument } from 'hosted-client/opentelemetry';
import { createMockService, createTestClock, createTestTracker } from 'hosted-client/testing';
import type { TrackerOptions } from 'hosted-client/tracking';
import { randomFrom } from './random.ts';

/** An alert rule of Prometheus. */
export interface Rule {
  readonly alert: string;
  readonly expression: string;
  /** For how many minutes the expression must hold. */
  readonly minutes: number;
}

/** The values of each series, one a minute; null where it has none. */
export type Series = ReadonlyMap<string, readonly (number | null)[]>;

/** The text of the rules, as the page has it. */
export const rulesText: string = (() => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/observability.md', import.meta.url)), 'utf8');
  return /^```yaml\n(groups:[\s\S]*?)^```$/m.exec(page)?.[1] ?? '';
})();

export const rules: readonly Rule[] = [
  ...rulesText.matchAll(/- alert: (?<alert>\w+)\n +expr: (?<expression>.+)\n +for: (?<minutes>\d+)m\n/g),
].map(({ groups }) => ({
  alert: groups?.alert ?? '',
  expression: groups?.expression ?? '',
  minutes: Number(groups?.minutes),
}));

/** What happens in a run. */
export interface Run {
  readonly minutes: number;
  readonly jobsPerMinute: number;
  /** How many minutes a job takes. */
  readonly jobMinutes: number;
  readonly options?: Partial<Omit<TrackerOptions, 'client'>>;
  /** From which minute until which the service fails. */
  readonly outage?: readonly [from: number, until: number];
  /** Says whether the handler fails. */
  readonly fails?: (minute: number, job: { readonly number: number; readonly attempt: number }) => boolean;
}

const usual = { minutes: 45, jobsPerMinute: 4, jobMinutes: 3 };

/** Runs, and the alerts that fire in each. */
export const runs: readonly (readonly [name: string, run: Run, alerts: readonly string[]])[] = [
  [
    'a healthy run, in which 3 % of the handlers fail',
    { ...usual, fails: (_, { number, attempt }) => number % 33 === 0 && attempt === 1 },
    [],
  ],
  ['a service that fails for a quarter of an hour', { ...usual, outage: [15, 30] }, ['HostedServiceDown']],
  [
    'too few requests a second',
    { ...usual, jobsPerMinute: 60, jobMinutes: 1_000, options: { maxRequestsPerSecond: 1 } },
    ['HostedBudgetTooSmall'],
  ],
  ['a handler that fails', { ...usual, fails: (minute) => minute > 15 }, ['HostedHandlerFailing']],
  [
    'one completion that always fails',
    { ...usual, options: { maxAttempts: 4 }, fails: (_, { number }) => number === 40 },
    ['HostedDeadLetters'],
  ],
];

/** Runs a tracker for some minutes of the test clock, and reads its metrics once a minute. */
export async function run(given: Run): Promise<{ readonly series: Series; readonly handled: number }> {
  const { minutes, jobsPerMinute, jobMinutes, options, outage = [0, 0], fails = () => false } = given;
  const clock = createTestClock();
  const { sandbox, fetch } = createMockService({ clock });
  const random = randomFrom(7);
  let minute = 0;
  let handled = 0;
  const client = new HostedClient({
    ...sandbox.clientOptions,
    clock,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    fetch: (url, init) => {
      if (minute >= outage[0] && minute < outage[1]) sandbox.failNext('jobs.status', { kind: 'status', status: 503 });
      return fetch(url, init);
    },
  });
  const tracker = createTestTracker({ client, clock, ...options });
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
  const { disable } = instrument({ tracker, meterProvider: new MeterProvider({ readers: [reader] }) });
  await tracker.onCompletion((completion) => {
    const number = Number(completion.job?.jobId.slice('job-'.length));
    if (fails(minute, { number, attempt: completion.attempt })) throw new Error('of the handler');
    handled += 1;
  });
  const open: { readonly job: ReturnType<typeof sandbox.jobs.start>; readonly endsAt: number }[] = [];
  const series = new Map<string, (number | null)[]>();
  for (; minute < minutes; minute++) {
    const started = Array.from({ length: jobsPerMinute }, (_, at) => {
      const number = minute * jobsPerMinute + at;
      return sandbox.jobs.start({ userId: `user-${number}`, jobId: `job-${number}` });
    });
    await tracker.track(started);
    open.push(...started.map((job) => ({ job, endsAt: minute + jobMinutes })));
    while (open[0] !== undefined && open[0].endsAt <= minute) {
      const [{ job }] = open.splice(0, 1) as [(typeof open)[0]];
      sandbox.jobs.complete(job, random() < 0.9 ? 'approved' : 'rejected');
      // Some callbacks are lost.
      if (random() < 0.6) await sandbox.jobs.deliverCallback(job, { to: tracker.handler() });
    }
    await clock.advance(60_000);
    await reader.forceFlush();
    addValues(series, exporter, minute);
    exporter.reset();
  }
  disable();
  await reader.shutdown();
  const stopping = tracker.stop({ timeoutMs: 0 });
  await clock.advance(10_000);
  await stopping;
  for (const values of series.values()) fillUp(values, minutes);
  return { series, handled };
}

/** Adds what was exported, under the names of Prometheus. Of a histogram, only its count is kept. */
function addValues(series: Map<string, (number | null)[]>, exporter: InMemoryMetricExporter, minute: number): void {
  const metrics = exporter.getMetrics().flatMap((exported) => exported.scopeMetrics.flatMap((scope) => scope.metrics));
  for (const { descriptor, dataPoints } of metrics) {
    const unit = descriptor.unit === 's' ? '_seconds' : '';
    for (const { value, attributes } of dataPoints) {
      const isHistogram = typeof value !== 'number';
      const isCounter =
        !isHistogram && ['polls', 'deliveries', 'dead_letters'].some((end) => descriptor.name.endsWith(end));
      const name = `${toName(descriptor.name)}${unit}${isHistogram ? '_count' : isCounter ? '_total' : ''}`;
      const labels = Object.entries(attributes).map(([key, text]) => `${toName(key)}="${text}"`);
      const id = labels.length === 0 ? name : `${name}{${labels.toSorted().join(',')}}`;
      const values = series.get(id) ?? [];
      fillUp(values, minute);
      values.push(isHistogram ? (value as { count: number }).count : value);
      series.set(id, values);
    }
  }
}

const toName = (name: string) => name.replaceAll('.', '_');

function fillUp(values: (number | null)[], length: number): void {
  while (values.length < length) values.push(null);
}

/** The names of the alerts that fire in a run, in the order of the rules. */
export function alertsIn(series: Series, minutes: number): readonly string[] {
  return rules.flatMap(({ alert, expression, minutes: forMinutes }) => {
    let held = 0;
    for (let minute = 0; minute < minutes; minute++) {
      held = evaluate(expression, series, minute) === null ? 0 : held + 1;
      if (held > forMinutes) return [alert];
    }
    return [];
  });
}

/**
 * Evaluates as much of PromQL as the rules need: `max` and `sum` over all labels, `increase`, `*`, `>` and `unless`. Null
 * is an empty result.
 */
export function evaluate(expression: string, series: Series, minute: number): number | null {
  const [left = '', ...excluding] = expression.split(' unless ');
  if (excluding.some((each) => evaluate(each, series, minute) !== null)) return null;
  const [one = '', other] = left.split(' > ');
  const value = product(one, series, minute);
  if (other === undefined || value === null) return value;
  const least = product(other, series, minute);
  return least !== null && value > least ? value : null;
}

function product(text: string, series: Series, minute: number): number | null {
  let result = 1;
  for (const factor of text.split(' * ')) {
    const value = /^[\d.]+$/.test(factor) ? Number(factor) : aggregate(factor, series, minute);
    if (value === null) return null;
    result *= value;
  }
  return result;
}

const aggregated =
  /^(?<by>max|sum)\((?:increase\()?(?<name>\w+)(?:\{(?<label>\w+)(?<how>=~|!~|=)"(?<wanted>[^"]*)"\})?(?:\[(?<window>\d+)m\]\))?\)$/;

function aggregate(text: string, series: Series, minute: number): number | null {
  const parts = aggregated.exec(text)?.groups;
  if (parts === undefined) throw new Error(`The tests cannot evaluate ${text}`);
  const { by, name, label, how, wanted = '', window } = parts;
  const values: number[] = [];
  for (const [id, all] of series) {
    const labels = new Map([...id.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]));
    const isMatch =
      label === undefined || new RegExp(`^(?:${wanted})$`).test(labels.get(label) ?? '') !== (how === '!~');
    if (!isMatch || id.replace(/\{.*/, '') !== name) continue;
    const within = all.slice(Math.max(0, minute - Number(window ?? 0)), minute + 1).filter((value) => value !== null);
    const last = all[minute];
    if (window === undefined && last !== null && last !== undefined) values.push(last);
    if (window !== undefined && within.length > 1) values.push((within.at(-1) ?? 0) - (within[0] ?? 0));
  }
  if (values.length === 0) return null;
  return by === 'max' ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
}
