/**
 * The parts of a command.
 *
 * @module
 */

import type { Arguments, Flags } from './arguments.js';
import type { Context, ExitCode } from './context.js';

export interface Command {
  /** The words of the command, such as `links get`. */
  readonly name: string;
  /** The help text of the command, in one line. */
  readonly about: string;
  /** The names of the arguments without a flag, such as `REF`. Optional arguments are in brackets, such as `[KEY]`. */
  readonly positionals: readonly string[];
  readonly flags: Flags;
  /** Returns the exit code; nothing if the command is done. */
  run(given: Arguments, context: Context): Promise<ExitCode | undefined>;
}
