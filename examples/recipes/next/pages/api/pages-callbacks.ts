/** Next: an API route of the pages router receives callbacks. */

import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';

const client = HostedClient.fromEnv({}, { lazy: true });

// Callbacks carry images: they grow to 1.5 MB, and the usual limit is 1 MB.
export const config = { api: { bodyParser: { sizeLimit: '2mb' } } };

export default nodeHandler(
  client.callbacks.handler({
    onEvent: (event, status) => {
      // A verdict may change: keep it by job, as in express-and-postgres.ts.
      console.log(`change ${event.id}: the job is ${status.state}`);
    },
  }),
);
