/**
 * The service's own scheme: HMAC-SHA256 (RFC 2104, FIPS 180-4) with the API key, as base64.
 *
 * @module
 */

import { HostedConfigError } from '../errors/errors.js';
import { assumedSignatureContext } from '../protocol/assumptions.js';
import { encodeBase64 } from '../runtime/base64.js';
import { lazy } from '../runtime/lazy.js';
import { type PlatformCrypto, platformCrypto } from '../runtime/node-crypto.js';
import { tryCopyProperties } from '../runtime/prototype.js';
import { apiKeyIssues, contextIssues } from './keys.js';
import { signedText } from './message.js';
import type { Signer } from './signer.js';

/**
 * Options of {@link hmacSha256}.
 *
 * @inline
 */
export interface HmacSha256Options {
  /** The key as text; it is used as UTF-8, not decoded. Several: the first signs, all verify. */
  apiKey: string | readonly string[];
  /** What follows timestamp and partner id in the signed text. Default `'sid_request'`. */
  context?: string;
}

/**
 * Signs with `base64(HMAC-SHA256(apiKey, timestamp + partnerId + context))`, and verifies the same.
 *
 * Give the old key beside the new one while keys change: answers and callbacks signed with either
 * are then accepted.
 *
 * @param options - The key or keys, and the context.
 * @returns A signer; nothing of it shows a key.
 * @throws {HostedConfigError} when a key is blank, has a line end, or is no text, or there is none.
 *
 * @example Two keys in rotation
 * ```ts
 * const signer = hmacSha256({ apiKey: [newKey, oldKey] });
 * ```
 *
 * @see §5 of docs/protocol.md, which does not show the scheme: assumptions.ts holds the guess
 */
export function hmacSha256(options: HmacSha256Options): Signer {
  const given = tryCopyProperties(Object(options), ['apiKey', 'context']) ?? {};
  const apiKeys = [given.apiKey].flat() as readonly string[];
  const context = (given.context ?? assumedSignatureContext) as string;
  const issues = [
    ...apiKeys.flatMap((key) => apiKeyIssues(key, 'apiKey')),
    ...(apiKeys.length === 0 ? [{ path: 'apiKey', message: 'must be a string' }] : []),
    ...contextIssues(context),
  ];
  if (issues.length > 0) throw new HostedConfigError(issues, { task: 'sign with HMAC-SHA256' });

  const macs = apiKeys.map(macUnder);
  const first = macs[0] as Mac;

  return {
    name: 'hmac-sha256',
    sign: (input) => first(signedText(input, context)),
    verify(signature, input) {
      const text = signedText(input, context);
      const expected = macs.map((mac) => mac(text));
      // Stryker disable next-line MethodExpression: all are made in one way
      return expected.every((mac) => typeof mac === 'string')
        ? isOneOf(expected, signature)
        : Promise.all(expected).then((known) => isOneOf(known, signature));
    },
  };
}

/** The base64 of what HMAC-SHA256 makes of a text, as UTF-8, under one key. */
type Mac = (text: string) => string | Promise<string>;

const utf8 = new TextEncoder();

function macUnder(apiKey: string): Mac {
  const raw = utf8.encode(apiKey);
  const crypto = platformCrypto();
  return (crypto && platformMac(crypto, raw)) ?? webMac(raw);
}

// RFC 4231 §4.3, test case 2. A platform may have a part of the module, or one that only throws.
const known = {
  key: 'Jefe',
  text: 'what do ya want for nothing?',
  mac: 'W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=',
};

function platformMac(crypto: PlatformCrypto, raw: Uint8Array): Mac | null {
  for (const createMac of [hashMac, nodeMac]) {
    try {
      if (createMac(crypto, utf8.encode(known.key))(known.text) === known.mac) return createMac(crypto, raw);
    } catch {}
  }
  return null;
}

/** The size of a block of SHA-256, in bytes (FIPS 180-4 §1). */
const blockSize = 64;
/** The most characters of a text that is hashed in memory which is there for it; longer ones are a stranger's. */
const usualLength = 512;

// RFC 2104 §2: H(K XOR opad, H(K XOR ipad, text)). Two hashes cost less than one object of `createHmac`.
function hashMac({ hash }: PlatformCrypto, raw: Uint8Array): Mac {
  // Stryker disable next-line ConditionalExpression,StringLiteral,CallExpression: what is called in its place throws as well
  if (!hash) throw new TypeError('This platform does not hash at once');
  const key = raw.length > blockSize ? hash('sha256', raw, 'buffer') : raw;
  const padded = (pad: number, room: number) => {
    const block = new Uint8Array(blockSize + room);
    for (let index = 0; index < blockSize; index++) block[index] = (key[index] ?? 0) ^ pad;
    return block;
  };
  const inner = padded(0x36, 3 * usualLength);
  const outer = padded(0x5c, 32);
  return (text) => {
    const block = text.length <= usualLength ? inner : padded(0x36, 3 * text.length);
    const { written } = utf8.encodeInto(text, block.subarray(blockSize));
    outer.set(hash('sha256', block.subarray(0, blockSize + written), 'buffer'), blockSize);
    return hash('sha256', outer, 'base64');
  };
}

function nodeMac(crypto: PlatformCrypto, raw: Uint8Array): Mac {
  const key = crypto.createSecretKey(raw);
  return (text) => crypto.createHmac('sha256', key).update(utf8.encode(text)).digest('base64');
}

function webMac(raw: Uint8Array<ArrayBuffer>): Mac {
  const importKey = lazy(() => crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']));
  return async (text) =>
    encodeBase64(new Uint8Array(await crypto.subtle.sign('HMAC', await importKey(), utf8.encode(text))));
}

// Every key is tried, whichever fits. Comparing the canonical text refuses every other one.
function isOneOf(expected: readonly string[], signature: unknown): boolean {
  return expected.map((mac) => sameText(mac, signature)).includes(true);
}

// In time that depends on the lengths alone.
function sameText(expected: string, given: unknown): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false;
  let difference = 0;
  // Stryker disable next-line EqualityOperator: behind both ends NaN ^ NaN is 0
  for (let index = 0; index < expected.length; index++) {
    difference |= expected.charCodeAt(index) ^ given.charCodeAt(index);
  }
  return difference === 0;
}
