/** The target of a variant's requests, in this process or on loopback. It records the requests. */

export interface Target {
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  /** The bodies of the requests that were sent since this list was last emptied. */
  readonly sent: string[];
  /** Sets the body of every response, without a network. With null, requests go to `baseUrl`. */
  respondWith(body: string | Uint8Array | null): void;
}

const utf8 = new TextEncoder();
const headers = { 'content-type': 'application/json' };

/** Creates a target at a URL, or in memory if the URL is null. */
export function createTarget(url: string | null): Target {
  const sent: string[] = [];
  let bytes: Uint8Array<ArrayBuffer> | null = null;
  return {
    baseUrl: url ?? 'https://sandbox.hosted.test',
    sent,
    fetch: async (input, init) => {
      if (typeof init?.body === 'string') sent.push(init.body);
      return bytes ? new Response(bytes, { headers }) : globalThis.fetch(input, init);
    },
    respondWith(body) {
      bytes = typeof body === 'string' ? utf8.encode(body) : (body as Uint8Array<ArrayBuffer> | null);
    },
  };
}
