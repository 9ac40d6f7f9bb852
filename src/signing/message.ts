/**
 * What is signed, and the timestamps that go into it (docs/protocol.md §5).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';
import type { SignatureInput } from './signer.js';

/** The signed text: timestamp, partner id and context, one after the other. The body is not in it. */
export function signedText({ timestamp, partnerId }: SignatureInput, context: string): string {
  return timestamp + partnerId + context;
}

/** A timestamp as it is signed and as it travels: the same characters, as text or as a number. */
export interface Timestamp {
  readonly signed: string;
  readonly sent: string | number;
}

/** Writes a point in time the way `wire` says, for link operations or for job status. */
export function writeTimestamp(ms: number, host: 'links' | 'jobs', wire: Wire): Timestamp {
  const format = host === 'links' ? wire.timestampFormat : wire.jobTimestampFormat;
  if (format === 'iso') {
    const text = new Date(ms).toISOString();
    return { signed: text, sent: text };
  }
  const epoch = format === 'epoch-ms' ? ms : Math.floor(ms / 1000);
  return { signed: String(epoch), sent: host === 'links' ? String(epoch) : epoch };
}
