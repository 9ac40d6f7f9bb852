/** A web-standard handler of callbacks. Next calls this export; with Hono, Workers, Bun or Deno, pass it to a route. */

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
