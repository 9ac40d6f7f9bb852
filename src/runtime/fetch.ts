/**
 * The platform's fetch. Its connection errors are described in `connection-failure.ts`.
 *
 * @module
 */

/**
 * The platform's fetch, looked up for each request, because a test or a polyfill may replace it later.
 *
 * If the connection breaks before the response, Deno sends a request with a string body again, even a POST. The error
 * may then come from the second request. So a string is sent as a blob: Deno sends a blob only once, and with its
 * length.
 */
export const platformFetch: typeof globalThis.fetch = (input, init) => {
  const isDeno = 'Deno' in globalThis && typeof init?.body === 'string';
  return globalThis.fetch(input, isDeno ? { ...init, body: new Blob([init.body as string]) } : init);
};
