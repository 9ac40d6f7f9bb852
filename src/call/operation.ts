/**
 * What a row of the table of operations is: all that a call needs to know of an operation, as data and two
 * pure functions.
 *
 * @module
 */

import type * as z from 'zod/mini';
import type { Issue } from '../errors/hosted-error.js';
import type { Wire } from '../protocol/assumptions.js';
import type { OperationName, Route } from '../protocol/routes.js';

/** One operation: from checked input to a body, and from a response of known shape to the public value. */
export interface Operation<Input, WireResponse, Output> extends OperationFacts {
  /** What callers may pass. */
  readonly request: z.ZodMiniType<Input>;
  /** Writes the body, without what signing adds, and names the link of the path. */
  encode(input: Input, wire: Wire): Encoded;
  /** What the service may respond. */
  readonly response: z.ZodMiniType<WireResponse>;
  /** Reads the response; `input` is what it must be about. */
  decode(response: WireResponse, input: Input, context: DecodeContext): Decoded<Output>;
}

/** What an operation is, whatever its input and its response. */
export interface OperationFacts {
  readonly name: OperationName;
  readonly route: Route;
  /** Whether running it twice does what running it once does. */
  readonly repeatable: boolean;
  /** Whether the response must have a signature, or is verified only when it has one. */
  readonly signedResponse: 'required' | 'if present';
}

/** A request, before it is signed. */
export interface Encoded {
  /** The link id that goes into the path, where the path has one. */
  readonly linkId?: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What decoding may know beside the response itself. */
export interface DecodeContext {
  readonly wire: Wire;
  /** When the service signed the response, if it did. */
  readonly signedAt: Date | null;
}

/** The public value, or why there is none. Both have the property that tells them apart as their own. */
export type Decoded<Output> =
  | { readonly value: Output; readonly reason: null }
  | { readonly reason: 'shape' | 'mismatch'; readonly issues: readonly Issue[] };
