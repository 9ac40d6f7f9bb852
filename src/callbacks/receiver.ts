/**
 * Receives the callbacks of one client.
 *
 * @module
 */

import type { JobRef, JobStatus } from '../jobs/types.js';
import type { Settings } from '../settings.js';
import { callbackSource, createBusyError, createJobLimitError } from './callback-errors.js';
import { createHintHandling } from './handle-hint.js';
import { createUnconfirmedHandling } from './handle-unconfirmed.js';
import { createHintLimits, namedJobOf } from './hint-limits.js';
import { begin } from './lease.js';
import { limitStep } from './limit-step.js';
import type { ReceiveSettings } from './options.js';
import { processDelivery } from './process-delivery.js';
import { readCallback } from './read-callback.js';
import type { DeliveryReports, DeliveryResult } from './reports.js';
import { createResultMemory } from './result-memory.js';
import { createTurns } from './turns.js';
import type { CallbackEvent } from './types.js';
import type { Handling } from './web-handler.js';

export interface CallbackReceiver {
  /** Receives a callback without a handler. The callback then counts as handled. */
  receive(body: string | Uint8Array, settings: ReceiveSettings): Promise<CallbackEvent>;
  deliver(request: Request, handling: Handling): Promise<DeliveryResult>;
}

/** Creates the receiver of a client. `fetchOnce` fetches job status once, with history. */
export function createReceiver(
  fetchOnce: (job: JobRef) => Promise<JobStatus>,
  { client, reports }: { readonly client: Settings; readonly reports: DeliveryReports },
): CallbackReceiver {
  const { clock } = client;
  const { warn } = reports;
  const limits = createHintLimits(clock.elapsed);
  const handleUnconfirmed = createUnconfirmedHandling(limits);
  const handleHint = createHintHandling({
    fetchOnce,
    limits,
    results: createResultMemory({ clock, warn }),
    turns: createTurns(clock),
  });

  return {
    async receive(body, settings) {
      const callback = await readCallback(body, settings, client);
      const { event, key } = callback;
      const begun = await begin(callback, settings, { clock, warn });
      if (begun.known === 'conflict') throw callbackSource.createUntrusted('replayed');
      if (begun.known === 'repeat') return { ...event, repeat: true };
      const { lease } = begun;
      if (lease === undefined) throw createBusyError();
      if (!limits.admits(await namedJobOf(callback, undefined))) {
        await lease.forget();
        throw createJobLimitError();
      }
      try {
        const step = () => settings.replayGuard.commit(key);
        await limitStep(clock, { of: 'replay guard', step, onLate: lease.forget });
      } catch (error) {
        // The caller gets an error instead of the callback, so the next delivery must count as new.
        await lease.forget();
        throw error;
      }
      return event;
    },
    deliver(request, handling) {
      return processDelivery(request, handling.settings.confirms ? handleHint : handleUnconfirmed, handling);
    },
  };
}
