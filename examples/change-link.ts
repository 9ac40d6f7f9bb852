/** Reads a link, adds an ID type to it, and disables it. */

import { env } from 'node:process';
import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

const link = await client.links.get(env.REF_ID ?? '');

await client.links.update(link.refId, {
  idTypes: [...link.idTypes, { country: 'GH', idType: 'VOTER_ID', verificationMethod: 'biometric_kyc' }],
});

const { state, disabledAt } = await client.links.disable(link.refId);
console.log(state, disabledAt);
