// Reads the measurements of OpenTelemetry's own SDK.

import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { onTestFinished } from 'vitest';

/** A meter provider whose measurements can be read. */
export function measuring() {
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 2 ** 31 - 1 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  onTestFinished(() => reader.shutdown());
  return {
    meterProvider,
    /** Each metric by its name, as data points of value and attributes. */
    async read() {
      await reader.forceFlush();
      const found =
        measured
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      return Object.fromEntries(
        found.map(({ descriptor, dataPoints }) => [
          descriptor.name,
          dataPoints.map(({ value, attributes }) => ({
            count: typeof value === 'number' ? value : (value as { count: number }).count,
            unit: descriptor.unit,
            ...attributes,
          })),
        ]),
      );
    },
  };
}
