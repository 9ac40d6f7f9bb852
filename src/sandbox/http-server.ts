/**
 * An HTTP server. It can send responses of the testing kit (`WrittenResponse`) and of the platform (`Response`). It
 * checks the headers of a request, and then reads the body, up to a limit. If there is no response to send, the server
 * breaks the connection. This happens, for example, when a test has injected a fault.
 *
 * @module
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { firstHalf, type WrittenResponse } from '../testing/responses.js';
import { http } from './node-http.js';
import { createTooLarge, type Rejection, readTarget } from './request-check.js';

/** A request that was accepted, with its body. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query, even if the client sent a whole URL. */
  readonly target: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  /** Aborts when the client disconnects, or the server stops. */
  readonly signal: AbortSignal;
}

/** The functions with which a server handles requests. */
export interface Site {
  /** The largest body that is read, in bytes. */
  readonly maxBodyBytes: number;
  check(message: IncomingMessage): Rejection | null;
  /** Called instead of `respond` when a body is too large. It may return another rejection to send. */
  onTooLarge?(rejection: Rejection, message: IncomingMessage): Rejection | undefined;
  respond(request: ReceivedRequest): Promise<Response | WrittenResponse>;
}

export interface HttpServer {
  readonly port: number;
  /** Begins to handle requests. Must be called at once. */
  serve(site: Site): void;
  /** Breaks all connections, and resolves after they have ended. */
  close(): Promise<void>;
}

/** Starts to listen. Rejects with the platform's error if it cannot listen. */
export function listen(at: { host: string; port: number }): Promise<HttpServer> {
  // Node's check of `Host` is off, because our own check rejects requests without this header.
  const server = http.createServer({ requireHostHeader: false, requestTimeout: 30_000 });
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(at.port, at.host.replace(/^\[|\]$/g, ''), () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : at.port;
      resolve({
        port,
        serve(site) {
          server.on('request', (message, response) => void respond(message, response, site));
          // Some clients wait for "100 Continue" before they send the body.
          server.on('checkContinue', (message, response) => void respond(message, response, site, true));
        },
        close: () => close(server),
      });
    });
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

async function respond(
  message: IncomingMessage,
  response: ServerResponse,
  site: Site,
  isWaiting = false,
): Promise<void> {
  const leaving = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) leaving.abort(new Error('the client disconnected'));
  });
  // A broken connection is not an error of this server.
  response.on('error', () => undefined);
  // Without this header, a foreign page could learn which server this is.
  response.setHeader('cross-origin-resource-policy', 'same-origin');
  try {
    const rejection = site.check(message) ?? checkMethod(message);
    if (rejection !== null) return reject(response, rejection);
    if (isWaiting) response.writeContinue();
    const body = await readBody(message, site.maxBodyBytes);
    if (body === null) {
      const tooLarge = createTooLarge(site.maxBodyBytes);
      return reject(response, site.onTooLarge?.(tooLarge, message) ?? tooLarge);
    }
    const { method = 'GET', url = '/', headers } = message;
    const target = readTarget(url).path;
    const written = await site.respond({ method, target, headers, body, signal: leaving.signal });
    if ('isTruncated' in written) await write(written, response);
    else await send(written, response);
  } catch {
    if (response.socket?.resetAndDestroy === undefined) response.destroy();
    else response.socket.resetAndDestroy();
  }
}

/** The platform's `Request` refuses the method TRACE. */
function checkMethod({ method }: IncomingMessage): Rejection | null {
  if (method !== 'TRACE') return null;
  const headers = { allow: 'GET, HEAD, OPTIONS, POST, PUT' };
  return { status: 405, message: `Send the request with one of the methods ${headers.allow}`, headers };
}

/** Rejects a request, and closes the connection, because the body was not read. */
function reject(response: ServerResponse, { status, message, headers }: Rejection): void {
  const own = { 'content-type': 'application/json', connection: 'close', 'x-content-type-options': 'nosniff' };
  response.writeHead(status, { ...own, ...headers }).end(JSON.stringify({ error: message }));
}

/** Reads a body; null if it is larger than the limit. */
async function readBody(message: IncomingMessage, maxBodyBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function write({ status, headers, body, isTruncated }: WrittenResponse, to: ServerResponse): Promise<void> {
  to.writeHead(status, headers);
  if (!isTruncated) return void to.end(body ?? undefined);
  await new Promise<void>((resolve) => to.write(firstHalf(body ?? ''), () => resolve()));
  throw new Error('the response is truncated');
}

async function send(response: Response, to: ServerResponse): Promise<void> {
  to.writeHead(response.status, [...response.headers].flat());
  to.end(Buffer.from(await response.arrayBuffer()));
}
