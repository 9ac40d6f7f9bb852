/** Nuxt receives callbacks: h3 turns its event into a web-standard request. */

import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv({}, { lazy: true });
const handle = client.callbacks.handler({
  onEvent: (_event, status) => console.log(`the job is ${status.state}`),
});

export default defineEventHandler((event) => handle(toWebRequest(event)));
