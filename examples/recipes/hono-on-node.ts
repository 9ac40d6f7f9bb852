/** Hono on Node. */

import { env } from 'node:process';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

const handle = client.callbacks.handler({
  onEvent: (event, status) => {
    // A verdict may change: keep it by job, as in express-and-postgres.ts.
    console.log(`change ${event.id}: the job is ${status.state}`);
  },
});

const app = new Hono();

app.post('/callbacks', (c) => handle(c.req.raw));

export const server = serve({ fetch: app.fetch, port: Number(env.PORT ?? 3000) });
