/** What the others do; their packages are installed only where the benches run. */
export type Peer = (path: string, body: object) => Promise<unknown>;
export declare function peersOver(
  baseUrl: string,
  fetch: typeof globalThis.fetch,
): Record<'ky' | 'stripe' | 'openai' | 'axios', Peer>;
