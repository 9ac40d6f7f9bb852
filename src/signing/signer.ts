/**
 * What it takes to sign requests and to verify answers (docs/protocol.md §5).
 *
 * @module
 */

/** What a signature covers: the timestamp's text as it travels, and the partner id as written. */
export interface SignatureInput {
  /** The partner id as written, leading zeros included. */
  readonly partnerId: string;
  /**
   * The timestamp's text, character by character. Of one that travels as a number these are its digits;
   * an answer's is also tried as ISO 8601.
   */
  readonly timestamp: string;
}

/**
 * Signs requests and verifies answers. Both may be asynchronous, for keys that live in a key
 * service. What either throws becomes a `HostedConfigError` that repeats none of it.
 *
 * @example A signer over a key service
 * ```ts
 * const signer: Signer = {
 *   name: 'key-service',
 *   sign: ({ timestamp, partnerId }) => keyService.mac(`${timestamp}${partnerId}sid_request`),
 *   verify: (signature, { timestamp, partnerId }) =>
 *     keyService.verifyMac(`${timestamp}${partnerId}sid_request`, signature),
 * };
 * ```
 *
 * @see §5 of docs/protocol.md, which does not show the scheme: assumptions.ts holds the guess
 */
export interface Signer {
  /** Names the scheme, for people. */
  readonly name: string;
  /**
   * Signs; asked once for each attempt of a call.
   *
   * @param input - What the signature covers.
   * @returns The signature as it travels: a text that is not empty.
   */
  sign(input: SignatureInput): string | Promise<string>;
  /**
   * Tells whether a signature is the service's. A malformed one is `false`, never a throw.
   *
   * @param signature - The signature, as it came.
   * @param input - What it has to cover.
   * @returns True where it is one over `input`; anything else counts as false.
   */
  verify(signature: string, input: SignatureInput): boolean | Promise<boolean>;
}
