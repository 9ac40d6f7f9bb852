/**
 * The arithmetic of Ed25519 (RFC 8032 §5.1): the platform's where it gives the right answer, and
 * tweetnacl's elsewhere. Neither is asked about what `strict-ed25519.ts` refuses, so that both give
 * one verdict.
 *
 * @module
 */

import { decodeBase64, encodeBase64 } from '../runtime/base64.js';
import { lazy } from '../runtime/lazy.js';
import { type PlatformCrypto, platformCrypto } from '../runtime/node-crypto.js';

/** A secret key to sign with. */
export interface SigningKey {
  /** The 32 bytes of the public key that belongs to it. */
  readonly publicKey: Uint8Array;
  sign(message: Uint8Array): Uint8Array;
}

/** What can be computed. */
export interface Ed25519Arithmetic {
  /** The key of a 32-byte seed. */
  signingKey(seed: Uint8Array): SigningKey;
  /** Verifies under 32 bytes of a public key; false where they are no point of the curve. */
  verifyingKey(publicKey: Uint8Array): (message: Uint8Array, signature: Uint8Array) => boolean;
}

/** The arithmetic of this process, decided once, at the first signature. */
export const ed25519Arithmetic: () => Promise<Ed25519Arithmetic> = lazy(async () => {
  const crypto = platformCrypto();
  const platform = crypto && ofPlatform(crypto);
  return platform && knows(platform) ? platform : await ofTweetnacl();
});

// RFC 8032 §7.1, test 2. A platform may lack the curve, and some say so only when asked.
function knows(arithmetic: Ed25519Arithmetic): boolean {
  const seed = bytesOf('TM0Imyj/ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U+4pvs=');
  const publicKey = 'PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=';
  const signature = 'kqAJqfDUyrhyDoILX2QlQKKye1QWUD+Ps3YiI+vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA==';
  try {
    const key = arithmetic.signingKey(seed);
    const signed = key.sign(Uint8Array.of(0x72));
    const verifies = arithmetic.verifyingKey(key.publicKey);
    const isRight = encodeBase64(key.publicKey) === publicKey && encodeBase64(signed) === signature;
    return isRight && verifies(Uint8Array.of(0x72), signed) === true && verifies(Uint8Array.of(0x73), signed) === false;
  } catch {
    // It lacks the curve, or a part of what is asked of it.
  }
  return false;
}

// What stands before the 32 bytes of a key in DER (RFC 8410 §7 and §4).
const pkcs8Head = bytesOf('MC4CAQAwBQYDK2VwBCIEIA==');
const spkiHead = bytesOf('MCowBQYDK2VwAyEA');

function ofPlatform(crypto: PlatformCrypto): Ed25519Arithmetic {
  return {
    signingKey(seed) {
      const key = crypto.createPrivateKey({ key: concat(pkcs8Head, seed), format: 'der', type: 'pkcs8' });
      const { x } = crypto.createPublicKey(key).export({ format: 'jwk' });
      return {
        publicKey: bytesOf(`${x.replaceAll('-', '+').replaceAll('_', '/')}=`),
        sign: (message) => crypto.sign(null, message, key),
      };
    },
    verifyingKey(publicKey) {
      try {
        const key = crypto.createPublicKey({ key: concat(spkiHead, publicKey), format: 'der', type: 'spki' });
        return (message, signature) => crypto.verify(null, message, key, signature);
      } catch {
        // Some platforms look for the point at once.
        // Stryker disable next-line ArrowFunction: verdicts are compared with true
        return () => false;
      }
    },
  };
}

// As it loads, tweetnacl asks for a module system that a bundle may not have: only where it is needed.
async function ofTweetnacl(): Promise<Ed25519Arithmetic> {
  const { sign } = (await import('tweetnacl')).default;
  return {
    signingKey(seed) {
      const { publicKey, secretKey } = sign.keyPair.fromSeed(seed);
      return { publicKey, sign: (message) => sign.detached(message, secretKey) };
    },
    verifyingKey: (publicKey) => (message, signature) => sign.detached.verify(message, signature, publicKey),
  };
}

function bytesOf(base64: string): Uint8Array {
  return decodeBase64(base64) ?? new Uint8Array();
}

function concat(head: Uint8Array, tail: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(head.length + tail.length);
  bytes.set(head);
  bytes.set(tail, head.length);
  return bytes;
}
