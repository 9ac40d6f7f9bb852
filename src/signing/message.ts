/**
 * The signed text, and the timestamps in it (docs/protocol.md §5).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';
import type { SignatureInput } from './signer.js';

/** Creates the signed text: timestamp, partner id and context, one after the other. It does not contain the body. */
export function toSignedText({ timestamp, partnerId }: SignatureInput, context: string): string {
  return timestamp + partnerId + context;
}

/**
 * The signed form and the sent form of a timestamp. Both have the same characters, but the sent form may be a number.
 */
export interface Timestamp {
  readonly signed: string;
  readonly sent: string | number;
}

/** Formats a time for link operations or job status, by the options in `wire`. */
export function writeTimestamp(ms: number, host: 'links' | 'jobs', wire: Wire): Timestamp {
  const format = host === 'links' ? wire.timestampFormat : wire.jobTimestampFormat;
  if (format === 'iso') {
    const iso = new Date(ms).toISOString();
    return { signed: iso, sent: iso };
  }
  const epoch = format === 'epoch-ms' ? ms : Math.floor(ms / 1000);
  return { signed: String(epoch), sent: host === 'links' ? String(epoch) : epoch };
}
