/**
 * Authenticates requests: partner, signature and timestamp (docs/protocol.md §5).
 *
 * @module
 */

import { assumedMaxResponseAgeMs, type Wire } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import type { Keys } from './keys.js';
import type { Body } from './request-rules.js';
import { type ParsedTimestamp, parseJobTimestamp, parseLinkTimestamp } from './timestamps.js';

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
 * Finds the name of the property with a request's signature. Link operations have only `signature` (§4.1). Job status
 * expects either name. If a request has only the property with the other name, that property is used, because
 * deployments differ (§4.5).
 */
export function signaturePropertyOf(body: Body, operation: OperationName, wire: Wire): 'sec_key' | 'signature' {
  if (operation !== 'jobs.status') return 'signature';
  const expected = wire.jobSignatureMember;
  const other = expected === 'sec_key' ? 'signature' : 'sec_key';
  return body[expected] === undefined && body[other] !== undefined ? other : expected;
}

/** Parses the timestamp of a request. Null if it is invalid. */
export function parseTimestamp(body: Body, operation: OperationName, wire: Wire): ParsedTimestamp | null {
  return operation === 'jobs.status'
    ? parseJobTimestamp(body.timestamp, wire.jobTimestampFormat)
    : parseLinkTimestamp(body.timestamp, wire.timestampFormat);
}

/** Says in the service's words why a request is not authenticated; null if it is authenticated. */
export async function findAuthProblem(body: Body, operation: OperationName, auth: AuthContext): Promise<string | null> {
  const { partnerId, wire, keys, now } = auth;
  const signatureProperty = signaturePropertyOf(body, operation, wire);
  for (const property of ['partner_id', signatureProperty, 'timestamp']) {
    if (body[property] === undefined) return `Missing ${property}${hintOf(body, property)}`;
  }
  if (body.partner_id !== partnerId) return 'Unknown partner';

  const timestamp = parseTimestamp(body, operation, wire);
  if (timestamp === null) return 'Unreadable timestamp';
  if (Math.abs(now() - timestamp.ms) > authWindowMs) return 'Timestamp is too far from now';

  const signature = body[signatureProperty];
  const isGenuine = typeof signature === 'string' && (await keys.verify(signature, timestamp.signedText));
  return isGenuine ? null : 'Invalid signature';
}

function hintOf(body: Body, property: string): string {
  return property === 'signature' && body.sec_key !== undefined ? ': only job status has sec_key' : '';
}
