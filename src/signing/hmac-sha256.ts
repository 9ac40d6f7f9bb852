/**
 * The signer for the service's default scheme: HMAC-SHA256 (RFC 2104, FIPS 180-4) with the API key. Signatures are
 * base64. For Ed25519, the signed text (docs/protocol.md §5) is the same.
 *
 * @module
 */

import { HostedConfigError } from '../errors/client-errors.js';
import { assumedSignatureContext } from '../protocol/assumptions.js';
import { encodeBase64 } from '../runtime/base64.js';
import { encodeUtf8 } from '../runtime/bytes.js';
import { lazy } from '../runtime/lazy.js';
import { type PlatformCrypto, platformCrypto } from '../runtime/node-crypto.js';
import { tryCopyProperties } from '../runtime/untrusted-objects.js';
import { findApiKeyIssues, findContextIssues, findKeyWarnings, type KeyWarning } from './keys.js';
import type { SignatureInput, Signer } from './signer.js';

/**
 * Creates a signer for `base64(HMAC-SHA256(apiKey, timestamp + partnerId + context))`.
 *
 * During a key rotation, pass both keys, the new key first. Responses and callbacks that are signed with either key are
 * then accepted.
 *
 * @param options - The key or keys, and the context.
 * @returns A signer; it never shows a key.
 * @throws {HostedConfigError} when there is no key, or when a key is not a string, is blank, is a placeholder, or
 *   contains a line end or an invisible character.
 *
 * @example Two keys in rotation
 * ```ts
 * const signer = hmacSha256({ apiKey: [newKey, oldKey] });
 * ```
 *
 * @see [§5](../../docs/protocol.md#5-authentication) and [What is not known](../../docs/protocol.md#what-is-not-known)
 *   of docs/protocol.md
 */
export function hmacSha256(options: {
  /**
   * The key, or several keys. The UTF-8 bytes of the string are the key. The string is not decoded, even if it is
   * base64 or hexadecimal. If there are several keys, the first one signs, and a signature by any of them is accepted.
   */
  apiKey: string | readonly string[];
  /** The end of the signed text, after timestamp and partner id. Default `'sid_request'`. */
  context?: string;
}): Signer {
  const given = tryCopyProperties(Object(options), ['apiKey', 'context']) ?? {};
  const apiKeys = [given.apiKey].flat() as readonly string[];
  const context = (given.context ?? assumedSignatureContext) as string;
  const issues = [
    ...apiKeys.flatMap((key) => findApiKeyIssues(key, 'apiKey')),
    ...(apiKeys.length === 0 ? [{ path: 'apiKey', message: 'must be a string' }] : []),
    ...findContextIssues(context),
  ];
  if (issues.length > 0) throw new HostedConfigError(issues, { task: 'sign with HMAC-SHA256' });

  const macs = apiKeys.map(createMac);
  const first = macs[0] as Mac;

  const signer: Signer = {
    name: 'hmac-sha256',
    sign: (input) => first(toSignedText(input, context)),
    verify(signature, input) {
      const text = toSignedText(input, context);
      const expected = macs.map((mac) => mac(text));
      return expected.every((mac) => typeof mac === 'string')
        ? isOneOf(expected, signature)
        : Promise.all(expected).then((known) => isOneOf(known, signature));
    },
  };
  warningsBySigner.set(signer, findKeyWarnings(apiKeys));
  return signer;
}

/** Creates the signed text: timestamp, partner id and context, one after the other. It does not contain the body. */
export function toSignedText({ timestamp, partnerId }: SignatureInput, context: string): string {
  return timestamp + partnerId + context;
}

const warningsBySigner = new WeakMap<Signer, readonly KeyWarning[]>();

/**
 * What is probably a mistake in the signer's keys. Nothing is known of a signer that is not an HMAC signer.
 *
 * @internal
 */
export function keyWarningsOf(signer: Signer): readonly KeyWarning[] {
  return warningsBySigner.get(signer) ?? [];
}

/** Computes the HMAC-SHA256 of a string's UTF-8 bytes with one key. The result is base64. */
type Mac = (text: string) => string | Promise<string>;

function createMac(apiKey: string): Mac {
  const raw = encodeUtf8(apiKey);
  const crypto = platformCrypto();
  return (crypto && createPlatformMac(crypto, raw)) ?? createWebMac(raw);
}

// RFC 4231 §4.3, test case 2. It tests the functions of the platform: some may be missing, and some may throw.
const known = {
  key: 'Jefe',
  text: 'what do ya want for nothing?',
  mac: 'W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=',
};

function createPlatformMac(crypto: PlatformCrypto, raw: Uint8Array): Mac | null {
  const createFor = (bytes: Uint8Array): Mac => {
    const key = crypto.createSecretKey(bytes);
    return (text) => crypto.createHmac('sha256', key).update(text).digest('base64');
  };
  try {
    return createFor(encodeUtf8(known.key))(known.text) === known.mac ? createFor(raw) : null;
  } catch {
    return null;
  }
}

function createWebMac(raw: Uint8Array<ArrayBuffer>): Mac {
  const importKey = lazy(() => crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']));
  return async (text) =>
    encodeBase64(new Uint8Array(await crypto.subtle.sign('HMAC', await importKey(), encodeUtf8(text))));
}

// All keys are compared, even after a match, so that the time does not show which key matched. Base64 that is not
// canonical never matches.
function isOneOf(expected: readonly string[], signature: unknown): boolean {
  return expected.map((mac) => isSameString(mac, signature)).includes(true);
}

// The time of this function depends only on the lengths of the strings.
function isSameString(expected: string, given: unknown): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false;
  let difference = 0;
  for (let index = 0; index < expected.length; index++) {
    difference |= expected.charCodeAt(index) ^ given.charCodeAt(index);
  }
  return difference === 0;
}
