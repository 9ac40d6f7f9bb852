/**
 * The keys of one environment. With these keys, the service verifies requests, and signs its responses and callbacks
 * (docs/protocol.md §5). For this, the service follows the protocol, and does not use the client's signers. So tests
 * fail if this file or a signer has a mistake.
 *
 * @module
 */

import type { Environment } from '../options.js';
import { assumedSignatureContext } from '../protocol/assumptions.js';
import { lazy } from '../runtime/lazy.js';
import { type PlatformCrypto, platformCrypto } from '../runtime/node-crypto.js';
import { ed25519 } from '../signing/ed25519.js';
import type { Signer } from '../signing/signer.js';
import type { MockServiceOptions } from './types.js';

/** The functions that use the keys of one environment. */
export interface Keys {
  /** The partner's key, as options of a client. */
  readonly clientOptions: { readonly apiKey: string } | { readonly signer: Signer };
  /** Whether the partner signed this timestamp. */
  verify(signature: string, timestamp: string): Promise<boolean>;
  /** Creates the service's signature of a timestamp. */
  sign(timestamp: string): Promise<string>;
  /** Creates a signature that looks like a signature of the service, but was made with another key. */
  forge(timestamp: string): Promise<string>;
}

const apiKeys: Readonly<Record<Environment | 'forger', string>> = {
  sandbox: 'sandbox-test-key',
  production: 'production-test-key',
  forger: 'forged-test-key',
};

/** A key pair. Its seed is one byte, repeated 32 times, so it is easy to see that the key is not a secret. */
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

/** Creates the keys for an environment and a scheme. With HMAC, `apiKey` replaces the fixed key. */
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

/** Signs a message, and returns the signature in base64. */
type Sign = (message: Uint8Array<ArrayBuffer>) => string | Promise<string>;

/** Verifies the signature of a message. */
type Verify = (message: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer>) => boolean | Promise<boolean>;

// Keys are imported at first use, because Workers allow no cryptography while a module is evaluated. The platform's
// synchronous functions are used if the platform has them: Web Crypto takes real time, and the fake timers of a test do
// not wait for it.
function createHmacKeys(apiKey: string, messageOf: MessageOf): Keys {
  const signer = lazy(async () => createHmacSign(apiKey));
  const forger = lazy(async () => createHmacSign(apiKeys.forger));
  const sign = async (timestamp: string): Promise<string> => (await signer())(messageOf(timestamp));
  return {
    clientOptions: { apiKey },
    verify: async (signature, timestamp) => signature === (await sign(timestamp)),
    sign,
    forge: async (timestamp) => (await forger())(messageOf(timestamp)),
  };
}

function createEd25519Keys(environment: Environment, messageOf: MessageOf): Keys {
  const { partner, service } = keyPairs[environment];
  const verifier = lazy(() => createVerify(partner.publicKey));
  const signer = lazy(() => createSign(service.seedByte));
  const forger = lazy(() => createSign(forgerSeedByte));
  return {
    clientOptions: {
      signer: ed25519({ secretKey: new Uint8Array(32).fill(partner.seedByte), servicePublicKey: service.publicKey }),
    },
    verify: async (signature, timestamp) => {
      const bytes = fromBase64(signature);
      if (bytes === null) return false;
      return (await verifier())(messageOf(timestamp), bytes);
    },
    sign: async (timestamp) => (await signer())(messageOf(timestamp)),
    forge: async (timestamp) => (await forger())(messageOf(timestamp)),
  };
}

/**
 * Calls `create` with Node's crypto module. Also calls the created function once, as a test. Returns null if the
 * platform does not have the module, if `create` throws, or if the created function throws.
 */
function byPlatform<T extends Sign | Verify>(create: (crypto: PlatformCrypto) => T): T | null {
  const crypto = platformCrypto();
  try {
    const made = crypto && create(crypto);
    // On some platforms, `create` succeeds, and only the function that it returns throws. So this function is called
    // once here.
    void made?.(new Uint8Array(), new Uint8Array(64));
    return made;
  } catch {
    return null;
  }
}

async function createHmacSign(apiKey: string): Promise<Sign> {
  const raw = new TextEncoder().encode(apiKey);
  const platform = byPlatform((crypto): Sign => {
    const key = crypto.createSecretKey(raw);
    return (message) => crypto.createHmac('sha256', key).update(message).digest('base64');
  });
  if (platform) return platform;
  const key = await crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return async (message) => toBase64(new Uint8Array(await crypto.subtle.sign('HMAC', key, message)));
}

/**
 * The bytes before a private key's seed in PKCS #8 (RFC 8410 §7), and the bytes before a public key in SPKI (RFC 8410
 * §4).
 */
const pkcs8Prefix = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
const spkiPrefix = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

async function createSign(seedByte: number): Promise<Sign> {
  const pkcs8 = new Uint8Array([...pkcs8Prefix, ...new Array<number>(32).fill(seedByte)]);
  const platform = byPlatform((crypto): Sign => {
    const key = crypto.createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
    return (message) => toBase64(crypto.sign(null, message, key));
  });
  if (platform) return platform;
  const key = await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign']);
  return async (message) => toBase64(new Uint8Array(await crypto.subtle.sign('Ed25519', key, message)));
}

async function createVerify(publicKey: string): Promise<Verify> {
  const raw = fromBase64(publicKey) ?? new Uint8Array();
  const platform = byPlatform((crypto): Verify => {
    const spki = new Uint8Array([...spkiPrefix, ...raw]);
    const key = crypto.createPublicKey({ key: spki, format: 'der', type: 'spki' });
    return (message, signature) => crypto.verify(null, message, key, signature);
  });
  if (platform) return platform;
  const key = await crypto.subtle.importKey('raw', raw, 'Ed25519', false, ['verify']);
  return (message, signature) => crypto.subtle.verify('Ed25519', key, signature, message);
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** Decodes base64; null if it is not canonical. */
function fromBase64(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    const binary = atob(base64);
    if (btoa(binary) !== base64) return null;
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
