/**
 * Servers on loopback that no client can finish a handshake with, and proxies that refuse to connect: what became of a
 * request is told by the step that failed, so each step is made to fail for real.
 */

import { createServer as createWebServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { createAuthority, createServerCertificate } from './certificates.ts';

/** A server of a fault, and how many requests it has read. */
export interface FailingServer {
  /** `host:port` */
  readonly host: string;
  readonly seen: () => number;
}

/** The servers by their faults, what a client has to trust, and how they are closed. */
export interface FailingServers {
  readonly authority: string;
  readonly servers: Readonly<Record<string, FailingServer>>;
  close(): void;
}

/** An alert of TLS: fatal, of this number (RFC 8446 §6). */
const alert = (number: number) => Buffer.of(0x15, 3, 3, 0, 2, 2, number);

/** Starts a server for each fault. */
export async function startFailingServers(): Promise<FailingServers> {
  const authority = createAuthority('Authority of a test');
  const trusted = createServerCertificate(authority);
  const open = new Set<Server>();
  const sockets = new Set<Socket>();
  const keep = <Held extends Socket>(socket: Held): Held => {
    sockets.add(socket);
    return socket.on('error', () => undefined);
  };
  const listen = async (server: Server) => {
    open.add(server);
    // A handshake that fails is what is being tested.
    server.on('tlsClientError', () => undefined).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  /** A TLS server that counts requests, and does this with each; `relayed` is its connection before TLS. */
  const serveTls = async (options: TlsOptions, act: (relayed: Socket) => void = () => undefined) => {
    let seen = 0;
    const inner = createTlsServer({ cert: trusted.cert, key: trusted.key, ...options }, (socket) => {
      keep(socket).on('data', (data) => {
        if (!String(data).includes('\r\n\r\n')) return;
        seen += 1;
        act(relays.at(-1) as Socket);
      });
    });
    const relays: Socket[] = [];
    const port = Number((await listen(inner)).split(':')[1]);
    const relay = createServer((socket) => {
      relays.push(keep(socket));
      const upstream = keep(connect(port, '127.0.0.1'));
      socket.pipe(upstream).on('data', (data) => socket.write(data));
      upstream.on('close', () => socket.end());
    });
    return { host: await listen(relay), seen: () => seen };
  };

  /** A server that does this when a client has greeted it. */
  const greet = async (act: (socket: Socket) => void) => {
    const server = createServer((socket) => void keep(socket).once('data', () => act(socket)));
    return { host: await listen(server), seen: () => 0 };
  };

  /** A proxy that responds to CONNECT like this. */
  const proxy = async (status: number) => {
    let seen = 0;
    const server = createWebServer(() => {
      seen += 1;
    });
    server.on('connect', (_request, socket: Socket) => {
      keep(socket).end(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\n\r\n`);
    });
    return { host: await listen(server), seen: () => seen };
  };

  const closed = createServer();
  const refusing = await listen(closed);
  closed.close();
  const asked = { requestCert: true, rejectUnauthorized: true, ca: authority.cert };
  const other = createServerCertificate(authority, { address: [127, 9, 9, 9] });
  const expired = createServerCertificate(authority, { until: '20210101000000Z' });
  const stranger = createServerCertificate(createAuthority('Unknown authority'));
  const web = createWebServer((_request, response) => response.end('{}'));

  const servers = {
    refused: { host: refusing, seen: () => 0 },
    'no TLS': { host: await listen(web), seen: () => 0 },
    'for another host': await serveTls(other),
    expired: await serveTls(expired),
    untrusted: await serveTls(stranger),
    'old TLS': await serveTls({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' }),
    'no common cipher': await serveTls({ maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA@SECLEVEL=0' }),
    'no common protocol': await serveTls({ ALPNProtocols: ['none'] }),
    'a certificate required in TLS 1.2': await serveTls({ ...asked, maxVersion: 'TLSv1.2' }),
    'a certificate required in TLS 1.3': await serveTls(asked),
    handshake_failure: await greet((socket) => socket.end(alert(40))),
    internal_error: await greet((socket) => socket.end(alert(80))),
    unrecognized_name: await greet((socket) => socket.end(alert(112))),
    'no record of TLS': await greet((socket) => socket.end(Buffer.alloc(200, 0x7f))),
    'a reset in the handshake': await greet((socket) => socket.resetAndDestroy()),
    'an end in the handshake': await greet((socket) => socket.end()),
    'an alert after the request': await serveTls({}, (relayed) => relayed.end(alert(40))),
    'plain text after the request': await serveTls({}, (relayed) => relayed.end('HTTP/1.1 502 Bad gateway\r\n\r\n')),
    'a reset after the request': await serveTls({}, (relayed) => relayed.resetAndDestroy()),
    'a proxy with 407': await proxy(407),
    'a proxy with 403': await proxy(403),
    'a proxy with 502': await proxy(502),
  };
  return {
    authority: authority.cert,
    servers,
    close() {
      for (const socket of sockets) socket.destroy();
      for (const server of open) server.close();
    },
  };
}
