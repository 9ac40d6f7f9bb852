/** Callbacks with Fastify 5: the app's own JSON parser runs first, and the handler takes the parsed body. */

import { env } from 'node:process';
import fastify from 'fastify';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';

const client = HostedClient.fromEnv();

const handle = nodeHandler(
  client.callbacks.handler({
    onEvent: (event, status) => {
      // A verdict may change: keep it by job, as in express-and-postgres.ts.
      console.log(`change ${event.id}: the job is ${status.state}`);
    },
  }),
);

// Callbacks carry images: they grow to 1.5 MB, and the usual limit is 1 MB.
export const app = fastify({ bodyLimit: 2 * 1024 * 1024 });

app.post('/callbacks', async (request, reply) => {
  // The handler sends the response, so Fastify must not send one.
  reply.hijack();
  await handle(Object.assign(request.raw, { body: request.body }), reply.raw);
});

await app.listen({ port: Number(env.PORT ?? 3000), host: '127.0.0.1' });
