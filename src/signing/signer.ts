/**
 * What it takes to sign requests and to verify answers (docs/protocol.md §5).
 *
 * @module
 */

/** What a signature covers: the timestamp's text as it travels, and the partner id as written. */
export interface SignatureInput {
  readonly partnerId: string;
  readonly timestamp: string;
}

/**
 * Signs requests and verifies answers. Both may be asynchronous, for keys that live in a key
 * service.
 *
 * @example A signer over a key service
 * ```ts
 * const signer: Signer = {
 *   name: 'key-service',
 *   sign: (input) => keyService.mac(messageOf(input)),
 *   verify: (signature, input) => keyService.verifyMac(signature, messageOf(input)),
 * };
 * ```
 */
export interface Signer {
  /** For people, in messages. */
  readonly name: string;
  /** The signature over `input`, as it travels. */
  sign(input: SignatureInput): string | Promise<string>;
  /** Whether `signature` is one over `input`. A malformed signature is `false`, never a throw. */
  verify(signature: string, input: SignatureInput): boolean | Promise<boolean>;
}
