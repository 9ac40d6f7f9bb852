/**
 * The streams and variables that a command uses, and its exit code. Commands get them as arguments, and do not use
 * `process`, so that tests can run commands without a new process.
 *
 * @module
 */

import { HostedClient, type HostedClientOptions } from '../index.js';
import type { Clock } from '../runtime/clock.js';

/** A stream that text is written to: `process.stdout`, or the stream of a test. */
export interface TextStream {
  readonly isTTY?: boolean;
  /** The width of a terminal, in characters. */
  readonly columns?: number;
  /** Whether a terminal shows colors. Node reads this from variables such as `NO_COLOR`, `FORCE_COLOR` and `TERM`. */
  hasColors?(): boolean;
  write(text: string): unknown;
}

/** The inputs of a command. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For the requested data: a table, or JSON. */
  readonly stdout: TextStream;
  /** For messages and progress. */
  readonly stderr: TextStream;
  /** Default: the platform's clock. */
  readonly clock?: Clock;
  /** Aborts when the user interrupts. */
  readonly signal: AbortSignal;
}

/** The exit codes of the process. */
export const exitCodes = {
  done: 0,
  /** The service, the sandbox or this machine rejected something, or doctor found something wrong. */
  refused: 1,
  usage: 2,
  /** A job was not complete before the deadline. */
  incomplete: 3,
  unreachable: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** How a command takes variables from a file: npx has no option for it, and `NODE_OPTIONS` does not allow it. */
export const envFileAdvice =
  'if the variables are in a file .env, run "node --env-file=.env node_modules/hosted-client/dist/cli/index.js COMMAND"';

/**
 * Creates a client from the environment variables. Its log goes to stderr, because stdout is only for the requested
 * data.
 */
export function createClient(context: Context, options: Partial<HostedClientOptions> = {}): HostedClient {
  const { env, clock } = context;
  const overrides = { userAgentSuffix: 'cli', ...(clock && { clock }), ...createLog(context), ...options };
  return HostedClient.fromEnv(overrides, { env });
}

const logLevels = ['debug', 'info', 'warn', 'off'];

// For an unknown level, no logger is created here, because `fromEnv` rejects the level, and names it.
function createLog({ env, stderr }: Context): Pick<HostedClientOptions, 'logger'> {
  const level = logLevels.indexOf(env.HOSTED_LOG || 'warn');
  if (level < 0) return {};
  const from = (lowest: number) => (message: string, details?: object) => {
    if (level <= lowest) stderr.write(`${details === undefined ? message : `${message} ${JSON.stringify(details)}`}\n`);
  };
  // At the level "warn", errors are not logged, because the command itself says what failed.
  return { logger: { debug: from(0), info: from(1), warn: from(2), error: from(1) } };
}

/** Reads the clock of the context, in ms since the epoch. */
export function nowOf({ clock }: Context): number {
  return (clock ?? Date).now();
}

/** Resolves when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      signal.removeEventListener('abort', end);
      resolve();
    };
    signal.addEventListener('abort', end);
  });
}
