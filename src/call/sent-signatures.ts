/**
 * The signatures that one call, or all calls of one wait, have sent. Both sides sign the same text with
 * one key, so a response that carries one of them may be our own request handed back
 * (docs/protocol.md §5).
 *
 * @module
 */

/** The signatures that were sent lately. */
export interface SentSignatures extends Iterable<string> {
  /** Adds a signature that was made at `now` for the time `signedFor`, both in ms since the epoch. */
  add(signature: string, signedFor: number, now: number): void;
  has(signature: unknown): boolean;
  /** Whether a signature is one of these in another spelling, which a caller's own signer may accept. */
  hasRespelled(signature: unknown): boolean;
  /** The latest time that a forgotten signature was made for, in ms since the epoch. */
  forgottenUntil(): number;
}

/**
 * Creates an empty memory. A signature is kept while a response under its timestamp would be fresh: for
 * `maxAgeMs`, or for good where any age is accepted. Where the clock is set back, one that was forgotten
 * would be fresh again: a response under a timestamp that is not after {@link SentSignatures.forgottenUntil}
 * is as untrustworthy as one under a signature that is kept.
 */
export function createSentSignatures(maxAgeMs: number | false): SentSignatures {
  const sent = new Map<string, number>();
  let forgottenUntil = Number.NEGATIVE_INFINITY;
  return {
    add(signature, signedFor, now) {
      for (const [earlier, time] of sent) {
        // In the order in which they were sent: those that follow are as fresh, or fresher.
        if (maxAgeMs === false || now - time <= maxAgeMs) break;
        sent.delete(earlier);
        forgottenUntil = Math.max(forgottenUntil, time);
      }
      sent.set(signature, signedFor);
    },
    has: (signature) => sent.has(signature as string),
    hasRespelled(signature) {
      if (typeof signature !== 'string') return false;
      const form = canonicalForm(signature);
      for (const own of sent.keys()) if (canonicalForm(own) === form) return true;
      return false;
    },
    [Symbol.iterator]: () => sent.keys(),
    forgottenUntil: () => forgottenUntil,
  };
}

/**
 * A signature in one spelling. A caller's own signer may verify what a signature decodes to, and so accept ours
 * with other padding, blanks or another alphabet (RFC 4648 §4 and §5), or hexadecimal digits in capitals.
 */
function canonicalForm(signature: string): string {
  const text = signature
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replaceAll(/[^A-Za-z0-9+/]/g, '');
  if (/^[\da-f]*$/i.test(text)) return text.toLowerCase();
  try {
    // The last character may carry bits that do not count.
    return btoa(atob(text)).replaceAll('=', '');
  } catch {
    return text;
  }
}
