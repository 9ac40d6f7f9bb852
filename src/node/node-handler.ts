/**
 * Receives callbacks from `node:http` and the frameworks on top of it.
 *
 * @module
 */

import { hasMethods, readProperty } from '../runtime/prototype.js';
import { rawBytesOf, rewriteParsed } from './given-body.js';
import { assertHandler, createBrokenBody, createRequest, createStream, type WebHandler } from './web-request.js';

/**
 * As much of an `IncomingMessage` of `node:http` as is used; `body` and `rawBody` are what frameworks add.
 *
 * @inline
 */
export interface NodeRequest {
  /** The method. */
  readonly method?: string | undefined;
  /** Path and query. */
  readonly url?: string | undefined;
  /** By name, in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** What a parser made of the body, if one ran. */
  readonly body?: unknown;
  /** The body as it was received, if it was kept. */
  readonly rawBody?: unknown;
}

/**
 * As much of a `ServerResponse` of `node:http` as is used.
 *
 * @inline
 */
export interface NodeResponse {
  /** The status to send. */
  statusCode: number;
  /** Whether it was begun. */
  readonly headersSent: boolean;
  /** Whether it was sent. */
  readonly writableEnded: boolean;
  /** Whether the connection is gone. */
  readonly destroyed: boolean;
  /**
   * Sets a header.
   *
   * @param name - Its name.
   * @param value - Its value, or several.
   * @returns Anything.
   */
  setHeader(name: string, value: string | readonly string[]): unknown;
  /**
   * Sends it.
   *
   * @param body - The bytes.
   * @returns Anything.
   */
  end(body?: Uint8Array): unknown;
}

/**
 * Adapts a handler of callbacks to `node:http`, Express 4 and 5, Connect, Nest, and the raw pair of Fastify.
 *
 * The body may be there in any form: `rawBody` (a string or bytes), a `body` of bytes or a string, a stream that
 * was not read, or the object that a JSON parser made. The signature does not cover the body, so `express.json()`
 * in front changes nothing, except that numbers which JavaScript cannot hold have lost digits. Content type and
 * the headers of gateways do not matter. Callbacks grow to 1.5 MB: give a parser in front a `limit` of `'8mb'`, as
 * `express.json()` stops at 100 KB and Fastify at 1 MB, both before this is called.
 *
 * A body that something else has read without keeping it ends in 503, and in `onError` of the handler. What is
 * larger than `maxBytes` ends in 413, and the rest of it is read and dropped.
 *
 * @param handle - What `callbacks.handler` returns.
 * @returns A function from a request and its response. It never rejects: where `handle` does, the response is 500.
 * @throws {HostedConfigError} when `handle` is not a function.
 *
 * @example Express, behind a parser of JSON
 * ```ts
 * const receive = nodeHandler(client.callbacks.handler({ onEvent: (event) => console.log(event.id) }));
 * app.use(express.json({ limit: '8mb' }));
 * app.post('/callbacks', receive);
 * ```
 *
 * @see §6 of docs/protocol.md
 */
export function nodeHandler(
  handle: (request: Request) => Promise<Response>,
): (request: NodeRequest, response: NodeResponse) => Promise<void> {
  assertHandler(handle);
  return async (request, response) => {
    const answer = await answerTo(request, handle);
    // What fails here has no other way to be told: the response is gone.
    await send(answer, response).catch(() => undefined);
  };
}

/** The response; null where the handler rejected, which those of this package do not. */
async function answerTo(request: NodeRequest, handle: WebHandler): Promise<Response | null> {
  try {
    const { method, url, headers } = request;
    return await handle(createRequest({ method, path: url, headers, body: bodyOf(request) }));
  } catch {
    return null;
  }
}

function bodyOf(request: NodeRequest): Uint8Array | ReadableStream<Uint8Array> {
  const body = readProperty(request, 'body');
  const raw = rawBytesOf(readProperty(request, 'rawBody')) ?? rawBytesOf(body);
  if (raw !== null) return raw;
  // Express 4 has an empty object where no parser ran.
  const isBlank = body === undefined || body === null || isEmptyObject(body);
  if (isBlank && isUnread(request)) return streamOf(request);
  // An empty object is a body of its own only if that is all that was sent.
  if (isBlank && !(body && Number(request.headers['content-length']) === 2)) return createBrokenBody();
  return rewriteParsed(body) ?? createBrokenBody();
}

function isEmptyObject(body: unknown): boolean {
  return typeof body === 'object' && body !== null && !Array.isArray(body) && Object.keys(body).length === 0;
}

/** The stream that an IncomingMessage is. */
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

// By its events: its iterator and `Readable.toWeb` destroy the connection when reading stops early, and no response
// could be sent then.
function streamOf(source: NodeStream): ReadableStream<Uint8Array> {
  let stopListening: (() => void) | undefined;
  return createStream(
    (controller) => {
      stopListening ??= listen(source, controller);
      source.resume();
    },
    () => {
      stopListening?.();
      // Drops the rest, or the connection could carry no other request.
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
        // One chunk for each read: what is not read yet waits in the connection.
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
    // An error that comes later must not end the process.
    source.on('error', () => undefined);
  };
  for (const [event, listener] of listeners) source.on(event, listener);
  if (source.readableEnded) end(() => controller.close());
  else if (source.destroyed) fail();
  return stop;
}

async function send(answer: Response | null, response: NodeResponse): Promise<void> {
  const body = new Uint8Array((await answer?.arrayBuffer()) ?? []);
  // Another part of the program may have responded, or the client be gone.
  if (response.headersSent || response.writableEnded || response.destroyed) return;
  response.statusCode = answer?.status ?? 500;
  for (const [name, value] of answer?.headers ?? []) {
    response.setHeader(name, name === 'set-cookie' ? (answer?.headers.getSetCookie() ?? value) : value);
  }
  // RFC 9110 §15.5.9: the rest of a body that did not come in time is not waited for.
  if (answer?.status === 408) response.setHeader('connection', 'close');
  if (body.length > 0) response.end(body);
  else response.end();
}
