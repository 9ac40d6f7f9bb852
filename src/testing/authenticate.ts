/**
 * Who is asking: partner, signature and timestamp of a request (docs/protocol.md §5).
 *
 * @module
 */

import { assumedMaxResponseAgeMs, type Wire } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import type { Keys } from './keys.js';
import type { Body } from './request-rules.js';
import { type ReadTimestamp, readJobTimestamp, readLinkTimestamp } from './timestamps.js';

/** What it takes to tell the partner from others. */
export interface Gate {
  readonly partnerId: string;
  readonly wire: Wire;
  readonly keys: Keys;
  now(): number;
}

/** A request's timestamp, or why it is refused. */
export type Admission = { readonly refused: null; readonly timestamp: ReadTimestamp } | { readonly refused: string };

/** Requests older or newer than this are refused. The window is not shown; the client's is as wide. */
const windowMs = assumedMaxResponseAgeMs;

/** Admits the partner, and nobody else. */
export async function admit(body: Body, operation: OperationName, gate: Gate): Promise<Admission> {
  const { wire, keys } = gate;
  const isJobStatus = operation === 'jobs.status';
  const signatureMember = isJobStatus ? wire.jobSignatureMember : 'signature';
  for (const member of ['partner_id', signatureMember, 'timestamp']) {
    if (body[member] === undefined) return { refused: `Missing ${member}` };
  }
  if (body.partner_id !== gate.partnerId) return { refused: 'Unknown partner' };

  const timestamp = isJobStatus
    ? readJobTimestamp(body.timestamp, wire.jobTimestampFormat)
    : readLinkTimestamp(body.timestamp, wire.timestampFormat);
  if (timestamp === null) return { refused: 'Unreadable timestamp' };
  if (Math.abs(gate.now() - timestamp.ms) > windowMs) return { refused: 'Timestamp is too far from now' };

  const signature = body[signatureMember];
  const isGenuine = typeof signature === 'string' && (await keys.verify(signature, timestamp.text));
  return isGenuine ? { refused: null, timestamp } : { refused: 'Invalid signature' };
}
