/** A single-use link for a user we know: whatever comes of it comes back under our own user id. */

import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

const { url, refId } = await client.links.create({
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://example.test/privacy',
  callbackUrl: 'https://example.test/callbacks',
  idTypes: [{ country: 'NG', idType: 'PASSPORT', verificationMethod: 'biometric_kyc' }],
  isSingleUse: true,
  // The same id each time tracks the same user. An opaque one of yours: no name, no address.
  userId: 'user-7f3a',
  expiresAt: new Date(Date.now() + 24 * 60 * 60 * 1000),
});

const { userIds, expiresAt } = await client.links.get(refId);
console.log(`Send ${userIds.join()} to ${url}, before ${expiresAt?.toISOString()}`);
