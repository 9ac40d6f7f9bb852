/**
 * Authenticates requests: partner, signature and timestamp (docs/protocol.md §5).
 *
 * @module
 */

import { assumedMaxResponseAgeMs, type Wire } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import type { Keys } from './keys.js';
import type { Body } from './request-rules.js';
import { parseJobTimestamp, parseLinkTimestamp } from './timestamps.js';

/** The data that is needed to authenticate a request. */
export interface AuthContext {
  readonly partnerId: string;
  readonly wire: Wire;
  readonly keys: Keys;
  now(): number;
}

/**
 * The largest accepted difference, in ms, between a request's timestamp and now. The documents show no limit, so the
 * service uses the limit that the client has for responses.
 */
export const authWindowMs = assumedMaxResponseAgeMs;

/**
 * Finds the name of the property with a request's signature. Each operation expects either `sec_key` or `signature`. If
 * a request has only the property with the other name, that property is used, because deployments differ (§4, §5).
 */
export function signaturePropertyOf(body: Body, operation: OperationName, wire: Wire): 'sec_key' | 'signature' {
  const expected = operation === 'jobs.status' ? wire.jobSignatureMember : 'signature';
  const other = expected === 'sec_key' ? 'signature' : 'sec_key';
  return body[expected] === undefined && body[other] !== undefined ? other : expected;
}

/** Says in the service's words why a request is not authenticated; null if it is authenticated. */
export async function findAuthProblem(body: Body, operation: OperationName, auth: AuthContext): Promise<string | null> {
  const { partnerId, wire, keys, now } = auth;
  const isJobStatus = operation === 'jobs.status';
  const signatureProperty = signaturePropertyOf(body, operation, wire);
  for (const property of ['partner_id', signatureProperty, 'timestamp']) {
    if (body[property] === undefined) return `Missing ${property}`;
  }
  if (body.partner_id !== partnerId) return 'Unknown partner';

  const timestamp = isJobStatus
    ? parseJobTimestamp(body.timestamp, wire.jobTimestampFormat)
    : parseLinkTimestamp(body.timestamp, wire.timestampFormat);
  if (timestamp === null) return 'Unreadable timestamp';
  if (Math.abs(now() - timestamp.ms) > authWindowMs) return 'Timestamp is too far from now';

  const signature = body[signatureProperty];
  const isGenuine = typeof signature === 'string' && (await keys.verify(signature, timestamp.signedText));
  return isGenuine ? null : 'Invalid signature';
}
