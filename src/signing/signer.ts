/**
 * The interface that signs requests and verifies responses (docs/protocol.md §5).
 *
 * @module
 */

/** The parts that a signature covers: the unchanged timestamp and the partner id. */
export interface SignatureInput {
  /** The partner id, leading zeros included. */
  readonly partnerId: string;
  /**
   * The timestamp exactly as it is sent or received, with every character unchanged. If a timestamp is sent as a
   * number, this is the string of its digits. If the timestamp of a response is a number, `verify` is called with its
   * digits. If the signature does not match these digits, `verify` is called again. For the second call, the number is
   * read as milliseconds since the epoch, and `timestamp` is this time in ISO 8601.
   */
  readonly timestamp: string;
}

/**
 * Signs requests and verifies responses. Both methods may be asynchronous, for keys in a key service. If a method
 * throws, the client's call fails with a `HostedConfigError`. This error does not show what the method threw.
 *
 * @example A signer with a key service
 * ```ts
 * const signer: Signer = {
 *   name: 'key-service',
 *   sign: ({ timestamp, partnerId }) => keyService.mac(`${timestamp}${partnerId}sid_request`),
 *   verify: (signature, { timestamp, partnerId }) =>
 *     keyService.verifyMac(`${timestamp}${partnerId}sid_request`, signature),
 * };
 * ```
 *
 * @see [§5](../../docs/protocol.md#5-authentication) and [What is not known](../../docs/protocol.md#what-is-not-known)
 *   of docs/protocol.md
 */
export interface Signer {
  /** The name of the scheme, for logs and people. */
  readonly name: string;
  /**
   * Signs a request. It is called once for each attempt of a call.
   *
   * @param input - What the signature covers.
   * @returns The signature to send: a string that is not empty.
   */
  sign(input: SignatureInput): string | Promise<string>;
  /**
   * Verifies a signature of the service. For a malformed signature, your method must return `false` and must not throw.
   * If it throws, the call fails with a `HostedConfigError`.
   *
   * @param signature - The signature, as received.
   * @param input - What the signature must cover.
   * @returns True if the signature is valid for `input`. Any other value counts as false.
   */
  verify(signature: string, input: SignatureInput): boolean | Promise<boolean>;
}
