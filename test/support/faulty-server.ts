// A service on a real socket of 127.0.0.1 that answers byte by byte as a test says, and a clock for calls to it.

import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { now } from './fake-fetch.js';

/** One request that has arrived whole, and the socket to answer it on. */
export interface Exchange {
  readonly socket: Socket;
  /** Which request of the server this is, from 1. */
  readonly number: number;
  /** Which request of its connection this is, from 1. */
  readonly onConnection: number;
  /** Resolves once the client has read the head of a response. */
  headRead(): Promise<void>;
}

/** A request as it came. */
export interface Arrived {
  readonly requestLine: string;
  readonly body: string;
}

/** A service that does what a test says, and what it has seen. */
export interface FaultyServer {
  readonly origin: string;
  readonly requests: readonly Arrived[];
  /** Each connection that was ever made. */
  readonly sockets: readonly Socket[];
  /** Tells the exchange under way that the client has read a head. */
  onHead(): void;
  /** Resolves once no connection is open, none of them ended by the server's own closing. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a service that answers each request by what `answer` writes to the socket. */
export async function faultyServer(answer: (exchange: Exchange) => unknown): Promise<FaultyServer> {
  const requests: Arrived[] = [];
  const sockets: Socket[] = [];
  const heads = new EventEmitter();
  const server = createServer((socket) => {
    let onConnection = 0;
    let received = '';
    sockets.push(socket);
    // What is being tested: a client that goes away, or a connection that is broken on purpose.
    socket.on('error', () => undefined);
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
      const request = wholeRequest(received);
      if (request === null) return;
      received = '';
      onConnection += 1;
      requests.push(request);
      const headRead = () => once(heads, 'head').then(() => undefined);
      void answer({ socket, number: requests.length, onConnection, headRead });
    });
  });
  const origin = await listening(server);
  return {
    origin,
    requests,
    sockets,
    onHead: () => heads.emit('head'),
    quiet: async () => {
      for (const socket of sockets) {
        if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
      }
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A port of 127.0.0.1 that nobody listens on. */
export async function refusingOrigin(): Promise<string> {
  const server = createServer();
  const origin = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return origin;
}

// A port is soon another server's, and the platform's pool may still hold a dying connection to it.
// Where all of 127.0.0.0/8 is loopback, as on Linux, each server has an address of its own.
let servers = 0;

function nextHost(): string {
  servers += 1;
  return process.platform === 'linux' ? `127.1.${servers >> 8}.${servers & 255}` : '127.0.0.1';
}

async function listening(server: Server): Promise<string> {
  const host = nextHost();
  server.listen(0, host);
  await once(server, 'listening');
  return `http://${host}:${(server.address() as AddressInfo).port}`;
}

function wholeRequest(received: string): Arrived | null {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const length = Number(/^content-length: *(\d+)/im.exec(received.slice(0, end))?.[1] ?? 0);
  const body = received.slice(end + 4);
  if (body.length < length) return null;
  return { requestLine: received.slice(0, received.indexOf('\r\n')), body: Buffer.from(body, 'latin1').toString() };
}

/** The head of a response, with nothing in it that is not asked for. */
export function head(status: number, headers: Readonly<Record<string, string | number>> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Said\r\n${lines.join('')}\r\n`;
}

/** A whole answer, of the length it says. */
export function whole(
  status: number,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string | number>> = { 'content-type': 'application/json' },
): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(head(status, { ...headers, 'content-length': bytes.length })), bytes]);
}

/**
 * Writes at most `total` bytes, no faster than they are taken, and stops when the client goes away.
 *
 * @returns How many were written.
 */
export async function pour(socket: Socket, chunk: Uint8Array, total: number): Promise<number> {
  let written = 0;
  while (written < total && !socket.destroyed) {
    written += chunk.length;
    if (!socket.write(chunk) && !socket.destroyed) await drained(socket);
  }
  return written;
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const onEither = () => {
      socket.off('drain', onEither).off('close', onEither);
      resolve();
    };
    socket.on('drain', onEither).on('close', onEither);
  });
}

/** A clock that stands still; its time limits are real, and its back-off ends at once and is recorded. */
export function socketClock(limits: readonly number[]) {
  const slept: number[] = [];
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    if (!limits.includes(ms)) {
      slept.push(ms);
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      }, ms);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  };
  return { slept, now: () => now, sleep };
}
