// A TCP proxy before a database that falls silent, as a machine does that loses its network: no socket is closed.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

export interface SilentProxy {
  readonly port: number;
  /** Whether it forwards nothing more. */
  readonly isSilent: boolean;
  /** From the next one of this statement on, nothing is forwarded: neither the statement, nor what follows. */
  silenceAt(statement: string): void;
  /** Forwards again what new connections send. Those that fell silent stay so. */
  recover(): void;
  close(): Promise<void>;
}

/** Starts a proxy for a port of this machine. */
export async function startSilentProxy(target: number): Promise<SilentProxy> {
  const sockets = new Set<Socket>();
  const silent = new Set<Socket>();
  let awaited: string | null = null;
  let isSilent = false;

  function forward(from: Socket, to: Socket, isRequest: boolean): void {
    from.on('data', (chunk) => {
      // Comments may stand before a statement.
      if (isRequest && awaited !== null && chunk.includes(awaited)) isSilent = true;
      if (isSilent) for (const socket of sockets) silent.add(socket);
      if (!silent.has(from)) to.write(chunk);
    });
    // What one side closes is closed on the other, as long as anything is forwarded.
    from.on('close', () => {
      sockets.delete(from);
      if (!silent.has(from) && !isSilent) to.destroy();
    });
    from.on('error', () => {});
  }

  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      if (isSilent) silent.add(socket);
    }
    forward(client, upstream, true);
    forward(upstream, client, false);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get isSilent() {
      return isSilent;
    },
    silenceAt(statement) {
      // The driver ends the text of a statement with a zero byte.
      awaited = `${statement}\0`;
    },
    recover() {
      awaited = null;
      isSilent = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
