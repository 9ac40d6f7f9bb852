/**
 * The signatures that one call has sent, or that all calls of one wait have sent. Both sides sign the same text with
 * one key. So if a response has one of these signatures, someone may have sent our own signature back to us
 * (docs/protocol.md §5).
 *
 * @module
 */

/**
 * The signatures that were sent recently. The fields are plain arrays to save memory, because each wait has its own
 * record of this type, and there may be a million waits.
 */
export interface SentSignatures {
  /** The greatest age, in ms, at which a response is still fresh; false if any age is accepted. */
  readonly maxAgeMs: number | false;
  /** The signatures, in the order in which they were sent. */
  readonly signatures: string[];
  /** The times that these signatures cover, in ms since the epoch, as they are read from a timestamp. */
  readonly times: number[];
  /** The latest time for which a forgotten signature was made, in ms since the epoch. */
  forgottenUntil: number;
}

/**
 * Creates an empty list. A signature is forgotten after `maxAgeMs`, when a response with the same timestamp is no
 * longer fresh. If any age is accepted, no signature is forgotten. If the clock is set back, a response with a
 * forgotten signature would be fresh again. So a response is trusted only if its timestamp is after `forgottenUntil`.
 */
export function createSentSignatures(maxAgeMs: number | false): SentSignatures {
  return { maxAgeMs, signatures: [], times: [], forgottenUntil: Number.NEGATIVE_INFINITY };
}

/** Remembers a signature that is sent at `now` and covers the time `signedFor`, both in ms since the epoch. */
export function rememberSent(
  sent: SentSignatures,
  signature: string,
  { signedFor, now }: { readonly signedFor: number; readonly now: number },
): void {
  const { maxAgeMs, signatures, times } = sent;
  // The list is in the order of sending, so nearly all signatures after the first fresh one are fresh, too.
  while (maxAgeMs !== false) {
    const [oldest] = times;
    // `!(… > …)` instead of `<=`: with NaN, every comparison is false, and then nothing must be forgotten.
    if (oldest === undefined || !(now - oldest > maxAgeMs)) break;
    sent.forgottenUntil = Math.max(sent.forgottenUntil, oldest);
    times.shift();
    signatures.shift();
  }
  signatures.push(signature);
  times.push(signedFor);
}

/** Whether a signature is remembered, with every character unchanged. */
export function wasSent({ signatures }: SentSignatures, signature: unknown): boolean {
  return signatures.includes(signature as string);
}

/** The remembered signature for a time; undefined if there is none. */
export function findSentFor({ signatures, times }: SentSignatures, time: Date | null): string | undefined {
  return time === null ? undefined : signatures[times.lastIndexOf(time.getTime())];
}
