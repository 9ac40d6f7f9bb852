/**
 * What is signed, and the timestamps that go into it (docs/protocol.md §5).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';
import type { SignatureInput } from './signer.js';

/** Joins the signed text: timestamp, partner id and context. The body is not part of it. */
export function toSignedText({ timestamp, partnerId }: SignatureInput, context: string): string {
  return timestamp + partnerId + context;
}

/** A timestamp as it is signed and as it is sent: the same characters, as a string or a number. */
export interface Timestamp {
  readonly signed: string;
  readonly sent: string | number;
}

/** Formats a time as `wire` says, for link operations or job status. */
export function writeTimestamp(ms: number, host: 'links' | 'jobs', wire: Wire): Timestamp {
  const format = host === 'links' ? wire.timestampFormat : wire.jobTimestampFormat;
  if (format === 'iso') {
    const iso = new Date(ms).toISOString();
    return { signed: iso, sent: iso };
  }
  const epoch = format === 'epoch-ms' ? ms : Math.floor(ms / 1000);
  return { signed: String(epoch), sent: host === 'links' ? String(epoch) : epoch };
}
