/**
 * Posts one callback: to this machine, or to a host that is allowed. A host name is looked up only once, and the
 * connection uses the address that was checked. A second lookup could give an address that was not checked.
 *
 * @module
 */

import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isLoopback } from './loopback.js';
import { http } from './node-http.js';
import { callbackUserAgent } from './request-check.js';

/** The result of a delivery. */
export interface PostResult {
  /** The HTTP status; null if there was no response. */
  readonly status: number | null;
  /** Why the delivery failed; null if it did not fail. */
  readonly problem: string | null;
  /** Whether callbacks may be posted to the URL of this delivery. */
  readonly isAllowed: boolean;
  /** The beginning of the response's body. */
  readonly response?: string | undefined;
}

export interface Posting {
  readonly url: string;
  /** The body, in parts. */
  readonly body: readonly Buffer[];
  /** The names and IP addresses of allowed hosts, in lower case. This machine is always allowed. */
  readonly callbackHosts: readonly string[];
  /**
   * The sandbox's own port. Callbacks to this port are not allowed, because they could cause further callbacks without
   * end.
   */
  readonly ownPort: number;
  readonly signal: AbortSignal;
}

/** How long a receiver may take, in ms. */
const timeoutMs = 10_000;
/** How much of the receiver's response is read, and for how long after its head, in ms. */
const maxResponseBytes = 2_048;
const responseMs = 1_000;
const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };
const lateProblem = 'no response within ten seconds';

/** The error for a URL that callbacks may not be posted to. */
class NotAllowedError extends Error {}

/** Posts a callback; never rejects. Redirects are not followed. */
export async function postCallback(posting: Posting): Promise<PostResult> {
  const size = sum(posting.body);
  try {
    const { status, response } = await post(posting, size);
    return { status, problem: problemOf(status, size), isAllowed: true, response };
  } catch (error) {
    if (error instanceof NotAllowedError) return { status: null, problem: error.message, isAllowed: false };
    return { status: null, problem: connectionProblem(error, size), isAllowed: true };
  }
}

async function post(posting: Posting, size: number): Promise<{ status: number; response?: string }> {
  const { url, body, callbackHosts, ownPort, signal } = posting;
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const namesHost = callbackHosts.includes(host);
  const isOwnPort = Number(port || defaultPorts[protocol]) === ownPort;

  /** Chooses the allowed ones of a host's addresses. Throws if there is none. */
  function choose(found: readonly LookupAddress[]): readonly LookupAddress[] {
    const allowed = found.filter(({ address }) => namesHost || isLoopback(address) || callbackHosts.includes(address));
    if (allowed.length === 0) {
      throw new NotAllowedError(`${host} is not on this machine: allow it with "callbackHosts", or --allow-callbacks`);
    }
    if (isOwnPort && allowed.some(({ address }) => isLoopback(address))) {
      throw new NotAllowedError('this is the sandbox itself: give the URL of the server that receives callbacks');
    }
    return allowed;
  }

  /** Gives only allowed addresses. */
  const pinnedLookup: LookupFunction = (name, options, callback) =>
    lookup(name, { ...options, all: true }, (error, found) => {
      // A name that cannot be resolved does not belong to this machine. If `callbackHosts` does not have the name, the
      // callback is not allowed, so it is not posted again. If `callbackHosts` has the name, this is an ordinary
      // connection error, and the callback may be posted again.
      if (error !== null && namesHost) return callback(error, '', 0);
      try {
        const allowed = choose(found ?? []);
        const [{ address, family } = { address: '', family: 0 }] = allowed;
        if (options.all) callback(null, [...allowed]);
        else callback(null, address, family);
      } catch (notAllowed) {
        callback(notAllowed as Error, '', 0);
      }
    });

  // Node does not call `lookup` for an IP address, so an IP address is checked here.
  if (isIP(host) !== 0) choose([{ address: host, family: isIP(host) }]);
  const { request: send } = protocol === 'https:' ? process.getBuiltinModule('node:https') : http;
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json', 'content-length': size, 'user-agent': callbackUserAgent },
      // Each callback gets a new connection, because the address of a reused connection would not be checked.
      agent: false,
      lookup: pinnedLookup,
    });
    const timer = setTimeout(() => request.destroy(new Error(lateProblem)), timeoutMs);
    let fail: (error: Error) => void = reject;
    request.on('close', () => {
      clearTimeout(timer);
      fail(new Error('the connection was closed without a response'));
    });
    request.on('error', (error) => fail(error));
    // Node reports a response with status 101 only with this event.
    request.on('upgrade', ({ statusCode = 101 }, socket) => {
      resolve({ status: statusCode });
      socket.destroy();
    });
    request.on('response', (response) => {
      const { statusCode: status = 0 } = response;
      const parts: Buffer[] = [];
      const finish = () => resolve({ status, response: Buffer.concat(parts).subarray(0, maxResponseBytes).toString() });
      const timer = setTimeout(finish, responseMs);
      // The status is the result, so an error in the body does not matter.
      fail = finish;
      response.on('error', finish);
      response.on('close', () => {
        clearTimeout(timer);
        finish();
      });
      response.on('data', (part: Buffer) => {
        if (sum(parts) < maxResponseBytes) parts.push(part);
        if (sum(parts) >= maxResponseBytes) finish();
      });
    });
    for (const part of body) request.write(part);
    request.end();
  });
}

function sum(parts: readonly Buffer[]): number {
  return parts.reduce((all, { length }) => all + length, 0);
}

function problemOf(status: number, size: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return 'the receiver responded with a redirect, which is not followed';
  const said = `the receiver responded with ${status}`;
  return status === 413 ? `${said}: raise its limit for bodies, because ${describeSize(size)}` : said;
}

function describeSize(size: number): string {
  return `this callback has ${size.toLocaleString('en')} bytes, and those of the service have up to 1.5 MB`;
}

function connectionProblem(error: unknown, size: number): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (message === lateProblem) return lateProblem;
  if (code === 'ECONNREFUSED') return 'no server listens at the URL (ECONNREFUSED)';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `no such host (${code})`;
  if (size > 100_000 && (code === 'ECONNRESET' || code === 'EPIPE')) {
    return `the receiver closed the connection (${code}): its limit for bodies may be too small, because ${describeSize(size)}`;
  }
  return `the connection failed${code === undefined ? '' : ` (${code})`}`;
}
