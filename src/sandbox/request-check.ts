/**
 * Decides which requests are accepted. A page in a browser can reach a sandbox on loopback: the DNS can resolve the
 * page's own name to 127.0.0.1, and a form can be sent to any URL. So `Host` must be the sandbox's own name, and a
 * request that changes something must not come from a page of another origin.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';

/** Why a request is rejected before its body is read. */
export interface Rejection {
  readonly status: 403 | 413 | 421;
  readonly message: string;
}

export interface RequestCheckSettings {
  /** The address that the server listens on. */
  readonly host: string;
  readonly port: number;
  /** The allowed names in lower case, with or without a port. */
  readonly allowedHosts: readonly string[];
}

/** The largest body that is read, in bytes. */
export const maxBodyBytes = 1_000_000;

/** The methods that change nothing. */
const reads = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Creates the check of a request's head. */
export function createRequestCheck(settings: RequestCheckSettings): (message: IncomingMessage) => Rejection | null {
  const hosts = ownHosts(settings);
  const [first] = hosts;
  return (message) => {
    const host = onlyHostOf(message);
    if (host === null || !hosts.has(host)) {
      return { status: 421, message: `Send the header "Host: ${first}": this server has no other name` };
    }
    if (!reads.has(message.method ?? '') && !isOwnOrigin(message.headers.origin, hosts)) {
      return { status: 403, message: 'Send it without "Origin", or from a page of this server' };
    }
    return Number(message.headers['content-length'] ?? 0) > maxBodyBytes ? createTooLarge(maxBodyBytes) : null;
  };
}

/** The response to a body over the limit. */
export function createTooLarge(maxBytes: number): Rejection {
  return { status: 413, message: `Send at most ${maxBytes} bytes` };
}

function ownHosts({ host, port, allowedHosts }: RequestCheckSettings): ReadonlySet<string> {
  const names = ['127.0.0.1', 'localhost', '[::1]', ...(isAnyAddress(host) ? [] : [toHostName(host)])];
  // A browser leaves out the default port of the scheme.
  const own = names.flatMap((name) => (port === 80 ? [`${name}:${port}`, name] : [`${name}:${port}`]));
  return new Set([...own, ...allowedHosts.flatMap((name) => (hasPort(name) ? [name] : [`${name}:${port}`, name]))]);
}

function hasPort(host: string): boolean {
  return (URL.parse(`http://${host}`)?.port ?? '') !== '';
}

/** Whether an address stands for all addresses of a machine. */
export function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || host === '[::]';
}

/** An address in the form of a URL: IPv6 in brackets. */
export function toHostName(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host.toLowerCase()}]` : host.toLowerCase();
}

/** The one `Host` of a request; null if it has none or several. */
function onlyHostOf({ rawHeaders, headers }: IncomingMessage): string | null {
  const count = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  return count === 1 ? (headers.host?.toLowerCase() ?? null) : null;
}

/** A request without an origin does not come from a page: browsers send it with every request that changes something. */
function isOwnOrigin(origin: string | undefined, hosts: ReadonlySet<string>): boolean {
  if (origin === undefined) return true;
  const [scheme, host = ''] = origin.toLowerCase().split('://');
  return (scheme === 'http' || scheme === 'https') && hosts.has(host);
}
