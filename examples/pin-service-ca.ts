/** Trusts the service's own certificate authority and no other: undici's own fetch, with an agent that knows it alone. */

import { readFileSync } from 'node:fs';
import { env } from 'node:process';
import { type FetchInit, HostedClient } from 'hosted-client';
import { Agent, fetch as undiciFetch } from 'undici';

// In place of the authorities that the platform trusts: a certificate by one of those is refused. While the
// service changes its authority, give both: ca: [oldAuthority, newAuthority].
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
