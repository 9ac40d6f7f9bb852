/**
 * The service's own scheme: HMAC-SHA256 (RFC 2104, FIPS 180-4) with the API key, as base64.
 *
 * @module
 */

import { assumedSignatureContext } from '../assumptions.js';
import { HostedConfigError } from '../errors.js';
import { listIssues } from '../messages.js';
import { encodeBase64 } from './base64.js';
import { apiKeyIssues } from './keys.js';
import { signedText } from './message.js';
import type { SignatureInput, Signer } from './signer.js';

/** Options of {@link hmacSha256}. */
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
 * @throws {HostedConfigError} when a key is blank, has a line end, or is no text.
 *
 * @example Two keys in rotation
 * ```ts
 * const signer = hmacSha256({ apiKey: [newKey, oldKey] });
 * ```
 *
 * The protocol does not show the scheme (docs/protocol.md §5); see `assumptions.ts`.
 */
export function hmacSha256(options: HmacSha256Options): Signer {
  const apiKeys = [options?.apiKey].flat() as readonly string[];
  const issues = apiKeys.flatMap((key) => apiKeyIssues(key, 'apiKey'));
  if (apiKeys.length === 0) issues.push({ path: 'apiKey', message: 'must be a text' });
  const context: unknown = options?.context ?? assumedSignatureContext;
  if (typeof context !== 'string') issues.push({ path: 'context', message: 'must be a text' });
  if (typeof context !== 'string' || issues.length > 0)
    throw new HostedConfigError(`Cannot sign with HMAC-SHA256: ${listIssues(issues)}`, issues);

  let imported: Promise<readonly CryptoKey[]> | undefined;
  const keys = () => {
    imported ??= Promise.all(apiKeys.map(importKey));
    return imported;
  };

  return {
    name: 'hmac-sha256',
    async sign(input) {
      const [first] = await keys();
      return macOf(first as CryptoKey, input, context);
    },
    async verify(signature, input) {
      const macs = await Promise.all((await keys()).map((key) => macOf(key, input, context)));
      // Every key is tried, whichever fits. Comparing the canonical text refuses every other one.
      return macs.map((mac) => sameText(mac, signature)).includes(true);
    },
  };
}

function importKey(apiKey: string): Promise<CryptoKey> {
  const raw = new TextEncoder().encode(apiKey);
  return crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

async function macOf(key: CryptoKey, input: SignatureInput, context: string): Promise<string> {
  return encodeBase64(new Uint8Array(await crypto.subtle.sign('HMAC', key, signedText(input, context))));
}

// In time that depends on the lengths alone.
function sameText(expected: string, given: unknown): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false;
  let difference = 0;
  for (let index = 0; index < expected.length; index++) {
    difference |= expected.charCodeAt(index) ^ given.charCodeAt(index);
  }
  return difference === 0;
}
