/** Receives callbacks with Express 5. The JSON parser of the app runs first. */

import { env } from 'node:process';
import express from 'express';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';

const client = HostedClient.fromEnv();

const handle = client.callbacks.handler({
  onEvent: (event, status) => {
    console.log(`change ${event.id}: the job is ${status.state}`);
  },
  onError: (error, { phase, status }) => {
    console.error(`a callback ended in ${status}: ${phase}`, error);
  },
});

export const app = express();

// Callbacks carry images: they grow to 1.5 MB, and the usual limit is 100 KB.
app.use(express.json({ limit: '2mb' }));
app.post('/callbacks', nodeHandler(handle));
export const server = app.listen(Number(env.PORT ?? 3000), '127.0.0.1');
