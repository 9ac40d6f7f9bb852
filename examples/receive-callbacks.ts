/**
 * A web-standard handler of callbacks. In a route file of Next.js, this export is the whole route. With Hono, Workers,
 * Bun or Deno, pass the handler to a route.
 */

import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

export const POST = client.callbacks.handler({
  onEvent: async (event, status) => {
    // This function runs once for each change of a job. If it rejects, the service redelivers the callback.
    console.log(`change ${event.id}: the job is ${status.state}`);
  },
  onError: (error, { phase, status }) => {
    console.error(`a callback was answered ${status}: ${phase}`, error);
  },
});
