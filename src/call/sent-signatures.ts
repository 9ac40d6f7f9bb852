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
  /** The times for which these signatures were made, in ms since the epoch. */
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

/** Remembers a signature that is sent at `now` and was made for the time `signedFor`, both in ms since the epoch. */
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

/** The signatures that are not remembered. */
export function withoutSent(sent: SentSignatures, signatures: readonly unknown[]): readonly unknown[] {
  return signatures.filter((signature) => !wasSent(sent, signature));
}

/** Whether a signature is remembered. */
export function wasSent({ signatures }: SentSignatures, signature: unknown): boolean {
  return signatures.includes(signature as string);
}

/**
 * Whether a signature is another spelling of a remembered signature. A caller's own signer may accept other spellings.
 */
export function wasSentRespelled({ signatures }: SentSignatures, signature: unknown): boolean {
  if (typeof signature !== 'string') return false;
  return signatures.some((own) => !differInFirst(own, signature) && canonicalForm(own) === canonicalForm(signature));
}

// Different signatures nearly always differ in the first character. Letters and digits are the same in every spelling,
// except for upper and lower case. `alphanumeric` is tested before `toLowerCase`, because `toLowerCase` turns U+212A
// into a `k`.
function differInFirst(one: string, other: string): boolean {
  const [first, second] = [one.charAt(0), other.charAt(0)];
  return alphanumeric.test(first) && alphanumeric.test(second) && first.toLowerCase() !== second.toLowerCase();
}

const alphanumeric = /[0-9A-Za-z]/;

/**
 * Gives the same string for all spellings of a signature. A caller's own signer may verify the decoded bytes. Such a
 * signer accepts our signature with other padding, with blanks, in another alphabet (RFC 4648 §4 and §5), or with
 * hexadecimal digits in capitals.
 */
function canonicalForm(signature: string): string {
  const text = signature
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replaceAll(/[^A-Za-z0-9+/]/g, '');
  if (/^[\da-f]*$/i.test(text)) return text.toLowerCase();
  try {
    // Decoding and encoding again clears unused bits of the last character.
    return btoa(atob(text));
  } catch {
    return text;
  }
}
