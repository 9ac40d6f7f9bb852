/**
 * Validates absolute http(s) URLs.
 *
 * @module
 */

/**
 * The form of most URLs. Every parser accepts a URL of this form. A page of links has hundreds of URLs, and this
 * expression is ten times faster than the parser. It does not match hosts that are numbers or punycode: the parser
 * decides about these.
 */
const plainUrl = /^https?:\/\/(?:[a-z][a-z0-9]*(?:-[a-z0-9]+)*\.)+[a-z]{2,}(?:\/[\w./~%&=+?:,;@!$'()*-]*)?$/;

/**
 * The longest URL for which the expression is used. The expression would overflow the stack on a string of megabytes.
 */
const longestPlainUrl = 2_048;

/** Whether a host in a URL is this machine. */
export function isLoopback(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/**
 * Hosts that a server elsewhere cannot reach: addresses of this machine, of private networks and of a single link (RFC
 * 1918, 3927, 4193, 4291, 6598), names without a dot, and names that no DNS has (RFC 2606 and 6762, and `.internal`).
 */
const localAddress =
  /^(?:(?:0|10|127)\.\d{1,3}|169\.254|172\.(?:1[6-9]|2\d|3[01])|192\.168|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\.\d{1,3}\.\d{1,3}$|^\[(?:::|f[cd]|fe[89ab])/;
const localName = /^[^.[]+$|\.(?:test|localhost|invalid|local|internal)$/;

/** Whether a URL leads to a host that servers elsewhere may reach. */
export function isPublicUrl(url: string): boolean {
  const hostname = URL.parse(url)?.hostname.replace(/\.$/, '') ?? '';
  return hostname !== '' && !localAddress.test(hostname) && !localName.test(hostname);
}

/** What is probably wrong with a callback URL, if the service at `serviceUrl` is public; null if nothing seems to be. */
export function findCallbackUrlProblem(callbackUrl: string, serviceUrl: string): string | null {
  if (!isPublicUrl(serviceUrl) || !URL.canParse(callbackUrl)) return null;
  if (!isPublicUrl(callbackUrl)) {
    return 'leads to this machine or a private network, where the service cannot deliver callbacks: use a public URL';
  }
  return callbackUrl.startsWith('http:') ? 'is plain http, so others can read what the service posts: use https' : null;
}

/** Returns a URL on the wire unchanged; null for anything that is not an absolute http(s) URL. */
export function toUrl(wire: unknown): string | null {
  return isHttpUrl(wire) ? wire : null;
}

/** Whether a value is an absolute http(s) URL, as a string. */
export function isHttpUrl(value: unknown): value is string {
  if (typeof value !== 'string') return false;
  if (value.length <= longestPlainUrl && plainUrl.test(value)) return true;
  // The platform's parser ignores some blanks and line ends. A URL with any of them is rejected, because other parsers
  // may read it differently.
  return /^https?:\/\//i.test(value) && !/[\s\p{Cc}]/u.test(value) && URL.canParse(value);
}
