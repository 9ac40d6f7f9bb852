/** Changes the key without losing callbacks: the new key signs, and signatures of the old key are still accepted. */

import { env } from 'node:process';
import { HostedClient, hmacSha256 } from 'hosted-client';

// When the key changes, the service rejects the old key immediately, but may still deliver callbacks signed with it.
// 1. Create the new key. Set HOSTED_API_KEY to the new key and HOSTED_PREVIOUS_API_KEY to the old key, and restart.
//    Between the change and this restart, the service rejects calls, and the handler rejects callbacks signed with the
//    new key. So make these calls again, and fetch the status of the jobs that are still pending (jobs.waitForAll).
// 2. Remove HOSTED_PREVIOUS_API_KEY a day later, when the service no longer redelivers old callbacks. If the old key
//    has leaked, never set HOSTED_PREVIOUS_API_KEY: fetch the status of the pending jobs instead.
const keys = [env.HOSTED_API_KEY ?? '', env.HOSTED_PREVIOUS_API_KEY ?? ''].filter((key) => key !== '');

const client = HostedClient.fromEnv({ signer: hmacSha256({ apiKey: keys }) });

// The handler verifies callbacks with the signer of the client, so it accepts both keys, too.
export const POST = client.callbacks.handler({
  onEvent: (event, status) => {
    console.log(`change ${event.id}: the job is ${status.state}`);
  },
});

const { meta } = await client.links.list();
console.log(`signed with the first of ${keys.length} keys: ${meta.totalCount} links`);
