/**
 * The platform's fetch. How its connections fail is in `connection-failure.ts`.
 *
 * @module
 */

/**
 * The platform's fetch, looked up at each request so that a later replacement (a test, a polyfill) is used.
 *
 * Deno retries a request with a string body, POST too, when the connection breaks before the response; the
 * error may then be that of the second request. It sends a blob once, with its length.
 */
export const platformFetch: typeof globalThis.fetch = (input, init) => {
  const isDeno = 'Deno' in globalThis && typeof init?.body === 'string';
  return globalThis.fetch(input, isDeno ? { ...init, body: new Blob([init.body as string]) } : init);
};
