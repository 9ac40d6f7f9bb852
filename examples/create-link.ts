/** Creates a link for one end user. */

import { HostedClient } from 'hosted-client';

// Reads HOSTED_PARTNER_ID, HOSTED_API_KEY and HOSTED_SANDBOX_BASE_URL.
// The default environment is the sandbox.
const client = HostedClient.fromEnv();

const { url, refId } = await client.links.create({
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://example.test/privacy',
  callbackUrl: 'http://127.0.0.1:3000/callbacks',
  idTypes: [{ country: 'NG', idType: 'PASSPORT', verificationMethod: 'doc_verification' }],
  isSingleUse: true,
});

console.log(`Keep ${refId}, and send the end user to ${url}`);
