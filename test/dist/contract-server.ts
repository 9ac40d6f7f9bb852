/**
 * The server that the contracts call "on the wire": it answers with the testing kit on a port of
 * loopback, and spoils what it is asked to. A path is `/<fault>/<key>/…`; requests are counted by key.
 */

import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createPlainServer, type Server, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import type * as testing from 'hosted-client/testing';
import { startFailingServers } from '../support/failing-handshakes.ts';

// By its path: the package's own name is not known below a manifest of another name.
const built = new URL('../../dist/testing/index.js', import.meta.url).href;
const { createMockService } = (await import(built)) as typeof testing;

/** A server under way, as the contracts know it. */
export interface ContractServer {
  readonly origin: string;
  /** A port of loopback that nobody listens on. */
  readonly refusing: string;
  readonly account: { readonly partnerId: string; readonly apiKey: string };
  /** The certificate of the authority that signed those of the servers below. */
  readonly authority: string;
  /** Servers that no client can finish a handshake with, as `host:port`, and proxies, by their faults. */
  readonly failing: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** A request that has arrived whole. */
interface Arrived {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  /** Which request of its key this is, from 1. */
  readonly number: number;
  /** What the service answers. It has acted. */
  answer(): Promise<Buffer>;
}

/** Starts a server with a service of its own. */
export async function startContractServer(): Promise<ContractServer> {
  const service = createMockService();
  const { partnerId, apiKey = '' } = service.sandbox.clientOptions;
  const seen = new Map<string, number>();
  const failing = await startFailingServers();
  const closings = new EventEmitter();
  const closed = new Set<string>();

  const server = createServer(async (request, response) => {
    const [, what = '', key = '', ...rest] = (request.url ?? '').split('/');
    if (what === 'seen') return answerJson(response, seen.get(key) ?? 0);
    if (what === 'failing') return answerJson(response, failing.servers[decodeURIComponent(key)]?.seen());
    if (what === 'fading') return answerJson(response, await fadingOrigin());
    if (what === 'gone') {
      if (!closed.has(key)) await once(closings, key);
      return answerJson(response, true);
    }
    const body = await bodyOf(request);
    const number = (seen.get(key) ?? 0) + 1;
    seen.set(key, number);
    response.once('close', () => {
      closed.add(key);
      closings.emit(key);
    });
    const answer = async () => {
      const url = `${service.sandbox.baseUrl}/${rest.join('/')}`;
      const init = { method: request.method ?? '', headers: json, body: new Uint8Array(body) };
      return Buffer.from(await (await service.fetch(url, init)).arrayBuffer());
    };
    const arrived = { request, response, body, number, answer };
    if (what === 'service') return serve(service.fetch, `${service.sandbox.baseUrl}/${rest.join('/')}`, arrived);
    const act = faults[what];
    if (act === undefined) return response.writeHead(500).end(`There is no fault "${what}"`);
    return act(arrived);
  });

  // Answers a TLS greeting as web servers do, but leaves it to the other side to hang up: what that
  // side reads does not depend on which comes first.
  server.on('clientError', (_error, socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    // What is being tested: a client that goes away.
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });

  return {
    origin: await listening(server),
    refusing: await refusingOrigin(),
    account: { partnerId, apiKey },
    authority: failing.authority,
    failing: Object.fromEntries(Object.entries(failing.servers).map(([fault, { host }]) => [fault, host])),
    async close() {
      failing.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Passes a request on to the service, and its answer back. */
async function serve(fetch: typeof globalThis.fetch, url: string, { request, response, body }: Arrived): Promise<void> {
  const headers = new Headers(request.headers as Record<string, string>);
  const answer = await fetch(url, { method: request.method ?? '', headers, body: new Uint8Array(body) });
  const bytes = Buffer.from(await answer.arrayBuffer());
  response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), 'content-length': bytes.length });
  response.end(bytes);
}

const json = { 'content-type': 'application/json' };

/** What can go wrong once a request has arrived, by its name in the path. */
const faults: Readonly<Record<string, (arrived: Arrived) => unknown>> = {
  reset: ({ request }) => request.socket.resetAndDestroy(),
  end: ({ request }) => request.socket.end(),
  'end-in-head': ({ request }) => request.socket.end('HTTP/1.1 200 OK\r\ncontent-'),
  'reset-second': (arrived) => (arrived.number === 1 ? listPage(arrived) : arrived.request.socket.resetAndDestroy()),
  'end-second': (arrived) => (arrived.number === 1 ? listPage(arrived) : arrived.request.socket.end()),
  async 'reset-in-body'(arrived) {
    const { socket } = arrived.request;
    await half(arrived);
    socket.resetAndDestroy();
  },
  async 'end-in-body'(arrived) {
    const { socket } = arrived.request;
    await half(arrived);
    socket.end();
  },
  'stall-in-body': half,
  stall: () => undefined,
  async 'not-gzip'(arrived) {
    const { response } = arrived;
    response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(await arrived.answer());
  },
  async gzip(arrived) {
    const { response } = arrived;
    response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(gzipSync(await arrived.answer()));
  },
  redirect({ request, response }) {
    response.writeHead(307, { location: request.url }).end();
  },
  misdirected: ({ response }) => response.writeHead(421, json).end('{}'),
  unauthorized: ({ response }) => response.writeHead(401, json).end('{}'),
  endless({ response }) {
    response.writeHead(200, json);
    const zeros = Buffer.alloc(64 * 1024, ' ');
    const pour = () => {
      while (!response.destroyed && response.write(zeros));
    };
    response.on('drain', pour);
    pour();
  },
  echo({ response, body }) {
    response.writeHead(200, json).end(body);
  },
};

async function listPage({ response, answer }: Arrived): Promise<void> {
  const bytes = await answer();
  response.writeHead(200, { ...json, 'content-length': bytes.length }).end(bytes);
}

/** Writes the head and half of the body; resolves once both are handed to the system. */
async function half({ response, answer }: Arrived): Promise<void> {
  const bytes = await answer();
  response.writeHead(200, { ...json, 'content-length': bytes.length });
  await new Promise((resolve) => response.write(bytes.subarray(0, bytes.length / 2), resolve));
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function answerJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, json).end(JSON.stringify(value));
}

/** A server of its own that reads one request, breaks the connection, and listens no more. */
async function fadingOrigin(): Promise<string> {
  const server = createServer(async (request) => {
    server.close();
    await bodyOf(request);
    request.socket.resetAndDestroy();
  });
  // Where that request never comes, nothing waits for it.
  server.unref();
  return listening(server);
}

async function refusingOrigin(): Promise<string> {
  const server = createPlainServer((socket: Socket) => socket.destroy());
  const origin = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return origin;
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
