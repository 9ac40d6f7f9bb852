/** The older RSA scheme ("sec_key") as a signer of your own: `base64(RSA of hash) + "|" + hash`. */

import { constants, createHash, createPublicKey, publicDecrypt, publicEncrypt, timingSafeEqual } from 'node:crypto';
import { env } from 'node:process';
import { HostedClient, type SignatureInput, type Signer } from 'hosted-client';

/**
 * A partner has only the service's public key (PEM). The client encrypts the hash of a request with this key. The
 * service encrypts the hash of a response with its private key, and the client decrypts it with the public key. So
 * a response proves that it came from the service. A request only proves that its sender has the public key: keep
 * this key as secret as an API key.
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
      // Only canonical base64 is accepted. The hash alone proves nothing, because anyone can compute it.
      if (encrypted === '' || rest.length > 0 || bytes.toString('base64') !== encrypted) return false;
      const hash = Buffer.from(hashOf(input));
      try {
        return same(Buffer.from(given), hash) && same(publicDecrypt(key, bytes), hash);
      } catch {
        return false; // The hash was not encrypted with the service's private key, or its padding is wrong.
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
  // The older service expects timestamps in this format.
  wire: { jobTimestampFormat: 'epoch-ms' },
});

const { state, signedAt } = await client.jobs.status({ userId: env.USER_ID ?? '', jobId: env.JOB_ID ?? '' });
console.log(`${state}, signed ${signedAt?.toISOString()}`);
