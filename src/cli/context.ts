/**
 * The streams and variables of a command, and its exit code. No other file reads them from the process, so that a test
 * can run a command in its own process.
 *
 * @module
 */

import { HostedClient, type HostedClientOptions } from '../index.js';
import type { Clock } from '../runtime/clock.js';

/** Where text is written: `process.stdout`, or a test's own. */
export interface TextStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** The inputs of a command. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes the requested data: a table, or JSON. */
  readonly stdout: TextStream;
  /** Messages and progress. */
  readonly stderr: TextStream;
  /** Undefined: the platform's. */
  readonly clock?: Clock;
  /** Aborts when the user interrupts. */
  readonly signal: AbortSignal;
}

/** The exit codes of the process. */
export const exitCodes = {
  done: 0,
  /** The service or the sandbox refused, or doctor found something. */
  refused: 1,
  usage: 2,
  /** The deadline of a wait passed. */
  incomplete: 3,
  unreachable: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Creates a client from the variables. Its log goes to stderr, because stdout is only for the requested data. */
export function createClient(context: Context, options: Partial<HostedClientOptions> = {}): HostedClient {
  const { env, clock } = context;
  const overrides = { userAgentSuffix: 'cli', ...(clock && { clock }), ...createLog(context), ...options };
  return HostedClient.fromEnv(overrides, { env });
}

const logLevels = ['debug', 'info', 'warn', 'off'];

// `fromEnv` rejects an unknown level, and names it.
function createLog({ env, stderr }: Context): Pick<HostedClientOptions, 'logger'> {
  const level = logLevels.indexOf(env.HOSTED_LOG || 'warn');
  if (level < 0) return {};
  const from = (lowest: number) => (message: string, details?: object) => {
    if (level <= lowest) stderr.write(`${details === undefined ? message : `${message} ${JSON.stringify(details)}`}\n`);
  };
  // The command itself says what failed.
  return { logger: { debug: from(0), info: from(1), warn: from(2), error: from(1) } };
}

/** The time by the given clock, in ms since the epoch. */
export function nowOf({ clock }: Context): number {
  return (clock ?? Date).now();
}

/** Resolves once the signal aborts. */
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
