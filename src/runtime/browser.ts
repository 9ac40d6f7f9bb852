/**
 * Whether this is a browser, where visitors could read the client's key.
 *
 * @module
 */

interface Globals {
  readonly window?: unknown;
  readonly document?: unknown;
  readonly process?: { readonly versions?: { readonly node?: unknown } };
}

/**
 * Whether the program runs in a browser. A document in Node is a test's (jsdom), and the `process` that bundlers
 * put into pages has no version.
 */
export function isBrowser({ window, document, process }: Globals = globalThis): boolean {
  return window !== undefined && document !== undefined && process?.versions?.node === undefined;
}
