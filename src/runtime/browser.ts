/**
 * Detects a browser, where visitors could read the client's key.
 *
 * @module
 */

interface Globals {
  readonly window?: unknown;
  readonly document?: unknown;
  readonly process?: { readonly versions?: { readonly node?: unknown } };
}

/**
 * Whether the program runs in a browser. In Node, a `document` comes from a test environment such as jsdom. In a page,
 * bundlers may add a `process`, but without a Node version.
 */
export function isBrowser({ window, document, process }: Globals = globalThis): boolean {
  return window !== undefined && document !== undefined && process?.versions?.node === undefined;
}
