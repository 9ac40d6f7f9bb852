/**
 * The texts of errors: what was tried, and why it failed.
 *
 * @module
 */

import type { OperationName } from '../protocol/routes.js';
import type { DisbeliefReason, UnusableReason } from './errors.js';
import type { Issue } from './hosted-error.js';

const undertaking: Readonly<Record<OperationName, string>> = {
  'links.create': 'create a link',
  'links.update': 'change a link',
  'links.get': 'get a link',
  'links.list': 'list links',
  'jobs.status': 'get the status of a job',
};

/** The message of an error of a call: `Cannot list links: …`. */
export function cannot(operation: OperationName, why: string): string {
  return `Cannot ${undertaking[operation]}: ${why}`;
}

/** The message of an error about a callback. */
export function cannotReceive(why: string): string {
  return `Cannot receive a callback: ${why}`;
}

/** Why something signed is not believed. */
export const disbelief: Readonly<Record<DisbeliefReason, string>> = {
  missing: 'it is not signed',
  malformed: 'its signature or timestamp is malformed',
  mismatch: 'it is not signed by the key of this client over its timestamp and partner id',
  unkeyed: 'it carries a digest that anyone can compute, and no signature',
  stale: 'it was signed too long ago or in the future; "maxResponseAgeMs" says how far from now it may be',
  reflected: 'it carries the signature of our own request',
  replayed: 'its signature came with another body before',
};

/** Why something cannot be used. */
export const unusability: Readonly<Record<UnusableReason, string>> = {
  malformed: 'it is not JSON that can be read',
  shape: 'it has another shape than expected',
  mismatch: 'it is about something else than was asked',
  too_large: 'it is larger than "maxResponseBytes"',
  redirect: 'it is a redirect, which is not followed',
  paging: 'it does not advance the pages',
};

/** How many characters of a message the issues may take: with what stands around them it stays below 2,000. */
const maxIssuesLength = 1_500;

/** One line of issues: `"page" must be …; "limit" must be …; and 3 more`. */
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
