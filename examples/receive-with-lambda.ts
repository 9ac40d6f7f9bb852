/** Callbacks on AWS Lambda, through an HTTP API (payload 1.0 or 2.0), a REST API, or a function URL. */

import { HostedClient } from 'hosted-client';
import { lambdaHandler } from 'hosted-client/node';

const client = HostedClient.fromEnv();

export const handler = lambdaHandler(
  client.callbacks.handler({
    onEvent: (event, status) => {
      // A verdict may change: keep it by job, as in express-and-postgres.ts.
      console.log(`change ${event.id}: the job is ${status.state}`);
    },
  }),
);
