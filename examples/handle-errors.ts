/** Says after an error whether the link may exist, or certainly does not. */

import { HostedClient, isHostedError } from 'hosted-client';

const client = HostedClient.fromEnv();

try {
  await client.links.create({
    companyName: 'Example Ltd',
    dataPrivacyPolicyUrl: 'https://example.test/privacy',
    callbackUrl: 'https://example.test/callbacks',
  });
} catch (error) {
  if (!isHostedError(error)) throw error;
  console.error(error.message);
  if (error.code === 'validation') console.error(error.issues);
  if (error.mayHaveActed) {
    console.error('The link may exist: look for it before creating it again.');
  } else if (error.retryable) {
    console.error('There is no link, and another try may succeed.');
  }
}
