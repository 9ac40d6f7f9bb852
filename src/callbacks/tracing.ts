/**
 * Publishes deliveries on their tracing channel. No message contains anything from the callback.
 *
 * @module
 */

import { completeMessage, type TraceMessage, trace } from '../runtime/tracing-channel.js';
import type { Delivery } from './reports.js';

/** The message of the channel `hosted-client:callback`. */
export interface CallbackMessage extends TraceMessage {
  /** The result of the delivery; null until the delivery was handled. */
  result: Delivery['result'] | null;
  /** The HTTP status of our response; null until the delivery was handled. */
  status: number | null;
}

/** Handles a delivery with `process`, and publishes the delivery if the channel has a subscriber. */
export function traceDelivery(process: () => Promise<Delivery>): Promise<Delivery> {
  const begun: CallbackMessage = { result: null, status: null, errorCode: null };
  return trace(
    'callback',
    () => begun,
    async (message) => {
      const delivery = await process();
      const { result, reason, status } = delivery;
      if (message) completeMessage(message, { result, status, errorCode: reason });
      return delivery;
    },
  );
}
