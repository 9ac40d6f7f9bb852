/**
 * Turns a framework's own request into the web-standard request that a handler of callbacks takes.
 *
 * @module
 */

import { HostedConfigError } from '../errors/client-errors.js';
import { shadowPollution } from '../runtime/untrusted-objects.js';

/** A handler of web-standard requests, as `callbacks.handler` returns it. */
export type WebHandler = (request: Request) => Promise<Response>;

/**
 * Checks the handler when an adapter is created, before the first callback.
 *
 * @throws {HostedConfigError} when `handle` is not a function.
 */
export function assertHandler(handle: unknown): asserts handle is WebHandler {
  if (typeof handle === 'function') return;
  const issues = [{ path: 'handle', message: 'must be the function that callbacks.handler() returns' }];
  throw new HostedConfigError(issues, { task: 'receive a callback' });
}

/** The parts of a framework's own request. */
export interface GivenRequest {
  readonly method: unknown;
  /** Path and query. */
  readonly path: unknown;
  /** The headers, by name. A value may be a list. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** The bytes of the body, or a stream of these bytes. */
  readonly body: Uint8Array | ReadableStream<Uint8Array>;
}

/**
 * Creates a web-standard request. If `read` throws, the request gets a body that cannot be read, and the handler
 * reports the error.
 */
export function createRequest(read: () => GivenRequest): Request {
  try {
    return toWebRequest(read());
  } catch {
    return toWebRequest({ method: 'POST', path: '/', headers: {}, body: createBrokenBody() });
  }
}

function toWebRequest({ method, path, headers, body }: GivenRequest): Request {
  const given = toMethod(method);
  const init = { ...shadowPollution(), method: given, headers: toHeaders(headers, body) };
  if (given === 'GET' || given === 'HEAD') return new Request(toUrl(path), init);
  const stream = body instanceof ReadableStream ? body : streamOf(body);
  // Node requires `duplex` for streams, but the type in lib.dom does not have it.
  return new Request(toUrl(path), Object.assign(init, { body: stream, duplex: 'half' }));
}

/**
 * Creates a body that cannot be read. Handlers report the error and respond with 503, so that the callback is
 * redelivered.
 */
export function createBrokenBody(): ReadableStream<Uint8Array> {
  return createStream((controller) => controller.error(new TypeError('the body was read before')));
}

/** Creates a stream that does nothing before it is read, even if `Object.prototype` is polluted. */
export function createStream(
  pull: (controller: ReadableStreamDefaultController<Uint8Array>) => void,
  cancel: () => void = () => undefined,
): ReadableStream<Uint8Array> {
  const shadows = shadowPollution();
  return new ReadableStream<Uint8Array>({ ...shadows, pull, cancel }, { ...shadows, highWaterMark: 0 });
}

// The body is a stream, because a Request would copy the bytes.
function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return createStream((controller) => {
    if (bytes.length > 0) controller.enqueue(bytes);
    controller.close();
  });
}

// The platform's Request accepts neither CONNECT nor TRACE. These methods become GET, which a handler rejects, too.
function toMethod(method: unknown): string {
  const name = String(method).toUpperCase();
  return ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'].includes(name) ? name : 'GET';
}

// The URL does not contain the host and scheme of the request, because clients and gateways choose them.
function toUrl(path: unknown): string {
  const url = URL.parse(`http://localhost/${String(path ?? '').replace(/^\/+/, '')}`);
  return url?.href ?? 'http://localhost/';
}

/** Headers that describe the body as it was sent. They are left out if a parser may have changed the body. */
const ofTransfer = new Set(['content-length', 'content-encoding', 'transfer-encoding']);

function toHeaders(given: Readonly<Record<string, unknown>>, body: GivenRequest['body']): Headers {
  const headers = new Headers();
  const isStream = body instanceof ReadableStream;
  for (const [name, value] of Object.entries(given)) {
    if (!isStream && ofTransfer.has(name.toLowerCase())) continue;
    for (const one of Array.isArray(value) ? value : [value]) appendHeader(headers, name, one);
  }
  if (!isStream) headers.set('content-length', String(body.length));
  return headers;
}

// Headers that the platform rejects (HTTP/2 has `:method`) are left out, because handlers do not read them.
function appendHeader(headers: Headers, name: string, value: unknown): void {
  if (typeof value !== 'string') return;
  try {
    headers.append(name, value);
  } catch {}
}
