/** Where a variant sends its requests: into this process, or over loopback; what it sends is kept. */

export interface Target {
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  /** Bodies that were sent since this was last emptied. */
  readonly sent: string[];
  /** Every request gets this body, without a network; null: each goes to `baseUrl`. */
  respondWith(body: string | Uint8Array | null): void;
}

const utf8 = new TextEncoder();
const headers = { 'content-type': 'application/json' };

/** A target at a URL, or in memory where there is none. */
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
