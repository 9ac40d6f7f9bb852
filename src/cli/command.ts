/**
 * The parts of a command.
 *
 * @module
 */

import type { Arguments, Flags } from './arguments.js';
import type { Context, ExitCode } from './context.js';

export interface Command {
  /** `links get` */
  readonly name: string;
  /** One line for the help. */
  readonly about: string;
  /** The names of the arguments without a flag, such as `REF`. Optional arguments are in brackets, such as `[KEY]`. */
  readonly positionals: readonly string[];
  readonly flags: Flags;
  run(given: Arguments, context: Context): Promise<ExitCode>;
}
