/**
 * Decides which requests are accepted. Any page in a browser on this machine can send requests to a sandbox. The DNS
 * can give 127.0.0.1 for the page's host name (DNS rebinding), and a form can be posted to any URL. So `Host` must be
 * the sandbox's own name, and a request that changes something must not come from a page of another origin. It must not
 * be a callback of a sandbox either, because a callback URL can name the controls of another sandbox.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import { isAnyAddress, toHostName } from './network-address.js';
import type { SandboxSettings } from './options.js';

/** Why a request is rejected before its body is read. */
export interface Rejection {
  readonly status: 403 | 405 | 413 | 421;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Hosts = Pick<SandboxSettings, 'host' | 'allowedHosts'>;

/** The largest body that is read, in bytes. */
export const maxBodyBytes = 1_000_000;

/** The `user-agent` of callbacks. */
export const callbackUserAgent = 'hosted-client-sandbox';

/** The methods that change nothing. */
const reads = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Creates the function that checks the headers of a request. The function returns null if the request is accepted. */
export function createRequestCheck(settings: Hosts, port: number): (message: IncomingMessage) => Rejection | null {
  const hosts = ownHosts(settings, port);
  const [first] = hosts;
  const isForOthers = isAnyAddress(settings.host);
  return (message) => {
    const { headers, method = '', url = '/' } = message;
    const isOwn = (name: string) => hosts.has(name) || (isForOthers && addressesOf(message).includes(name));
    const host = onlyHostOf(message);
    const authority = readTarget(url).authority ?? host;
    if (host === null || authority === null || !isOwn(host) || !isOwn(authority)) {
      return {
        status: 421,
        message: `Send the header "Host: ${first}", or start the sandbox with --allow-host NAME (allowedHosts): this server accepts only its own names`,
      };
    }
    const isRead = reads.has(method);
    // A foreign page may lead to a page of this server, but may not load anything as a part of itself.
    const isLink = isRead && headers['sec-fetch-dest'] === 'document';
    const isCrossSite = headers['sec-fetch-site'] === 'cross-site' && !isLink;
    if (isCrossSite || (!isRead && !isOwnOrigin(headers.origin, isOwn))) {
      return {
        status: 403,
        message:
          'Send the request without "Origin", or from a page of this server; --allow-host NAME (allowedHosts) gives it another name',
      };
    }
    if (!isRead && headers['user-agent'] === callbackUserAgent) {
      return { status: 403, message: 'Post callbacks to the server that receives them: this is a sandbox' };
    }
    return Number(headers['content-length'] ?? 0) > maxBodyBytes ? createTooLarge(maxBodyBytes) : null;
  };
}

/** Whether a page in a browser may have sent a request. Only a page's reads have neither of the two headers. */
export function isFromPage({ method = '', headers }: IncomingMessage): boolean {
  return reads.has(method) || headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
}

/** Creates the response to a body that is too large. */
export function createTooLarge(maxBytes: number): Rejection {
  return { status: 413, message: `Send at most ${maxBytes} bytes` };
}

/**
 * Splits the target of a request. If the target is a whole URL, `authority` is its host and port, in lower case, and
 * `path` is the part after them. `authority` is null for a path, and empty if the target is of neither form.
 */
export function readTarget(target: string): { readonly authority: string | null; readonly path: string } {
  if (target.startsWith('/') || target === '*') return { authority: null, path: target };
  const [, authority = '', path = ''] = /^https?:\/\/([^/?#]*)(.*)$/i.exec(target) ?? [];
  return { authority: authority.toLowerCase(), path: path.startsWith('/') ? path : `/${path}` };
}

function ownHosts({ host, allowedHosts }: Hosts, port: number): ReadonlySet<string> {
  const names = ['127.0.0.1', 'localhost', '[::1]', ...(isAnyAddress(host) ? [] : [toHostName(host)])];
  return new Set([
    ...names.flatMap((name) => withPort(name, port)),
    ...allowedHosts.flatMap((name) => (hasPort(name) ? [name] : [`${name}:${port}`, name])),
  ]);
}

/** Writes a host as in the header `Host`. Browsers leave out the port if it is 80, the default of http. */
function withPort(name: string, port: number): readonly string[] {
  return port === 80 ? [`${name}:${port}`, name] : [`${name}:${port}`];
}

function hasPort(host: string): boolean {
  return (URL.parse(`http://${host}`)?.port ?? '') !== '';
}

/**
 * The address and port that a request was sent to, in the form of `Host`. An address cannot be rebound by the DNS, so a
 * server that listens on all addresses accepts it.
 */
function addressesOf({ socket: { localAddress = '', localPort = 0 } }: IncomingMessage): readonly string[] {
  return withPort(toHostName(localAddress.replace(/^::ffff:(?=\d+\.)/, '')), localPort);
}

/** The header `Host` of a request; null if the request has no such header, or several. */
function onlyHostOf({ rawHeaders, headers }: IncomingMessage): string | null {
  const count = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  return count === 1 ? (headers.host?.toLowerCase() ?? null) : null;
}

/**
 * Returns false if a request comes from a page that is not on this server, otherwise true. Browsers send `Origin` with
 * every request that changes something. So a request without `Origin` does not come from a page.
 */
function isOwnOrigin(origin: string | undefined, isOwn: (host: string) => boolean): boolean {
  if (origin === undefined) return true;
  const [scheme, host = ''] = origin.toLowerCase().split('://');
  return (scheme === 'http' || scheme === 'https') && isOwn(host);
}
