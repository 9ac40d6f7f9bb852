// Serves one of the recipes; prints where callbacks go. Its name is the argument.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { nodeHandler } from 'hosted-client/node';

const listening = async (server) => {
  if (!server.listening) await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}`;
};
const serve = (listener) => listening(createServer(listener).listen(0, '127.0.0.1'));

const recipes = {
  Express: async () => listening((await import('./server.mjs')).server),
  'Express and PostgreSQL': async () => listening((await import('./express-and-postgres.ts')).server),
  Fastify: async () => listening((await import('./receive-with-fastify.ts')).app.server),
  'Hono on Node': async () => listening((await import('./hono-on-node.ts')).server),
  BullMQ: async () => serve(nodeHandler((await import('./bullmq.ts')).POST)),
  async Nest() {
    const app = await (await import('./receive-with-nest.js')).createApp();
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  },
  async Lambda() {
    const { handler } = await import('./receive-with-lambda.ts');
    // As an HTTP API does: bytes as base64, in an event of payload 2.0.
    return serve(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString('base64');
      const requestContext = { http: { method: request.method } };
      const answer = await handler({ version: '2.0', requestContext, body, isBase64Encoded: true });
      response.writeHead(answer.statusCode, answer.headers).end(answer.body);
    });
  },
};

console.log(`listening: ${await recipes[process.argv[2]]()}/callbacks`);
