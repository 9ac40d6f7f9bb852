/**
 * Receives callbacks on AWS Lambda.
 *
 * @module
 */

import { isRecord, readProperty } from '../runtime/untrusted-objects.js';
import { rawBytesOf, rewriteParsed } from './given-body.js';
import { assertHandler, createBrokenBody, createRequest, type GivenRequest } from './web-request.js';

/**
 * Adapts a handler of callbacks to AWS Lambda. The returned function reads the events of an HTTP API (payload 1.0 and
 * 2.0), a REST API, a function URL and a load balancer.
 *
 * The body may be text, base64, or an object that a middleware parsed. A load balancer accepts at most 1 MB, but a
 * callback can be 1.5 MB in size.
 *
 * @param handle - The handler that `callbacks.handler` returns.
 * @returns A function that takes an event and resolves with status, headers and body. It never rejects: if `handle`
 *   rejects, the status is 500.
 * @throws {HostedConfigError} when `handle` is not a function.
 *
 * @example A function that receives callbacks
 * ```ts
 * export const handler = lambdaHandler(client.callbacks.handler({ onEvent: (event) => console.log(event.id) }));
 * ```
 *
 * @see [§6](../../docs/protocol.md#6-events) of docs/protocol.md
 */
export function lambdaHandler(handle: (request: Request) => Promise<Response>): (event: object) => Promise<{
  /** The HTTP status. */
  statusCode: number;
  /** The headers, by name. */
  headers: Record<string, string>;
  /** The body. If `handle` comes from `callbacks.handler`, it is one word, the reason of the response. */
  body: string;
}> {
  assertHandler(handle);
  return async (event) => {
    try {
      const answer = await handle(createRequest(() => readEvent(event)));
      return { statusCode: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() };
    } catch {
      return { statusCode: 500, headers: {}, body: '' };
    }
  };
}

function readEvent(event: unknown): GivenRequest {
  const context = read(event, 'requestContext');
  // Payload 2.0 and function URLs have `requestContext.http`. All other events have `httpMethod`.
  const method = read(read(context, 'http'), 'method') ?? read(event, 'httpMethod') ?? read(context, 'httpMethod');
  return {
    method,
    path: read(event, 'rawPath') ?? read(event, 'path'),
    headers: { ...toRecord(read(event, 'multiValueHeaders')), ...toRecord(read(event, 'headers')) },
    // Some middlewares write this flag as a string.
    body: bodyOf(read(event, 'body'), String(read(event, 'isBase64Encoded')) === 'true'),
  };
}

function bodyOf(body: unknown, isBase64: boolean): Uint8Array | ReadableStream<Uint8Array> {
  if (body === undefined || body === null) return new Uint8Array();
  const decoded = isBase64 && typeof body === 'string' ? decode(body) : null;
  return decoded ?? rawBytesOf(body) ?? rewriteParsed(body) ?? createBrokenBody();
}

// Base64 that is not canonical is decoded, too, because gateways differ.
function decode(base64: string): Uint8Array | null {
  try {
    const binary = atob(base64);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
    return bytes;
  } catch {
    return null;
  }
}

function read(holder: unknown, name: string): unknown {
  return isRecord(holder) ? readProperty(holder, name) : undefined;
}

function toRecord(headers: unknown): Readonly<Record<string, unknown>> {
  return isRecord(headers) ? headers : {};
}
