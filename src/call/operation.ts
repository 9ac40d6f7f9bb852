/**
 * The type of a row in the table of operations. A row has all that a call needs to know about an operation: data and
 * two pure functions.
 *
 * @module
 */

import type * as z from 'zod/mini';
import type { Issue } from '../errors/hosted-error.js';
import type { Wire } from '../protocol/assumptions.js';
import type { OperationName, Route } from '../protocol/routes.js';

/** One operation: how checked input becomes a request, and how a response becomes the public value. */
export interface Operation<Input, WireResponse, Output> extends OperationFacts {
  /** The schema of the caller's input. */
  readonly request: z.ZodMiniType<Input>;
  /** Writes the body, without the fields that signing adds, and gives the link id for the path. */
  encode(input: Input, wire: Wire): Encoded;
  /** The schema of the service's response. */
  readonly response: z.ZodMiniType<WireResponse>;
  /** Creates the public value from the response, after comparing the response with `input`. */
  decode(response: WireResponse, input: Input, context: DecodeContext): Decoded<Output>;
}

/** The facts about an operation that do not depend on its input or its response. */
export interface OperationFacts {
  readonly name: OperationName;
  readonly route: Route;
  /** Whether running the operation twice has the same effect as running it once. */
  readonly repeatable: boolean;
  /** Whether the response must have a signature. With `'if present'`, a response without a signature is accepted. */
  readonly signedResponse: 'required' | 'if present';
}

/** A request, before it is signed. */
export interface Encoded {
  /** The link id in the path; undefined if the path has none. */
  readonly linkId?: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The facts that decoding may use besides the response itself. */
export interface DecodeContext {
  readonly wire: Wire;
  /** When the service signed the response; null if there is no signature, or if the timestamp is not a date. */
  readonly signedAt: Date | null;
}

/**
 * The public value, or the reason why there is none. In both cases, `reason` is an own property, so that a `reason` on
 * `Object.prototype` is never read.
 */
export type Decoded<Output> =
  | { readonly value: Output; readonly reason: null }
  | { readonly reason: 'shape' | 'mismatch'; readonly issues: readonly Issue[] };
