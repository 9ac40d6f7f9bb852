/**
 * Error messages of commands: what went wrong, what to do next, and the exit code of the process.
 *
 * @module
 */

import { type AnyHostedError, type HostedValidationError, isHostedError } from '../index.js';
import { toFlag, UsageError } from './arguments.js';
import { type Context, type ExitCode, envFileAdvice, exitCodes } from './context.js';
import { writeLine } from './output.js';

/** The sandbox or this machine rejected something. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** A server could not be reached. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
}

/** Writes to stderr what went wrong, and returns the exit code of the process. */
export function reportFailure(error: unknown, context: Context): ExitCode {
  if (context.signal.aborted) return exitCodes.interrupted;
  const { code, lines } = describe(error);
  for (const [index, line] of lines.entries()) writeLine(context.stderr, line, index === 0 ? 'red' : undefined);
  return code;
}

interface FailureLines {
  readonly code: ExitCode;
  readonly lines: readonly string[];
}

function describe(error: unknown): FailureLines {
  if (error instanceof UsageError) return { code: exitCodes.usage, lines: [error.message] };
  if (error instanceof RefusedError) return { code: exitCodes.refused, lines: [error.message] };
  if (error instanceof UnreachableError) return { code: exitCodes.unreachable, lines: [error.message] };
  if (isHostedError(error)) return describeHosted(error);
  // The message of an unknown error is not shown, because a path or a library's text must not get into a script's log.
  return { code: exitCodes.refused, lines: [`Something unexpected failed (${nameOf(error)})`] };
}

function describeHosted(error: AnyHostedError): FailureLines {
  const { message } = error;
  switch (error.code) {
    case 'config':
      return { code: exitCodes.usage, lines: [message, ...adviceAboutVariables(message)] };
    case 'validation':
      return { code: exitCodes.usage, lines: [describeInput(error)] };
    case 'connection':
    case 'timeout':
      return { code: exitCodes.unreachable, lines: [message, ...doctor(message)] };
    case 'poll_timeout':
      return { code: exitCodes.incomplete, lines: [message.replace('"deadlineMs"', '--deadline')] };
    case 'authentication':
    case 'signature':
      return { code: exitCodes.refused, lines: [message, ...doctor(message)] };
    default:
      return { code: exitCodes.refused, lines: [message] };
  }
}

/** Returns the error's message, with the names of flags and arguments in place of property names. */
function describeInput({ message, issues, operation }: HostedValidationError): string {
  const task = message.slice(0, message.indexOf(':'));
  const isOfLink = operation?.startsWith('links.') === true;
  return `${task}: ${issues.map((issue) => `${toArgument(issue.path, isOfLink)} ${issue.message}`).join('; ')}`;
}

const argumentNames: Readonly<Record<string, string>> = {
  refId: 'REF',
  keys: 'KEY',
  jobId: 'JOB_ID',
};

function toArgument(path: string, isOfLink: boolean): string {
  const [name = ''] = path.split(/[.[]/);
  if (name === 'userId' && !isOfLink) return 'USER_ID';
  if (Object.hasOwn(argumentNames, name)) return argumentNames[name] ?? name;
  return `--${toFlag(name)}`;
}

function doctor(message: string): readonly string[] {
  return message.includes('hosted-client doctor') ? [] : ['"npx hosted-client doctor" says what is wrong'];
}

function adviceAboutVariables(message: string): readonly string[] {
  return message.includes('"HOSTED_')
    ? [`"npx hosted-client sandbox" starts a sandbox, and prints the variables for it; ${envFileAdvice}`]
    : [];
}

function nameOf(error: unknown): string {
  const code: unknown = Object(error).code;
  return typeof code === 'string' && /^[A-Z_]{2,40}$/.test(code) ? code : 'no HostedError';
}
