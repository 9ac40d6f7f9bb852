/** Callbacks with Fastify 5: the raw body is kept, for the handler to verify what was sent. */

import fastify from 'fastify';
import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

const handle = client.callbacks.handler({
  onEvent: (event, status) => {
    console.log(`result ${event.id}: the job is ${status.state}`);
  },
});

export const app = fastify({ bodyLimit: 8 * 1024 * 1024 });

// In a plug-in of its own, so that other routes go on parsing JSON.
await app.register((callbacks, _options, done) => {
  callbacks.removeAllContentTypeParsers();
  callbacks.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, parsed) => parsed(null, body));

  callbacks.post<{ Body: Uint8Array<ArrayBuffer> }>('/callbacks', async (request, reply) => {
    const url = `${request.protocol}://${request.host}${request.url}`;
    const answer = await handle(new Request(url, { method: 'POST', body: request.body }));
    return reply.code(answer.status).headers(Object.fromEntries(answer.headers)).send();
  });
  done();
});
