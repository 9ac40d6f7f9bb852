/** The types of `peers.js`, which calls ky, stripe, openai and axios. Only the bench installs these packages. */

/** Posts a body to a path, and returns the parsed JSON. */
export type Post = (path: string, body: object) => Promise<unknown>;

export declare const peers: Record<
  'ky' | 'stripe' | 'stripe, http' | 'stripe, raw' | 'openai' | 'axios' | 'axios, http',
  (baseUrl: string, fetch: typeof globalThis.fetch) => Promise<Post>
>;
