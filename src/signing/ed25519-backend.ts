/**
 * Computes Ed25519 (RFC 8032 §5.1) with the platform's functions if they are correct, otherwise with tweetnacl. The
 * platforms and tweetnacl disagree about some signatures and keys, but `strict-ed25519.ts` has already rejected these.
 *
 * @module
 */

import { HostedConfigError } from '../errors/client-errors.js';
import { decodeBase64, encodeBase64 } from '../runtime/base64.js';
import { adviceToRestart, lazy, loadErrorOf } from '../runtime/lazy.js';
import { type PlatformCrypto, platformCrypto } from '../runtime/node-crypto.js';

export type Ed25519Backend = ReturnType<typeof createPlatformBackend>;

/** Loads the backend of this process; it is chosen once, at the first signature. */
export const loadBackend: () => Promise<Ed25519Backend> = lazy(
  async () => findPlatformBackend() ?? (await loadTweetnaclBackend()),
);

let correct: Ed25519Backend | null = null;

/** The platform's functions, which need not be loaded; null if they are missing or not correct. */
export function findPlatformBackend(): Ed25519Backend | null {
  const crypto = correct === null ? platformCrypto() : null;
  const platform = crypto && createPlatformBackend(crypto);
  if (platform && isCorrect(platform)) correct = platform;
  return correct;
}

// Computes test 2 of RFC 8032 §7.1. Some platforms do not have the curve. Some of these throw only when the curve is
// used.
function isCorrect(backend: Ed25519Backend): boolean {
  const seed = toBytes('TM0Imyj/ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U+4pvs=');
  const publicKey = 'PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=';
  const signature = 'kqAJqfDUyrhyDoILX2QlQKKye1QWUD+Ps3YiI+vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA==';
  try {
    const key = backend.importSeed(seed);
    const signed = key.sign(Uint8Array.of(0x72));
    const verifies = backend.importPublicKey(key.publicKey);
    const isRight = encodeBase64(key.publicKey) === publicKey && encodeBase64(signed) === signature;
    return isRight && verifies(Uint8Array.of(0x72), signed) === true && verifies(Uint8Array.of(0x73), signed) === false;
  } catch {
    // The platform does not have the curve, or it lacks some of the functions.
  }
  return false;
}

// In DER, these bytes come before the 32 bytes of a key (RFC 8410 §7 and §4).
const pkcs8Prefix = toBytes('MC4CAQAwBQYDK2VwBCIEIA==');
const spkiPrefix = toBytes('MCowBQYDK2VwAyEA');

function createPlatformBackend(crypto: PlatformCrypto) {
  return {
    /** Imports a secret key from its 32-byte seed. Its public key has 32 bytes. */
    importSeed(seed: Uint8Array) {
      const der = Uint8Array.of(...pkcs8Prefix, ...seed);
      const key = crypto.createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
      const { x } = crypto.createPublicKey(key).export({ format: 'jwk' });
      return {
        publicKey: toBytes(`${x.replaceAll('-', '+').replaceAll('_', '/')}=`),
        sign: (message: Uint8Array) => crypto.sign(null, message, key),
      };
    },
    /**
     * Imports a 32-byte public key, and returns a function that verifies signatures. If the key is not a point of the
     * curve, no signature is valid.
     */
    importPublicKey(publicKey: Uint8Array): (message: Uint8Array, signature: Uint8Array) => boolean {
      try {
        const der = Uint8Array.of(...spkiPrefix, ...publicKey);
        const key = crypto.createPublicKey({ key: der, format: 'der', type: 'spki' });
        return (message, signature) => crypto.verify(null, message, key, signature);
      } catch {
        // Some platforms throw at once if the key is not a point of the curve.
        return () => false;
      }
    },
  };
}

// tweetnacl calls `require` when it loads. Some bundles have no `require`, so tweetnacl is imported only if it is
// needed.
async function loadTweetnaclBackend(): Promise<Ed25519Backend> {
  const { sign } = (await import('tweetnacl').catch(failToLoad)).default;
  return {
    importSeed(seed) {
      const { publicKey, secretKey } = sign.keyPair.fromSeed(seed);
      return { publicKey, sign: (message) => sign.detached(message, secretKey) };
    },
    importPublicKey: (publicKey) => (message, signature) => sign.detached.verify(message, signature, publicKey),
  };
}

function failToLoad(error: unknown): never {
  const message = `needs the package tweetnacl, which could not be loaded (${loadErrorOf(error)}): ${adviceToRestart}`;
  throw new HostedConfigError([{ path: 'signer', message }], {});
}

function toBytes(base64: string): Uint8Array {
  return decodeBase64(base64) ?? new Uint8Array();
}
