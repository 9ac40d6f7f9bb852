/** The service of a soak on loopback. It counts its connections. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { bodyFor, large, statuses } from './responses.ts';

export interface LoopbackService {
  readonly origin: string;
  open(): number;
  most(): number;
  /** Closes idle connections, and resolves when no connection is open. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the service on a free port. */
export async function startLoopbackService(): Promise<LoopbackService> {
  const sockets = new Set<Socket>();
  let most = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => respond(request, response, body));
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => sockets.size,
    most: () => most,
    async quiet() {
      const patience = Date.now() + 5_000;
      while (sockets.size > 0 && Date.now() < patience) {
        server.closeIdleConnections();
        // If a request is aborted while the platform connects, the platform keeps the connection for the next
        // request. The server does not count this connection as idle, because it has received nothing.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function respond({ url = '' }: IncomingMessage, response: ServerResponse, body: string): void {
  const name = url.split('/').at(-1) ?? '';
  const status = statuses[name];
  response.setHeader('content-type', 'application/json');
  if (status) {
    response.writeHead(status).end('{}');
    return;
  }
  switch (name) {
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'break':
      response.setHeader('content-length', 100).write('{"link_url":');
      setImmediate(() => response.destroy());
      return;
    case 'large':
      response.end(large);
      return;
    case 'redirect':
      response.writeHead(307, { location: '/elsewhere' }).end();
      return;
    case 'stall':
      return;
    default:
      response.end(JSON.stringify(bodyFor(url, JSON.parse(body))));
  }
}
