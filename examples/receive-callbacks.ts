/** A web-standard handler of callbacks: for Next as it is; with Hono, Workers, Bun and Deno give it to the route. */

import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

export const POST = client.callbacks.handler({
  onEvent: async (event, status) => {
    // Runs once for each callback; when it rejects, the service delivers again.
    console.log(`result ${event.id}: the job is ${status.state}`);
  },
  onError: (error, { phase, status }) => {
    console.error(`a callback was answered ${status}: ${phase}`, error);
  },
});
