/**
 * The web-standard handler of callbacks: it reports what became of a delivery, and responds to the service.
 *
 * @module
 */

import { assumedRedeliverySeconds } from '../protocol/assumptions.js';
import { shadowPollution } from '../runtime/prototype.js';
import type { Settings } from '../settings.js';
import { codeOf, createFailure, type DeliveryReports, type DeliveryResult } from './delivery.js';
import type { HandlerSettings } from './options.js';

/** What a handler works with. */
export interface Handling {
  readonly settings: HandlerSettings;
  readonly client: Settings;
  readonly reports: DeliveryReports;
}

/** Creates a handler over what is done with a delivery; it never rejects. */
export function createHandler(
  deliver: (request: Request) => Promise<DeliveryResult>,
  { settings, client, reports }: Handling,
): (request: Request) => Promise<Response> {
  return async (request) => {
    let startedAt = Number.NaN;
    let outcome: DeliveryResult;
    try {
      // With a clock that fails, the first time limit would be over at once: 408, which is not so.
      startedAt = client.clock.elapsed();
      outcome = await deliver(request);
    } catch (error) {
      outcome = createFailure('verify', 503, codeOf(error), error);
    }
    reports.report(outcome, durationSince(startedAt, client), settings.onError);
    return respond(outcome.status);
  };
}

function durationSince(startedAt: number, { clock }: Settings): number {
  try {
    return clock.elapsed() - startedAt || 0;
  } catch {
    return 0;
  }
}

function respond(status: number): Response {
  const headers: Record<string, string> = {};
  if (status === 405) headers.allow = 'POST';
  if (status === 503) headers['retry-after'] = String(assumedRedeliverySeconds);
  return new Response(null, { ...shadowPollution(), status, headers });
}
