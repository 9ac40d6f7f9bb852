/**
 * A TCP proxy before a database that reads the messages of PostgreSQL's protocol, and breaks a connection at one of them,
 * as a network or a machine does that fails there.
 */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * What happens at a statement. `cut` closes the connection: before the statement is forwarded, before its response, or in
 * the middle of its response. `silence` forwards nothing more of any connection, and keeps all sockets open. `vanish` does so,
 * too, but forwards all of the statement except its last message: the server waits for it, with its locks.
 */
export type Verdict = 'forward' | 'cut before' | 'cut after' | 'cut within' | 'vanish' | 'silence';

export interface DatabaseProxy {
  readonly port: number;
  /** Judges the next statements. */
  judge: (text: string) => Verdict;
  close(): Promise<void>;
}

const [parse, simpleQuery, sync] = [0x50, 0x51, 0x53];

/** Starts a proxy for a port of this machine. */
export async function startProxy(target: number): Promise<DatabaseProxy> {
  const sockets = new Set<Socket>();
  let isSilent = false;

  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    let verdict: Verdict = 'forward';
    let rest: Buffer = Buffer.alloc(0);
    /** The first message of a connection has no type. */
    let hasBegun = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };

    client.on('data', (chunk: Buffer) => {
      if (isSilent) return;
      rest = Buffer.concat([rest, chunk]);
      const forwarded: Buffer[] = [];
      for (;;) {
        const typed = hasBegun ? 1 : 0;
        if (rest.length < typed + 4) break;
        const length = typed + rest.readInt32BE(typed);
        if (rest.length < length) break;
        const message = rest.subarray(0, length);
        rest = rest.subarray(length);
        const [type] = message;
        if (hasBegun && (type === parse || type === simpleQuery)) verdict = proxy.judge(message.toString('latin1', 5));
        hasBegun = true;
        if (verdict === 'cut before') return end();
        isSilent ||= verdict === 'silence' || (verdict === 'vanish' && (type === sync || type === simpleQuery));
        if (isSilent) break;
        forwarded.push(message);
      }
      if (forwarded.length > 0) upstream.write(Buffer.concat(forwarded));
    });
    upstream.on('data', (chunk: Buffer) => {
      if (isSilent) return;
      if (verdict === 'cut after') return end();
      if (verdict === 'cut within') {
        client.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), end);
        return;
      }
      client.write(chunk);
    });
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {});
      // What one side closes is closed on the other, as long as anything is forwarded.
      from.on('close', () => {
        sockets.delete(from);
        if (!isSilent) to.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxy: DatabaseProxy = {
    port: (server.address() as AddressInfo).port,
    judge: () => 'forward',
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return proxy;
}
