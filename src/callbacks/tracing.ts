/**
 * Publishes deliveries on their tracing channel. No message contains anything from the callback.
 *
 * @module
 */

import { completeMessage, openChannel, type TraceMessage, trace } from '../runtime/tracing-channel.js';
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
  const channel = openChannel('callback');
  if (!channel?.hasSubscribers) return process();
  const message: CallbackMessage = { result: null, status: null, errorCode: null };
  return trace(channel, message, async () => {
    const delivery = await process();
    const { result, reason, status } = delivery;
    completeMessage(message, { result, status, errorCode: reason });
    return delivery;
  });
}
