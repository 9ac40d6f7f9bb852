/**
 * The caller's own functions in the stack of an error. Most errors are created where nothing of the caller is on the
 * stack any more: in a timer, or behind a response. V8 (Node, Deno, Workers) then lists the async functions that wait
 * for the promise of the running code, as long as each promise on the way has one reaction. So the stack is captured
 * anew where this chain reaches the caller, and no error has to be created before one is needed.
 *
 * @module
 */

import { HostedError } from './hosted-error.js';

/**
 * Captures the stack of an error of this package anew, and gives the error back; anything else stays as it is. JSC (Bun)
 * follows no promises, and would lose what it has: there nothing is changed.
 */
export function addCallerFrames<T>(error: T): T {
  if (!(error instanceof HostedError) || 'Bun' in globalThis) return error;
  const { stackTraceLimit } = Error as Capturing;
  // Our own frames come first, and must not take the place of the caller's. None are wanted where the limit is 0.
  if (Number(stackTraceLimit) > 0) setLimit(Number(stackTraceLimit) + maxOwnFrames);
  try {
    (Error as Capturing).captureStackTrace?.(error, addCallerFrames);
  } catch {
    // The caller has frozen the error: it keeps its stack.
  }
  if (Number(stackTraceLimit) > 0) setLimit(stackTraceLimit);
  return error;
}

/** How many frames of this package, and of the platform below it, can be above the caller's. */
const maxOwnFrames = 16;

// Does nothing where `Error` is frozen.
function setLimit(limit: unknown): void {
  Reflect.set(Error, 'stackTraceLimit', limit);
}

/** Not every engine has it. */
interface Capturing extends Pick<ErrorConstructor, 'prototype'> {
  captureStackTrace?(error: object, below: unknown): void;
  readonly stackTraceLimit?: unknown;
}
