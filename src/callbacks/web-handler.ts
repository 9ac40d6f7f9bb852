/**
 * The web-standard handler of callbacks: it reports the result of a delivery, and responds to the service.
 *
 * @module
 */

import { assumedRedeliverySeconds } from '../protocol/assumptions.js';
import { shadowPollution } from '../runtime/untrusted-objects.js';
import type { Settings } from '../settings.js';
import type { HandlerSettings } from './options.js';
import { codeOf, createFailure, type Delivery, type DeliveryReports, type DeliveryResult } from './reports.js';
import { traceDelivery } from './tracing.js';

/** The settings of a handler, the settings of its client, and the reports about deliveries. */
export interface Handling {
  readonly settings: HandlerSettings;
  readonly client: Settings;
  readonly reports: DeliveryReports;
}

/** The parts of {@link Handling} that a handler needs to report a delivery and to respond. */
export interface Reporting {
  readonly settings: Pick<HandlerSettings, 'onError'>;
  readonly client: Pick<Settings, 'clock'>;
  readonly reports: DeliveryReports;
}

/** Creates a handler from the function that processes a delivery. The handler never rejects. */
export function createHandler(
  deliver: (request: Request) => Promise<DeliveryResult>,
  { settings, client, reports }: Reporting,
): (request: Request) => Promise<Response> {
  return async (request) => respond(await traceDelivery(() => process(request)));

  async function process(request: Request): Promise<Delivery> {
    let startedAt = Number.NaN;
    let outcome: DeliveryResult;
    try {
      // The clock is read first: if it failed later, reading the body would time out at once, with a 408 response.
      startedAt = client.clock.elapsed();
      outcome = await deliver(request);
    } catch (error) {
      outcome = createFailure('verify', 503, codeOf(error), error);
    }
    return reports.report(outcome, durationSince(startedAt, client), settings.onError);
  }
}

function durationSince(startedAt: number, { clock }: Pick<Settings, 'clock'>): number {
  try {
    return clock.elapsed() - startedAt || 0;
  } catch {
    return 0;
  }
}

function respond({ status }: Delivery): Response {
  const headers: Record<string, string> = {};
  if (status === 405) headers.allow = 'POST';
  if (status === 503) headers['retry-after'] = String(assumedRedeliverySeconds);
  return new Response(null, { ...shadowPollution(), status, headers });
}
