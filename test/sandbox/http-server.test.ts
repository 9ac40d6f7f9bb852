/** The server of the sandbox and of `listen`. */

import { request } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../src/sandbox/http-server.js';

test('an event stream whose client went before it was made is cancelled', async () => {
  let isCancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    cancel() {
      isCancelled = true;
    },
  });
  const server = await listen({ host: '127.0.0.1', port: 0 });
  server.serve({
    maxBodyBytes: 0,
    check: () => null,
    async respond({ signal }) {
      client.destroy();
      await expect.poll(() => signal.aborted).toBe(true);
      return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
    },
  });
  onTestFinished(() => server.close());
  const client = request({ host: '127.0.0.1', port: server.port, agent: false });
  client.on('error', () => undefined);
  client.end();

  await expect.poll(() => isCancelled).toBe(true);
});
