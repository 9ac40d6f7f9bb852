/**
 * The platform's fetch.
 *
 * @module
 */

/**
 * The platform's fetch, looked up for each request, because a test or a polyfill may replace it later.
 *
 * Deno may send a request with a string body twice, even a POST: it sends the request again if the connection breaks
 * before the response. The error may then come from the second request. So a string body is sent as a blob. Deno sends
 * a blob only once, and with its `content-length`.
 */
export const platformFetch: typeof globalThis.fetch = (input, init) => {
  const isDeno = 'Deno' in globalThis && typeof init?.body === 'string';
  return globalThis.fetch(input, isDeno ? { ...init, body: new Blob([init.body as string]) } : init);
};
