/** Hono on Cloudflare Workers, whose secrets come with each request. */

import { Hono } from 'hono';
import { HostedClient } from 'hosted-client';

interface Bindings {
  HOSTED_PARTNER_ID: string;
  HOSTED_API_KEY: string;
  HOSTED_SANDBOX_BASE_URL: string;
}

function createHandler(env: Bindings) {
  const client = HostedClient.fromEnv({}, { env });
  return client.callbacks.handler({
    onEvent: (event, status) => {
      // A verdict may change: keep it by job, as in express-and-postgres.ts.
      console.log(`change ${event.id}: the job is ${status.state}`);
    },
  });
}

// The handler is created only once, because its client remembers what it has handed over.
let handle: ReturnType<typeof createHandler> | undefined;

const app = new Hono<{ Bindings: Bindings }>();

app.post('/callbacks', (c) => {
  handle ??= createHandler(c.env);
  return handle(c.req.raw);
});

export default app;
