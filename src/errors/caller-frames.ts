/**
 * Adds the caller's own functions to the stack of an error. Most errors are created in a timer or after a response,
 * when the caller's functions are no longer on the stack. V8 (Node, Deno, Workers) can list the async functions that
 * wait for the running code. This works only if each promise on the way to the caller has exactly one `then` or
 * `await`. So the stack is captured again, at a point where this is true for each promise. This costs nothing if a call
 * succeeds.
 *
 * @module
 */

import { HostedError } from './hosted-error.js';

/**
 * Captures the stack of an error of this package again, and returns the error. Any other value is returned unchanged.
 * In Bun, the error keeps its old stack: Bun's engine (JSC) does not follow promises, so a new capture would lose
 * frames.
 */
export function addCallerFrames<T>(error: T): T {
  if (!(error instanceof HostedError) || 'Bun' in globalThis) return error;
  const { stackTraceLimit } = Error as Capturing;
  // Our own frames come first. So the limit is raised, to leave room for the caller's frames. A limit of 0 stays 0.
  if (Number(stackTraceLimit) > 0) setLimit(Number(stackTraceLimit) + maxOwnFrames);
  try {
    (Error as Capturing).captureStackTrace?.(error, addCallerFrames);
  } catch {
    // The caller has frozen the error, so its stack stays as it is.
  }
  if (Number(stackTraceLimit) > 0) setLimit(stackTraceLimit);
  return error;
}

/**
 * Describes what a caller's function threw, such as `TypeError at server.mjs:18:32`: the name of the error, and the
 * caller's first own stack frame. Its message may contain anything, so it is not shown.
 */
export function describeThrown(error: unknown): string {
  try {
    return describe(error);
  } catch {
    // Its properties may have any type, or throw when they are read.
    return 'a value that cannot be read';
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'a value that is no error';
  const { name: given, message, stack } = error;
  const name = typeof given === 'string' && /^[A-Za-z]{1,40}$/.test(given) ? given : 'an error';
  const own = framesIn(String(stack), String(message)).find(
    (frame) => !/node_modules|node[:]|\(native|<anonymous>\)?$/.test(frame) && framePlace.test(frame),
  );
  const place = own && framePlace.exec(own)?.[1];
  return place ? `${name} at ${place}` : name;
}

// Only what follows the name and the whole message can be frames, up to the first line that is none: a message, and what
// is behind the frames, may have lines that look like frames. If the message was changed since, there are none.
function framesIn(stack: string, message: string): readonly string[] {
  const header = message === '' ? /^[\w$.]{1,80}\n/ : /^[\w$.]{1,80}: /;
  const start = header.exec(stack)?.[0].length;
  if (start === undefined || !stack.startsWith(message === '' ? '' : `${message}\n`, start)) return [];
  const lines = stack.slice(message === '' ? start : start + message.length + 1).split('\n');
  const end = lines.findIndex((line) => !/^ {4}at /.test(line));
  return end < 0 ? lines : lines.slice(0, end);
}

/** The file, line and column at the end of a stack frame, without the folders. */
const framePlace = /([\w.@+-]{1,80}:\d+:\d+)\)?$/;

/** The largest number of frames of this package and of the platform that can come before the caller's frames. */
const maxOwnFrames = 16;

// Does nothing if `Error` is frozen.
function setLimit(limit: unknown): void {
  Reflect.set(Error, 'stackTraceLimit', limit);
}

/** `Error` with V8's function that captures stacks. Not every engine has this function. */
interface Capturing extends Pick<ErrorConstructor, 'prototype'> {
  captureStackTrace?(error: object, below: unknown): void;
  readonly stackTraceLimit?: unknown;
}
