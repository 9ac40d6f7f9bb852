// The handler as the function of a Worker.

import { env } from 'cloudflare:workers';
import { HostedClient } from 'hosted-client';

export default {
  fetch: HostedClient.fromEnv({}, { env }).callbacks.handler({ onEvent: () => undefined }),
};
