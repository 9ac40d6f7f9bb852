/**
 * Turns the service's response into a response of the platform.
 *
 * @module
 */

import { createNetworkError } from './faults.js';
import { firstHalf, type WrittenResponse } from './responses.js';

/** Creates the platform's response. If it is truncated, its body ends with an error. */
export function toResponse({ status, headers, body, isTruncated }: WrittenResponse): Response {
  return new Response(isTruncated && body !== null ? breakOff(firstHalf(body)) : body, { status, headers });
}

function breakOff(bytes: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  let isSent = false;
  return new ReadableStream({
    pull(controller) {
      // The chunk and the error come in separate pulls, because an error discards the chunks that are still queued.
      if (isSent) controller.error(new TypeError('terminated', { cause: createNetworkError().cause }));
      else controller.enqueue(bytes);
      isSent = true;
    },
  });
}
