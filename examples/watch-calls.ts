/** Counts events, and logs calls without personal data or keys. */

import { HostedClient } from 'hosted-client';

const counts = { request: 0, response: 0, retry: 0, poll: 0, error: 0, call: 0, callback: 0 };

const client = HostedClient.fromEnv({
  logger: console,
  onEvent: (event) => {
    counts[event.type] += 1;
  },
});

const { response } = await client.links.list().withResponse();
console.log(response.status, response.requestId, response.attempts, counts);
