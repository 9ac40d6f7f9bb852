/**
 * The platform's fetch, what it takes, and what undici reports about its connections. Node's own fetch is undici's, too.
 *
 * @module
 */

import type { FetchInit } from '../options.js';
import { builtinModule } from './builtin-module.js';
import { encodeUtf8 } from './bytes.js';

/** The platform's fetch, looked up for each request, because a test or a polyfill may replace it later. */
export const platformFetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init);

/** The ports that fetch connects to for no service, except in Bun (Fetch §2.9, "port blocking"). */
const blockedPorts =
  '1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080';

/** Whether fetch does not connect to a port. */
export function isBlockedPort(port: number | string): boolean {
  return !('Bun' in globalThis) && blockedPorts.split(' ').includes(String(port));
}

/** Whether a client's fetch is the platform's. */
export function isPlatformFetch(fetch: unknown): boolean {
  return fetch === platformFetch || fetch === globalThis.fetch;
}

type NoStore = Pick<FetchInit, 'cache'>;

let noStore: NoStore | undefined;

/**
 * The property of a request that keeps a framework, such as Next 14, from storing the response. It is empty where the
 * platform throws if it is there: on Workers with an old compatibility date. This is tried once, with the first request.
 */
export function withoutStoring(): NoStore {
  try {
    noStore ??= new Request('https://localhost', { cache: 'no-store' }) && { cache: 'no-store' };
  } catch {
    noStore = {};
  }
  return noStore;
}

/**
 * A request in the form that the platform's own fetch sends only once. Deno sends a body of a string again, even in a POST,
 * if the connection breaks before the response, but not a blob. Node sends any body again after status 421, but not a
 * stream (Fetch, "HTTP-network-or-cache fetch"). The stream has its length, because without one it would be sent in
 * chunks. Some versions of Node fail after status 401 if they may send credentials with a stream (nodejs/undici#4910). A
 * fetch that replaces Node's gets the string.
 *
 * @param onWrite - Called when Node has a connection and takes the body to send it. The stream is one of bytes, because
 *   Node reads another one at once.
 */
export function sendableOnce(
  init: RequestInit & { readonly body: string; readonly headers: Readonly<Record<string, string>> },
  onWrite: () => void,
): RequestInit {
  if ('Deno' in globalThis) return { ...init, body: new Blob([init.body]) };
  if (!String(globalThis.fetch).includes('undici')) return init;
  const bytes = encodeUtf8(init.body);
  const headers = { ...init.headers, 'content-length': String(bytes.length) };
  const body = new ReadableStream({
    type: 'bytes',
    pull(controller) {
      onWrite();
      controller.enqueue(bytes);
      controller.close();
    },
  });
  return { ...init, headers, body, duplex: 'half', credentials: 'omit' } as RequestInit;
}

/** The errors of connections that undici could not make, each with the host that it tried. */
const unconnected = new WeakMap<object, string>();
/** The errors of requests that undici had begun. */
const begun = new WeakSet<object>();

type Subscribe = (
  name: string,
  subscriber: (message: {
    error: object;
    connectParams?: { host: string; port: string; servername: string | null };
  }) => void,
) => void;

let isWatching = false;

/**
 * Begins to note the errors that undici reports to its channels. Every copy of undici reports to the same channels. They
 * show at which step a request failed. The error itself does not: the same one may come before the request and after it.
 */
export function watchUndici(): void {
  const channels = isWatching ? null : (builtinModule('diagnostics_channel') as { subscribe?: Subscribe } | null);
  if (!channels?.subscribe) return;
  isWatching = true;
  channels.subscribe('undici:client:connectError', ({ error, connectParams }) => {
    const { host = '', port, servername } = connectParams ?? {};
    // A dispatcher that resolves names itself connects to an IP address, in the name of the host.
    const named = servername ? `${servername}${port ? `:${port}` : ''}` : host;
    // If a proxy cannot be reached, undici reports its host before the host behind it.
    if (!unconnected.has(error)) unconnected.set(error, named);
  });
  channels.subscribe('undici:request:error', ({ error }) => begun.add(error));
}

/**
 * The step of undici at which a request failed with this error: the host that it could not connect to, if it was that
 * step; and whether it may have begun the request.
 */
export function undiciStepOf(error: object): { readonly host: string | undefined; readonly mayHaveBegun: boolean } {
  return { host: unconnected.get(error), mayHaveBegun: !isWatching || begun.has(error) };
}
