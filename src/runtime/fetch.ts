/**
 * The platform's fetch. `connection-failure.ts` knows its connection errors.
 *
 * @module
 */

/**
 * The platform's fetch, looked up for each request: it may be replaced later (by a test, a polyfill).
 *
 * If the connection breaks before the response, Deno retries a request with a string body, even a POST, and the error
 * may then be that of the second request. Deno sends a blob body only once, and with its length.
 */
export const platformFetch: typeof globalThis.fetch = (input, init) => {
  const isDeno = 'Deno' in globalThis && typeof init?.body === 'string';
  return globalThis.fetch(input, isDeno ? { ...init, body: new Blob([init.body as string]) } : init);
};
