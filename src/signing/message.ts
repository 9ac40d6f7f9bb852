/**
 * The signed text (docs/protocol.md §5).
 *
 * @module
 */

import type { SignatureInput } from './signer.js';

/** Creates the signed text: timestamp, partner id and context, one after the other. It does not contain the body. */
export function toSignedText({ timestamp, partnerId }: SignatureInput, context: string): string {
  return timestamp + partnerId + context;
}
