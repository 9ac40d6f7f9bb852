/**
 * Posts one callback: to this machine, or to a host that is allowed. A name is looked up once, and the connection is made
 * to the address that was checked. With a second lookup, the name could stand for this machine when it is checked,
 * and for another one when the connection is made.
 *
 * @module
 */

import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { isLoopback } from './loopback.js';
import { http } from './node-http.js';

/** What became of a delivery. */
export interface Delivery {
  /** The HTTP status; null where there was no response. */
  readonly status: number | null;
  /** Why it failed; null where it did not. */
  readonly problem: string | null;
  /** Whether it may go there. */
  readonly isAllowed: boolean;
}

export interface Posting {
  readonly url: string;
  readonly body: string;
  /** Names and addresses beside this machine's, in lower case. */
  readonly callbackHosts: readonly string[];
  readonly signal: AbortSignal;
}

/** How long a receiver may take, in ms. */
const timeoutMs = 10_000;
const lateProblem = 'no response within ten seconds';

/** Why a connection was not made. */
class NotAllowedError extends Error {}

/** Posts a callback; never rejects. Redirects are not followed. */
export async function postCallback(posting: Posting): Promise<Delivery> {
  try {
    const status = await post(posting);
    return { status, problem: problemOf(status), isAllowed: true };
  } catch (error) {
    const isAllowed = !(error instanceof NotAllowedError);
    return { status: null, problem: isAllowed ? connectionProblem(error) : (error as Error).message, isAllowed };
  }
}

function post({ url, body, callbackHosts, signal }: Posting): Promise<number> {
  const { protocol, hostname } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  const isAllowed = (address: string) => isLoopback(address) || callbackHosts.includes(address) || namesHost;
  const namesHost = callbackHosts.includes(host);
  // Node does not call `lookup` for an IP address.
  if (isIP(host) !== 0 && !isAllowed(host)) return Promise.reject(createNotAllowed(host));
  const { request: send } = protocol === 'https:' ? process.getBuiltinModule('node:https') : http;
  return new Promise((resolve, reject) => {
    const request = send(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      // A connection of its own: one that is kept could be to another address.
      agent: false,
      lookup: pinnedLookup(isAllowed, namesHost),
    });
    const end = () => request.destroy(new Error('the sandbox was reset or stopped'));
    const timer = setTimeout(() => request.destroy(new Error(lateProblem)), timeoutMs);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
    request.on('close', () => {
      signal.removeEventListener('abort', end);
      clearTimeout(timer);
    });
    request.on('error', reject);
    request.on('response', (response) => {
      resolve(response.statusCode ?? 0);
      // Its body is not read, and may break off.
      response.on('error', () => undefined);
      response.resume();
    });
    request.end(body);
  });
}

/** A lookup that gives allowed addresses alone, and fails where there are none. */
function pinnedLookup(isAllowed: (address: string) => boolean, namesHost: boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      // A name that cannot be resolved is not this machine's: the callback is not posted again.
      if (error !== null) return callback(namesHost ? error : createNotAllowed(hostname), '', 0);
      const allowed = found.filter(({ address }) => isAllowed(address));
      const [first] = allowed;
      if (first === undefined) return callback(createNotAllowed(hostname), '', 0);
      if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

function createNotAllowed(host: string): NotAllowedError {
  return new NotAllowedError(`${host} is not on this machine: allow it with "callbackHosts", or --allow-callbacks`);
}

function problemOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return 'a redirect, which is not followed';
  return `the receiver responded with ${status}`;
}

function connectionProblem(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (message === lateProblem) return lateProblem;
  if (code === 'ECONNREFUSED') return 'nothing listens there (ECONNREFUSED)';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `no such host (${code})`;
  return `the connection failed${code === undefined ? '' : ` (${code})`}`;
}
