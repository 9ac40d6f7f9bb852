/**
 * The keys of one environment, and what the service does with them: it verifies requests, and signs
 * its responses and callbacks (docs/protocol.md §5). Written against the protocol, not against the
 * client's signers, so that a mistake in either shows.
 *
 * @module
 */

import type { Environment } from '../options.js';
import { assumedSignatureContext } from '../protocol/assumptions.js';
import { lazy } from '../runtime/lazy.js';
import { ed25519 } from '../signing/ed25519.js';
import type { Signer } from '../signing/signer.js';
import type { MockServiceOptions } from './types.js';

/** What the service does with its keys. */
export interface Keys {
  /** The partner's key, as options of a client. */
  readonly clientOptions: { readonly apiKey: string } | { readonly signer: Signer };
  /** Whether the partner signed this timestamp. */
  verify(signature: string, timestamp: string): Promise<boolean>;
  /** The service's signature of a timestamp. */
  sign(timestamp: string): Promise<string>;
  /** A signature of the same form, by a key that is not the service's. */
  forge(timestamp: string): Promise<string>;
}

const apiKeys: Readonly<Record<Environment | 'forger', string>> = {
  sandbox: 'sandbox-test-key',
  production: 'production-test-key',
  forger: 'forged-test-key',
};

/** A key pair; the seed is one byte 32 times over, which shows that it is no secret. */
interface KeyPair {
  readonly seedByte: number;
  readonly publicKey: string;
}

const keyPairs: Readonly<Record<Environment, { readonly partner: KeyPair; readonly service: KeyPair }>> = {
  sandbox: {
    partner: { seedByte: 1, publicKey: 'iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=' },
    service: { seedByte: 2, publicKey: 'gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=' },
  },
  production: {
    partner: { seedByte: 3, publicKey: '7UkoxijRwsbq6QM4kFmVYSlZJzpcY/k2NsFGFKyHN9E=' },
    service: { seedByte: 4, publicKey: 'ypOsFwUYcHHWe4PH/w7+gQjo7EUwV113JoeTM9vavnw=' },
  },
};
const forgerSeedByte = 5;

/** Creates the keys of `environment` in `scheme`; `apiKey` replaces the fixed one of HMAC. */
export function createKeys(
  scheme: NonNullable<MockServiceOptions['scheme']>,
  environment: Environment,
  partnerId: string,
  apiKey: string = apiKeys[environment],
): Keys {
  const messageOf = (timestamp: string): Uint8Array<ArrayBuffer> =>
    new TextEncoder().encode(timestamp + partnerId + assumedSignatureContext);
  return scheme === 'ed25519' ? createEd25519Keys(environment, messageOf) : createHmacKeys(apiKey, messageOf);
}

type MessageOf = (timestamp: string) => Uint8Array<ArrayBuffer>;

// Keys are imported at first use, as Workers allow no cryptography while a module is evaluated.
function createHmacKeys(apiKey: string, messageOf: MessageOf): Keys {
  const key = lazy(() => importHmacKey(apiKey));
  const forgerKey = lazy(() => importHmacKey(apiKeys.forger));
  const signWith = async (signingKey: () => Promise<CryptoKey>, timestamp: string): Promise<string> =>
    toBase64(await crypto.subtle.sign('HMAC', await signingKey(), messageOf(timestamp)));
  return {
    clientOptions: { apiKey },
    verify: async (signature, timestamp) => signature === (await signWith(key, timestamp)),
    sign: (timestamp) => signWith(key, timestamp),
    forge: (timestamp) => signWith(forgerKey, timestamp),
  };
}

function createEd25519Keys(environment: Environment, messageOf: MessageOf): Keys {
  const { partner, service } = keyPairs[environment];
  const partnerKey = lazy(() => importPublicKey(partner.publicKey));
  const serviceKey = lazy(() => importSeed(service.seedByte));
  const forgerKey = lazy(() => importSeed(forgerSeedByte));
  const signWith = async (key: () => Promise<CryptoKey>, timestamp: string): Promise<string> =>
    toBase64(await crypto.subtle.sign('Ed25519', await key(), messageOf(timestamp)));
  return {
    clientOptions: {
      signer: ed25519({ secretKey: new Uint8Array(32).fill(partner.seedByte), servicePublicKey: service.publicKey }),
    },
    verify: async (signature, timestamp) => {
      const bytes = fromBase64(signature);
      if (bytes === null) return false;
      return crypto.subtle.verify('Ed25519', await partnerKey(), bytes, messageOf(timestamp));
    },
    sign: (timestamp) => signWith(serviceKey, timestamp),
    forge: (timestamp) => signWith(forgerKey, timestamp),
  };
}

function importHmacKey(apiKey: string): Promise<CryptoKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  return crypto.subtle.importKey('raw', new TextEncoder().encode(apiKey), algorithm, false, ['sign']);
}

/** RFC 8410 §7: a private key is its seed behind these bytes of PKCS #8. */
const pkcs8Prefix = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

function importSeed(seedByte: number): Promise<CryptoKey> {
  const pkcs8 = new Uint8Array([...pkcs8Prefix, ...new Array<number>(32).fill(seedByte)]);
  return crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign']);
}

function importPublicKey(publicKey: string): Promise<CryptoKey> {
  const bytes = fromBase64(publicKey) ?? new Uint8Array();
  return crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']);
}

function toBase64(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)));
}

/** Null where the string is not canonical base64. */
function fromBase64(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(base64);
    if (btoa(binary) !== base64) return null;
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
