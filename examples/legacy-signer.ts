/** The older RSA scheme ("sec_key") as a signer of your own: `base64(RSA of hash) + "|" + hash`. */

import { constants, createHash, createPublicKey, publicDecrypt, publicEncrypt, timingSafeEqual } from 'node:crypto';
import { env } from 'node:process';
import { HostedClient, type SignatureInput, type Signer } from 'hosted-client';

/**
 * Partners hold the service's public key alone (PEM). A request carries the hash encrypted with it,
 * which the service decrypts; in an answer the hash went through the service's private key, and the
 * public one brings it back. So an answer proves the service; a request only that its sender has the
 * public key: keep that key as secret as an API key.
 */
export function legacySecKey(options: { servicePublicKey: string }): Signer {
  const key = { key: createPublicKey(options.servicePublicKey), padding: constants.RSA_PKCS1_PADDING };
  return {
    name: 'legacy-sec-key',
    sign(input) {
      const hash = hashOf(input);
      return `${publicEncrypt(key, Buffer.from(hash)).toString('base64')}|${hash}`;
    },
    verify(signature, input) {
      const [encrypted = '', given = '', ...rest] = signature.split('|');
      const bytes = Buffer.from(encrypted, 'base64');
      // Canonical base64 only. The hash alone proves nothing: anyone can compute it.
      if (encrypted === '' || rest.length > 0 || bytes.toString('base64') !== encrypted) return false;
      const hash = Buffer.from(hashOf(input));
      try {
        return same(Buffer.from(given), hash) && same(publicDecrypt(key, bytes), hash);
      } catch {
        return false; // No block of this key, or no padding where one belongs.
      }
    },
  };
}

function hashOf({ partnerId, timestamp }: SignatureInput): string {
  return createHash('sha256')
    .update(`${Number.parseInt(partnerId, 10)}:${timestamp}`)
    .digest('hex');
}

function same(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}

const client = HostedClient.fromEnv({
  signer: legacySecKey({ servicePublicKey: env.HOSTED_LEGACY_PUBLIC_KEY ?? '' }),
  // What services of that time were sent.
  wire: { jobTimestampFormat: 'epoch-ms' },
});

const { state, signedAt } = await client.jobs.status({ userId: env.USER_ID ?? '', jobId: env.JOB_ID ?? '' });
console.log(`${state}, signed ${signedAt?.toISOString()}`);
