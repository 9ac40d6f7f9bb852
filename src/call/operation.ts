/**
 * The type of a row in the table of operations. A row has all that a call needs to know about an operation: data and
 * two pure functions.
 *
 * @module
 */

import type * as z from 'zod/mini';
import type { Wire } from '../protocol/assumptions.js';
import type { OperationName, Route } from '../protocol/routes.js';
import type { Report } from '../protocol/scalars.js';
import type { Properties } from '../runtime/untrusted-objects.js';

/** One operation: how checked input becomes a request, and how a response becomes the public value. */
export interface Operation<Input, Output> {
  readonly name: OperationName;
  readonly route: Route;
  /** The schema of the caller's input. */
  readonly request: z.ZodMiniType<Input>;
  /** Writes the body, without the fields that signing adds, and gives the link id for the path. */
  encode(input: Input, wire: Wire): Encoded;
  /** Reads the response to `input`. The value is used only if nothing was reported. */
  decode(response: Properties, input: Input, context: DecodeContext): Output;
}

/** A request, before it is signed. */
export interface Encoded {
  /** The link id in the path; undefined if the path has none. */
  readonly linkId?: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The facts that decoding may use besides the response itself, and its reports. */
export interface DecodeContext {
  readonly wire: Wire;
  /** When the response was received, by this machine's clock, in ms since the epoch. */
  readonly now: number;
  /** When the service signed the response; null if there is no signature, or if the timestamp is not a date. */
  readonly signedAt: Date | null;
  /** Reports a field that cannot be read. */
  readonly report: Report;
  /** Reports a field which shows that the response is about something else than `input`. */
  readonly reportMismatch: Report;
}
