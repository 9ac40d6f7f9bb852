/** A consumer that starts a sandbox: a link, what its end user does, and the result. */

import { HostedClient } from 'hosted-client';
import { startSandbox } from 'hosted-client/sandbox';

async function main(): Promise<void> {
  const sandbox = await startSandbox({ port: 0 });
  const client = new HostedClient(sandbox.clientOptions());
  const link = await client.links.create({
    companyName: 'Example Partner',
    dataPrivacyPolicyUrl: 'https://partner.example/privacy',
    callbackUrl: null,
  });
  const job = await sandbox.play(link.refId, 'approved');
  const page = await fetch(link.url);

  console.log((await client.jobs.status(job)).state, page.status);
  await sandbox.stop();
}

void main();
