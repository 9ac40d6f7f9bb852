/** Trusts only the service's own certificate authority, with undici's fetch and an agent for this authority. */

import { readFileSync } from 'node:fs';
import { env } from 'node:process';
import { type FetchInit, HostedClient } from 'hosted-client';
import { Agent, fetch as undiciFetch } from 'undici';

// Only this authority is trusted: certificates from the authorities that the platform trusts are rejected. While the
// service changes its authority, pass both: ca: [oldAuthority, newAuthority].
const ca = readFileSync(env.HOSTED_CA_FILE ?? 'service-ca.pem');
const dispatcher = new Agent({ connect: { ca } });

const pinned = (url: string, init: FetchInit) => undiciFetch(url, { ...init, dispatcher });

const client = HostedClient.fromEnv({ fetch: pinned });

try {
  const { meta } = await client.links.list();
  console.log(`${meta.totalCount} links, from the service itself`);
} finally {
  await dispatcher.close();
}
