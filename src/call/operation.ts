/**
 * What a row of the table of operations is: all that the one pipeline in `call/call.ts` needs to know of
 * an operation, as data and two pure functions.
 *
 * @module
 */

import type * as z from 'zod/mini';
import type { Issue } from '../errors/hosted-error.js';
import type { Wire } from '../protocol/assumptions.js';
import type { Route } from '../protocol/routes.js';

/** One operation: from checked input to body, and from checked answer to clean value. */
export interface Operation<Checked, Answer, Output> extends Route {
  /** Whose base address and whose spelling of timestamp and signature: links', or job status's. */
  readonly host: 'links' | 'jobs';
  /** Whether running it twice does what running it once does. */
  readonly repeatable: boolean;
  /** Whether the answer must carry a signature, or is verified only when it does. */
  readonly signedAnswer: 'required' | 'if present';
  /** What callers may pass. */
  readonly request: z.ZodMiniType<Checked>;
  /** Writes the body, without what signing adds, and names the link of the path. */
  encode(checked: Checked, wire: Wire): Encoded;
  /** What the service may answer. */
  readonly response: z.ZodMiniType<Answer>;
  /** Reads the answer; `asked` is what it must be about. */
  decode(answer: Answer, asked: Checked, context: DecodeContext): Decoded<Output>;
}

/** A request, before it is signed. */
export interface Encoded {
  /** The link id that goes into the path, where the path has one. */
  readonly linkId?: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What decoding may know beside the answer itself. */
export interface DecodeContext {
  readonly wire: Wire;
  /** When the service signed the answer, if it did. */
  readonly signedAt: Date | null;
}

/** A clean value, or why there is none. */
export type Decoded<Output> =
  | { readonly value: Output }
  | { readonly reason: 'shape' | 'mismatch'; readonly issues: readonly Issue[] };

/** Whether something was decoded: by an own property, as other code may have put one on all objects. */
export function hasValue<Value, Failure extends object>(
  read: { readonly value: Value } | Failure,
): read is { readonly value: Value } {
  return Object.hasOwn(read, 'value');
}
