/**
 * Where the client runs: on a server, and nowhere that its key could be read by whoever visits.
 *
 * @module
 */

import { HostedConfigError } from '../errors/errors.js';

/** What tells a browser from a server; of these, server runtimes have a Node version at most. */
interface Surroundings {
  readonly window?: unknown;
  readonly document?: unknown;
  readonly process?: { readonly versions?: { readonly node?: unknown } };
}

/**
 * Refuses to go on in a browser. A document in Node is a test's (jsdom), and bundlers put a `process`
 * without a version into pages.
 *
 * @throws {HostedConfigError} in a browser.
 */
export function refuseBrowser(surroundings: Surroundings = globalThis): void {
  const { window, document, process } = surroundings;
  if (window === undefined || document === undefined || process?.versions?.node !== undefined) return;
  const message = 'a client holds a secret key, which a browser shows to its visitors: make it on a server';
  throw new HostedConfigError(`Cannot make a client in a browser: ${message}`, [{ path: '', message }]);
}
