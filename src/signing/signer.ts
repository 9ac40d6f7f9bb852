/**
 * The interface that signs requests and verifies responses (docs/protocol.md §5).
 *
 * @module
 */

/** What a signature covers: the timestamp as it is sent, and the partner id. */
export interface SignatureInput {
  /** The partner id, leading zeros included. */
  readonly partnerId: string;
  /**
   * The timestamp, character by character; the digits of one that is sent as a number. A number in a response
   * is also tried as ISO 8601.
   */
  readonly timestamp: string;
}

/**
 * Signs requests and verifies responses. Both may be asynchronous, for keys in a key service. An error of
 * either becomes a `HostedConfigError` that repeats none of it.
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
 * @see §5 and "What is not known" of docs/protocol.md
 */
export interface Signer {
  /** The name of the scheme, for logs and people. */
  readonly name: string;
  /**
   * Signs; called once for each attempt of a call.
   *
   * @param input - What the signature covers.
   * @returns The signature as it is sent: a string that is not empty.
   */
  sign(input: SignatureInput): string | Promise<string>;
  /**
   * Verifies a signature of the service. A malformed one is `false`, not an error.
   *
   * @param signature - The signature, as received.
   * @param input - What it must cover.
   * @returns True if it is valid for `input`; anything else counts as false.
   */
  verify(signature: string, input: SignatureInput): boolean | Promise<boolean>;
}
