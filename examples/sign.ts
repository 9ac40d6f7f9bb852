/** Three signers: the service's scheme with two keys for a rotation, Ed25519, and a signer of your own. */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { ed25519, HostedClient, hmacSha256, type Signer } from 'hosted-client';

const baseUrls = { sandbox: 'https://sandbox.hosted.test' };

// The first key signs. Responses signed with either key are accepted.
const rotating = hmacSha256({ apiKey: ['the-new-key', 'the-old-key'] });

const yourSecretKey = 'nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=';
const publicKeyOfTheService = 'PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=';

const keyPair = ed25519({ secretKey: yourSecretKey, servicePublicKey: publicKeyOfTheService });

// A signer that calls a key service could look like this: both methods may be asynchronous.
const remote: Signer = {
  name: 'key-service',
  sign: async ({ timestamp, partnerId }) => mac(`${timestamp}${partnerId}sid_request`),
  verify: async (signature, { timestamp, partnerId }) => same(signature, mac(`${timestamp}${partnerId}sid_request`)),
};

for (const signer of [rotating, keyPair, remote]) {
  const client = new HostedClient({ partnerId: '085', signer, baseUrls });
  console.log(signer.name, client.environment);
}

function mac(text: string): string {
  return createHmac('sha256', 'a-key-that-stays-there').update(text).digest('base64');
}

function same(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
