/** A back end for a first try of the sandbox: it creates a link, and receives the callbacks with its results. */

import express from 'express';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';

const client = HostedClient.fromEnv();

const handle = client.callbacks.handler({
  onEvent: (event, status) => {
    console.log(`Job ${event.jobId}: ${status.state}`);
  },
});

const app = express();
app.use(express.json({ limit: '2mb' }));
app.post('/callbacks', nodeHandler(handle));
app.listen(3000, '127.0.0.1');

const link = await client.links.create({
  companyName: 'Example Partner',
  dataPrivacyPolicyUrl: 'https://partner.example/privacy',
  callbackUrl: 'http://127.0.0.1:3000/callbacks',
});
console.log(`Open ${link.url}`);
