/**
 * Writes log lines to the platform's console, for clients without a logger.
 *
 * @module
 */

type Log = (message: string, details?: object) => void;

type ConsoleLogger = Readonly<Record<'debug' | 'info' | 'warn' | 'error', Log>>;

const ignore = () => undefined;

export const silentLogger: ConsoleLogger = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Shows only warnings. Errors are left to the caller: a failed call rejects, so the caller can log the error. */
export const warningLogger: ConsoleLogger = { ...silentLogger, warn: warnOnConsole };

// The console is looked up for each line, so that a later replacement is used.
const infoLogger: ConsoleLogger = {
  ...warningLogger,
  info: (message, details) => console.info(message, details),
  error: (message, details) => console.error(message, details),
};

/** The logger for each level, by the value of `HOSTED_LOG`. */
export const consoleLoggers: Readonly<Record<string, ConsoleLogger>> = {
  debug: { ...infoLogger, debug: (message, details) => console.debug(message, details) },
  info: infoLogger,
  warn: warningLogger,
  off: silentLogger,
};

/** The list of levels for error messages. */
export const oneOfLogLevels = Object.keys(consoleLoggers)
  .map((level) => `"${level}"`)
  .join(' or ');

/** The minimum time, in ms, before the same warning is shown again. */
const warnEveryMs = 60_000;
const maxWarnings = 1_000;

/** When each warning was last shown, by any client of the process. The oldest entry comes first. */
const shownAt = new Map<string, number>();

function warnOnConsole(message: string): void {
  const now = globalThis.performance?.now() ?? Date.now();
  if (now < (shownAt.get(message) ?? Number.NEGATIVE_INFINITY) + warnEveryMs) return;
  shownAt.delete(message);
  shownAt.set(message, now);
  if (shownAt.size > maxWarnings) shownAt.delete(shownAt.keys().next().value ?? '');
  console.warn(message);
}
