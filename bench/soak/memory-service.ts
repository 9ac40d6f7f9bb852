/** The service of a soak in memory. The last part of the path selects the response. */

import { bodyFor, large, link, statuses } from './responses.ts';

const firstChunk = new TextEncoder().encode('{"link_url": "https://');
let calls503 = 0;

/** A fetch that never leaves the process. */
export const memoryFetch: typeof globalThis.fetch = async (input, init) => {
  const path = new URL(String(input)).pathname;
  const name = path.split('/').at(-1) ?? '';
  const { signal } = init ?? {};
  const status = statuses[name];
  // Responds in a later turn of the event loop, like a network.
  await new Promise((resolve) => setImmediate(resolve));
  if (status) return Response.json({}, { status });
  switch (name) {
    case 'once-503':
      return calls503++ % 2 === 0 ? Response.json({}, { status: 503 }) : Response.json({ ...link, ref_id: name });
    case 'sleepy':
      return Response.json({}, { status: 503, headers: { 'retry-after': '30' } });
    case 'reset':
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) });
    case 'break':
      return new Response(brokenBody());
    case 'html':
      return new Response('<html>');
    case 'large':
      return new Response(large);
    case 'redirect':
      return new Response(null, { status: 307, headers: { location: 'https://other.hosted.test/' } });
    case 'deaf':
      return new Promise(() => undefined);
    case 'stall':
      return new Promise((_resolve, reject) => {
        if (signal?.aborted) reject(signal.reason);
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    default:
      return Response.json(bodyFor(path, JSON.parse(String(init?.body))));
  }
};

function brokenBody(): ReadableStream<Uint8Array> {
  let pulled = 0;
  return new ReadableStream({
    pull(body) {
      if (pulled++ === 0) body.enqueue(firstChunk);
      else
        body.error(
          new TypeError('terminated', { cause: Object.assign(new Error('gone'), { code: 'UND_ERR_SOCKET' }) }),
        );
    },
  });
}
