/** A web-standard handler of callbacks: for Hono, Next, Workers, Bun and Deno as it is. */

import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

export const POST = client.callbacks.handler({
  confirm: true,
  onEvent: async (event, status) => {
    // Runs once for each callback; when it rejects, the service delivers again.
    console.log(`result ${event.id}: the job is ${status.state}`);
  },
});
