/**
 * Receives callbacks from `node:http` and the frameworks on top of it.
 *
 * @module
 */

import { hasMethods, readProperty } from '../runtime/untrusted-objects.js';
import { rawBytesOf, rewriteParsed } from './given-body.js';
import {
  assertHandler,
  createBrokenBody,
  createRequest,
  createStream,
  type GivenRequest,
  type WebHandler,
} from './web-request.js';

/**
 * Adapts a handler of callbacks to `node:http`, `node:http2`, Express 4 and 5, Connect, Nest, and Fastify's
 * `request.raw` and `reply.raw`.
 *
 * The body may have any of these forms: `rawBody` (a string or bytes), `body` as bytes or a string, a stream that was
 * not read, or the object that a JSON parser returned. The signature does not cover the body, so `express.json()` may
 * run first. The parser changes only numbers that are too large for JavaScript: it rounds them. Content type and the
 * headers of gateways do not matter. A callback can be 1.5 MB in size. But `express.json()` rejects bodies of more than
 * 100 KB, and Fastify rejects bodies of more than 1 MB, before this function is called. So raise the limit of the
 * parser, for example to `'2mb'`.
 *
 * You need it where a framework has requests of `node:http`. Hono, Next and others that use `Request` and `Response` take
 * the handler itself. With Fastify, call `reply.hijack()` first, and pass `Object.assign(request.raw, { body: request.body })`
 * and `reply.raw`, because Fastify has read the body.
 *
 * If other code has read the body and did not keep it, the response is 503, and the handler's `onError` is called. If
 * the body is larger than `maxBytes`, the response is 413, and the rest of the body is read and dropped. If a body that has
 * not arrived gets 408 or 503, the connection is closed.
 *
 * @param handle - The handler that `callbacks.handler` returns.
 * @returns A function that takes the parts of an `IncomingMessage` and of a `ServerResponse` that it uses. It never
 *   rejects: if `handle` rejects, the response is 500.
 * @throws {HostedConfigError} when `handle` is not a function.
 *
 * @example Express, behind a parser of JSON
 * ```ts
 * const receive = nodeHandler(client.callbacks.handler({ onEvent: (event) => console.log(event.id) }));
 * app.use(express.json({ limit: '2mb' }));
 * app.post('/callbacks', receive);
 * ```
 *
 * @see [§6](../../docs/protocol.md#6-events) of docs/protocol.md
 */
export function nodeHandler(handle: (request: Request) => Promise<Response>): (
  request: {
    /** The method. */
    readonly method?: string | undefined;
    /** Path and query. */
    readonly url?: string | undefined;
    /** The headers, by name in lower case. */
    readonly headers: Readonly<Record<string, string | string[] | undefined>>;
    /** The parsed body, if a parser ran. */
    readonly body?: unknown;
    /** The received body, unchanged, if the framework kept it. */
    readonly rawBody?: unknown;
  },
  response: {
    /** The status to send. */
    statusCode: number;
    /** Whether the headers were sent. */
    readonly headersSent: boolean;
    /** Whether the response was ended. */
    readonly writableEnded: boolean;
    /** Whether the connection is closed. */
    readonly destroyed: boolean;
    /**
     * Sets a header.
     *
     * @param name - The name of the header.
     * @param value - The value of the header, or a list of values.
     * @returns Anything.
     */
    setHeader(name: string, value: string | readonly string[]): unknown;
    /**
     * Sends the response without a body.
     *
     * @returns Anything.
     */
    end(): unknown;
    /**
     * Sends the response.
     *
     * @param body - The bytes.
     * @returns Anything.
     */
    end(body: Uint8Array): unknown;
  },
) => Promise<void> {
  assertHandler(handle);
  return async (request, response) => {
    const answer = await answerTo(request, handle);
    // If sending fails, the error is ignored, because no other response can be sent.
    await send(answer, response, request).catch(() => undefined);
  };
}

type NodeRequest = Parameters<ReturnType<typeof nodeHandler>>[0];
type NodeResponse = Parameters<ReturnType<typeof nodeHandler>>[1];

/** The response; null if the handler rejected. Handlers of this package never reject. */
async function answerTo(request: NodeRequest, handle: WebHandler): Promise<Response | null> {
  try {
    return await handle(createRequest(() => readRequest(request)));
  } catch {
    return null;
  }
}

function readRequest(request: NodeRequest): GivenRequest {
  const { method, url, headers } = request;
  return { method, path: url, headers, body: bodyOf(request) };
}

function bodyOf(request: NodeRequest): Uint8Array | ReadableStream<Uint8Array> {
  const body = readProperty(request, 'body');
  const raws = [rawBytesOf(readProperty(request, 'rawBody')), rawBytesOf(body)];
  const raw = raws.find((bytes) => bytes !== null && bytes.length > 0);
  if (raw) return raw;
  // If no parser ran, `body` is an empty object in Express 4, and may be an empty string in other frameworks.
  const isBlank = body === undefined || body === null || raws[1] !== null || isEmptyObject(body);
  if (!isBlank) return rewriteParsed(body) ?? createBrokenBody();
  if (isUnread(request)) return streamOf(request);
  const sentBytes = Number(request.headers['content-length'] ?? 0);
  if (raws.some((bytes) => bytes !== null) && sentBytes === 0) return new Uint8Array();
  // An empty object counts as the body only if two bytes were sent.
  return (isEmptyObject(body) && sentBytes === 2 ? rewriteParsed(body) : null) ?? createBrokenBody();
}

function isEmptyObject(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0;
}

/** The stream methods of an IncomingMessage. */
interface NodeStream {
  readonly readableDidRead?: boolean;
  readonly readableEnded?: boolean;
  readonly destroyed?: boolean;
  on(event: string, listener: (given: unknown) => void): unknown;
  off(event: string, listener: (given: unknown) => void): unknown;
  pause(): unknown;
  resume(): unknown;
}

function isUnread(request: object): request is NodeStream {
  return hasMethods(request, 'on', 'off', 'pause', 'resume') && readProperty(request, 'readableDidRead') !== true;
}

// The body is read with events. The iterator and `Readable.toWeb` destroy the connection if reading stops early, and
// then no response can be sent.
function streamOf(source: NodeStream): ReadableStream<Uint8Array> {
  let stopListening: (() => void) | undefined;
  return createStream(
    (controller) => {
      stopListening ??= listen(source, controller);
      source.resume();
    },
    () => {
      stopListening?.();
      // The rest is read and dropped, because otherwise the connection could not be used for another request.
      source.resume();
    },
  );
}

function listen(source: NodeStream, controller: ReadableStreamDefaultController<Uint8Array>): () => void {
  const end = (finish: () => void) => {
    stop();
    finish();
  };
  const fail = () => end(() => controller.error(new TypeError('the connection broke')));
  const listeners: readonly (readonly [string, (given: unknown) => void])[] = [
    [
      'data',
      (chunk) => {
        // Each read gives one chunk. The other chunks wait in the connection.
        source.pause();
        const bytes = rawBytesOf(chunk);
        if (bytes === null) fail();
        else controller.enqueue(bytes);
      },
    ],
    ['end', () => end(() => controller.close())],
    ['error', fail],
    ['close', fail],
  ];
  const stop = () => {
    for (const [event, listener] of listeners) source.off(event, listener);
    // A later error of the request must not end the process.
    source.on('error', () => undefined);
  };
  for (const [event, listener] of listeners) source.on(event, listener);
  if (source.readableEnded) end(() => controller.close());
  else if (source.destroyed) fail();
  return stop;
}

async function send(answer: Response | null, response: NodeResponse, request: NodeRequest): Promise<void> {
  const body = new Uint8Array((await answer?.arrayBuffer()) ?? []);
  // Other code may have responded already, or the client may have disconnected.
  if (response.headersSent || response.writableEnded || response.destroyed) return;
  response.statusCode = answer?.status ?? 500;
  for (const [name, value] of answer?.headers ?? []) {
    response.setHeader(name, name === 'set-cookie' ? (answer?.headers.getSetCookie() ?? value) : value);
  }
  // After 408, the connection is closed, because the rest of the body is still missing (RFC 9110 §15.5.9); so it is after
  // 503, if there was no memory for the body: reading and dropping the rest takes memory, too. HTTP/2 has no header
  // `connection`.
  const [isComplete, version] = ['complete', 'httpVersionMajor'].map((name) => readProperty(Object(request), name));
  const isMissing = answer?.status === 408 || (answer?.status === 503 && isComplete === false);
  if (isMissing && version !== 2) response.setHeader('connection', 'close');
  if (body.length > 0) response.end(body);
  else response.end();
}
