/** Keys change, and no callback is lost: the new key signs, what was signed with the old one is still verified. */

import { env } from 'node:process';
import { HostedClient, hmacSha256 } from 'hosted-client';

// The service stops taking the old key at once; callbacks signed with it are still on their way.
// 1. Have the new key made, put it into HOSTED_API_KEY and the old one into HOSTED_PREVIOUS_API_KEY,
//    and restart. What fell in between was refused, both ways: make such calls again, and ask job
//    status for the jobs that are still open (client.jobs.waitForAll).
// 2. A day later, when nothing is delivered again any more, take HOSTED_PREVIOUS_API_KEY away. If the
//    old key leaked, never put it there: job status tells what its callbacks would have told.
const keys = [env.HOSTED_API_KEY ?? '', env.HOSTED_PREVIOUS_API_KEY ?? ''].filter((key) => key !== '');

const client = HostedClient.fromEnv({ signer: hmacSha256({ apiKey: keys }) });

// Callbacks are verified by the client's signer: both keys count here too.
export const POST = client.callbacks.handler({
  onEvent: (event, status) => {
    console.log(`result ${event.id}: the job is ${status.state}`);
  },
});

const { meta } = await client.links.list();
console.log(`signed with the first of ${keys.length} keys: ${meta.totalCount} links`);
