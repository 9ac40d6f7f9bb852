/** Callbacks with Express 5: the raw body is kept, for the handler to verify what was sent. */

import express from 'express';
import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

const handle = client.callbacks.handler({
  onEvent: (event, status) => {
    console.log(`result ${event.id}: the job is ${status.state}`);
  },
});

export const app = express();

app.post('/callbacks', express.raw({ type: () => true, limit: '8mb' }), async (request, response) => {
  const url = `${request.protocol}://${request.host}${request.originalUrl}`;
  const answer = await handle(new Request(url, { method: 'POST', body: request.body }));
  response.status(answer.status).set(Object.fromEntries(answer.headers)).end();
});
