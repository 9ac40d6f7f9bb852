/**
 * The texts in error messages: why a response is rejected, and which input is wrong.
 *
 * @module
 */

import type { Issue } from './hosted-error.js';

/** Why a signature cannot be trusted. */
export const signatureMessages = {
  missing: 'it is not signed',
  malformed: 'its signature or timestamp is malformed',
  mismatch: 'its signature does not match its timestamp, the partner id and the key of this client',
  unkeyed: 'instead of a signature, it has a digest that anyone can compute',
  stale: 'it was signed too far in the past or in the future; the limit is "maxResponseAgeMs"',
  reflected: 'it has the signature of our own request',
} as const;

export type SignatureReason = keyof typeof signatureMessages;

/** Why a response cannot be used. */
export const unusableMessages = {
  malformed: 'it is not JSON that can be read',
  shape: 'it does not have the expected shape',
  mismatch: 'it does not match the request',
  too_large: 'it is larger than "maxResponseBytes"',
  redirect: 'it is a redirect, which is not followed',
  paging: 'it is not the expected page',
} as const;

export type UnusableReason = keyof typeof unusableMessages;

/**
 * The largest total length of the issues in a message, in characters. The whole message is then shorter than 2,000
 * characters.
 */
const maxIssuesLength = 1_500;

/** Writes issues in one line: `"page" must be …; "limit" must be …; and 3 more`. */
export function listIssues(issues: readonly Issue[]): string {
  const named: string[] = [];
  let length = 0;
  for (const { path, message } of issues) {
    const text = path === '' ? message : `"${path}" ${message}`;
    length += text.length + 2;
    if (length > maxIssuesLength) break;
    named.push(text);
  }
  const more = issues.length - named.length;
  return [...named, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
