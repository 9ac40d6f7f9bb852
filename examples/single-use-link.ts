/** Creates a single-use link for a known user: its callbacks and jobs have the user id that we pass. */

import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

const { url, refId } = await client.links.create({
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://example.test/privacy',
  callbackUrl: 'https://example.test/callbacks',
  idTypes: [{ country: 'NG', idType: 'PASSPORT', verificationMethod: 'biometric_kyc' }],
  isSingleUse: true,
  // Pass the same id each time for the same user. Use an opaque id, without a name or an email address.
  userId: 'user-7f3a',
  expiresAt: new Date(Date.now() + 24 * 60 * 60 * 1000),
});

const { userIds, expiresAt } = await client.links.get(refId);
console.log(`Send ${userIds.join()} to ${url}, before ${expiresAt?.toISOString()}`);
