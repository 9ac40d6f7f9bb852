// What became of a create is told by the step that failed, on real sockets: only what no server has seen is "not sent".

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { HostedClient, type HostedClientOptions, HostedConnectionError } from 'hosted-client';
import {
  Agent,
  type Dispatcher,
  getGlobalDispatcher,
  interceptors,
  MockAgent,
  ProxyAgent,
  setGlobalDispatcher,
  fetch as undiciFetch,
} from 'undici';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type FailingServers, startFailingServers } from '../support/failing-handshakes.js';
import { apiKey, newLink, partnerId, recordingClock, rejection } from '../support/fake-fetch.js';

let failing: FailingServers;

beforeAll(async () => {
  failing = await startFailingServers();
  setDefaultCACertificates([...getCACertificates(), failing.authority]);
});
afterAll(() => failing.close());

const hostOf = (fault: string) => failing.servers[fault]?.host ?? '';

/** Creates a link at an origin, with one retry; gives the error, and what the server has seen since. */
async function createAt(origin: string, fault = '', options: Partial<HostedClientOptions> = {}) {
  const before = failing.servers[fault]?.seen() ?? 0;
  const given = {
    partnerId,
    apiKey,
    baseUrls: { sandbox: origin },
    clock: recordingClock(),
    maxRetries: 1,
    ...options,
  };
  const error = await rejection(
    new HostedClient(given as HostedClientOptions).links.create(newLink),
    HostedConnectionError,
  );
  return { error, seen: (failing.servers[fault]?.seen() ?? 0) - before };
}

/** undici's fetch, through this dispatcher, as a caller's own. */
const through = (dispatcher: Dispatcher): NonNullable<HostedClientOptions['fetch']> => {
  onTestFinished(() => dispatcher.destroy());
  return (url, init) => undiciFetch(url, { ...init, dispatcher });
};

/** The origin of a server on this machine, closed when the test is over. */
async function serving(listener: (request: IncomingMessage, response: ServerResponse, server: Server) => void) {
  const server: Server = createServer((request, response) => listener(request, response, server));
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** As the DNS of Node responds. */
function unknownName(host: string, _options: object, done: (error: Error, address: string, family: number) => void) {
  done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: 'ENOTFOUND', syscall: 'getaddrinfo' }), '', 4);
}

const notSent = { code: 'connection', outcome: 'not_sent', mayHaveActed: false, attempts: 2, retryable: true };
const rejectedCertificate = { ...notSent, attempts: 1, retryable: false };
const unknown = { code: 'connection', outcome: 'unknown', mayHaveActed: true, attempts: 1, retryable: false };

const handshakes: readonly [string, object, RegExp][] = [
  ['refused', notSent, /SERVER refused the connection \(ECONNREFUSED\)/],
  ['no TLS', notSent, /SERVER does not speak TLS \(ERR_SSL_WRONG_VERSION_NUMBER\)/],
  ['for another host', rejectedCertificate, /the certificate of SERVER is for another host/],
  ['expired', rejectedCertificate, /the certificate of SERVER has expired/],
  ['untrusted', rejectedCertificate, /from an authority that this runtime does not trust/],
  ['old TLS', notSent, /SERVER and this runtime have no version of TLS in common/],
  ['no common cipher', notSent, /SERVER rejected the TLS handshake \(ERR_SSL_\S+HANDSHAKE_FAILURE\)/],
  ['no common protocol', notSent, /SERVER rejected the TLS handshake \(ERR_SSL_\S+NO_APPLICATION_PROTOCOL\)/],
  ['a certificate required in TLS 1.2', notSent, /SERVER rejected the TLS handshake \(ERR_SSL_\S+HANDSHAKE_FAILURE\)/],
  ['handshake_failure', notSent, /SERVER rejected the TLS handshake \(ERR_SSL_\S+HANDSHAKE_FAILURE\)/],
  ['internal_error', notSent, /SERVER rejected the TLS handshake \(ERR_SSL_\S+INTERNAL_ERROR\)/],
  ['unrecognized_name', notSent, /SERVER rejected the TLS handshake \(ERR_SSL_\S+UNRECOGNIZED_NAME\)/],
  ['no record of TLS', notSent, /SERVER does not speak TLS/],
  // The runtime has finished its handshake, and sends at once: the rejection comes later.
  ['a certificate required in TLS 1.3', unknown, /the connection to SERVER broke/],
  ['a reset in the handshake', unknown, /the connection to SERVER broke \(ECONNRESET\)/],
  ['an end in the handshake', unknown, /the connection to SERVER broke \(ECONNRESET\)/],
  ['an alert after the request', unknown, /the connection to SERVER broke/],
  ['plain text after the request', unknown, /the connection to SERVER broke/],
  ['a reset after the request', unknown, /the connection to SERVER broke \(ECONNRESET\)/],
];

test.each(handshakes)('links.create() after "%s" says what became of it', async (fault, facts, says) => {
  const { error, seen } = await createAt(`https://${hostOf(fault)}`, fault);

  expect(error).toMatchObject(facts);
  expect(error.message.replaceAll(`https://${hostOf(fault)}`, 'SERVER')).toMatch(says);
  expect(seen).toBe(/after the request/.test(fault) ? 1 : 0);
});

test('links.create() to "localhost" where nothing listens on any address is not sent', async () => {
  const port = hostOf('refused').split(':')[1];

  const { error } = await createAt(`http://localhost:${port}`);

  expect(error).toMatchObject({ ...notSent, cause: { code: 'ECONNREFUSED' } });
});

test.each<[string, ConstructorParameters<typeof Agent>[0], string]>([
  ['no free address on this machine', { localAddress: '192.0.2.1' } as object, 'EADDRNOTAVAIL'],
  ['a name that no DNS knows', { connect: { lookup: unknownName } }, 'ENOTFOUND'],
])('links.create() after "%s" is not sent', async (_what, options, code) => {
  const { error } = await createAt('https://localhost', '', { fetch: through(new Agent(options)) });

  expect(error).toMatchObject({ ...notSent, cause: { code } });
});

test('a blocked port is not sent, and named', async () => {
  const { error } = await createAt('https://127.0.0.1:6000', '', { fetch: through(new Agent()) });

  expect(error).toMatchObject(notSent);
  expect(error.message).toContain('fetch connects to no service at the port of https://127.0.0.1:6000: check the port');
});

// Proxies -------------------------------------------------------------------

const proxies: readonly [string, RegExp][] = [
  [
    'a proxy with 407',
    /: the proxy wants a user and password to connect to SERVER \(UND_ERR_ABORTED\): check the proxy/,
  ],
  ['a proxy with 403', /: the proxy refused to connect to SERVER \(UND_ERR_ABORTED\): check the proxy/],
  ['a proxy with 502', /: the proxy refused to connect to SERVER \(UND_ERR_ABORTED\): check the proxy/],
  ['refused', /: the proxy refused the connection \(ECONNREFUSED\): check the proxy/],
];

test.each(proxies)('links.create() through "%s" is not sent, and the proxy is named', async (fault, says) => {
  const fetch = through(new ProxyAgent(`http://${hostOf(fault)}`));

  const { error, seen } = await createAt('https://127.0.0.1:8443', fault, { fetch });

  expect(error).toMatchObject(notSent);
  expect(error.message.replaceAll('https://127.0.0.1:8443', 'SERVER')).toMatch(says);
  expect(seen).toBe(0);
});

// Dispatchers -----------------------------------------------------------------

test.each<['close' | 'destroy']>([['close'], ['destroy']])(
  'links.create() through a dispatcher after %s() is not sent',
  async (end) => {
    const agent = new Agent();
    await agent[end]();

    const { error } = await createAt('https://127.0.0.1:8443', '', { fetch: through(agent) });

    expect(error).toMatchObject({ ...notSent, cause: { code: 'UND_ERR_DESTROYED' } });
    expect(error.message).toContain('the dispatcher of "fetch" was closed');
  },
);

test('links.create() whose dispatcher is destroyed when the service has the request counts as sent', async () => {
  const agent = new Agent();
  let requests = 0;
  const origin = await serving(() => {
    requests += 1;
    void agent.destroy();
  });

  const { error } = await createAt(origin, '', { fetch: through(agent) });

  expect(error).toMatchObject({ ...unknown, cause: { code: 'UND_ERR_DESTROYED' } });
  expect(requests).toBe(1);
});

/** A dispatcher for tests that lets no request through. It has no `destroy` of its own. */
function createMock(): Dispatcher {
  const mock = new MockAgent();
  mock.disableNetConnect();
  return Object.assign(mock, { destroy: () => mock.close() });
}

const withheld = 'the dispatcher of "fetch" withheld the response of ORIGIN';

test.each<[string, () => Dispatcher, string]>([
  ['retries', () => new Agent().compose(interceptors.retry()), `${withheld} (UND_ERR_REQ_RETRY)`],
  [
    'retries also what it cannot send again',
    () => new Agent().compose(interceptors.retry({ minTimeout: 1, methods: ['POST'] })),
    `${withheld} (UND_ERR_REQ_CONTENT_LENGTH_MISMATCH)`,
  ],
  ['throws for a status', () => new Agent().compose(interceptors.responseError()), `${withheld} (UND_ERR_RESPONSE)`],
  ['is a mock', createMock, 'no mock of undici matches the request to ORIGIN (UND_MOCK_ERR_MOCK_NOT_MATCHED)'],
])('links.create() through a dispatcher that %s names it', async (_what, createDispatcher, says) => {
  const origin = await serving((_request, response) => response.writeHead(503).end());

  const { error } = await createAt(origin, '', { fetch: through(createDispatcher()) });

  expect(error).toMatchObject(unknown);
  expect(error.message.replaceAll(origin, 'ORIGIN')).toContain(says);
});

test('links.create() through a dispatcher that resolves names itself names the service, and no proxy', async () => {
  const address = { address: '127.0.0.1', family: 4, ttl: 1_000 } as const;
  const resolving = new Agent().compose(
    interceptors.dns({ lookup: (_origin, _options, done) => done(null, [address]) }),
  );
  const origin = `https://partner.test:${hostOf('refused').split(':')[1]}`;

  const { error } = await createAt(origin, '', { fetch: through(resolving) });

  expect(error).toMatchObject({ ...notSent, cause: { code: 'ECONNREFUSED' } });
  expect(error.message).toContain(`${origin} refused the connection (ECONNREFUSED): check host and port in "baseUrls"`);
});

test('links.create() counts as sent if a dispatcher sent it, and could not connect to send it again', async () => {
  const before = getGlobalDispatcher();
  const retrying = new Agent().compose(interceptors.retry({ minTimeout: 1, methods: ['POST'] }));
  setGlobalDispatcher(retrying);
  onTestFinished(() => {
    setGlobalDispatcher(before);
    return retrying.destroy();
  });
  let requests = 0;
  const origin = await serving((request, _response, server) => {
    requests += 1;
    server.close();
    request.resume().once('end', () => request.socket.destroy());
  });

  const { error } = await createAt(origin);

  expect(error).toMatchObject({ ...unknown, cause: { code: 'ECONNREFUSED' } });
  expect(requests).toBe(1);
});
