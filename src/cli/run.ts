/**
 * Runs a command line: finds the command, reads its arguments, and returns the exit code of the process.
 *
 * @module
 */

import { version } from '../settings.js';
import { findSimilarName } from '../validation/did-you-mean.js';
import { findVariableAdvice, readArguments, UsageError } from './arguments.js';
import type { Command } from './command.js';
import { doctorCommand } from './commands/doctor.js';
import { jobCommands } from './commands/jobs.js';
import { linkCommands } from './commands/links.js';
import { listenCommand } from './commands/listen.js';
import { playCommand } from './commands/play.js';
import { sandboxCommand } from './commands/sandbox.js';
import { trackingCommands } from './commands/tracking.js';
import { type Context, type ExitCode, exitCodes } from './context.js';
import { reportFailure } from './failures.js';
import { describeCommand, describeGroup, describeProgram, program } from './help.js';
import { writeLine } from './output.js';

const commands: readonly Command[] = [
  sandboxCommand,
  ...linkCommands,
  ...jobCommands,
  playCommand,
  listenCommand,
  ...trackingCommands,
  doctorCommand,
];

/** Runs a command line. `given` has the arguments after `hosted-client`. It never rejects. */
export async function run(given: readonly string[], context: Context): Promise<ExitCode> {
  try {
    const [first] = given;
    if (first === '--version' || first === '-v') return say(context, version);
    if (first === undefined || isHelp(first)) return say(context, describe(given.slice(1)));
    if (isHelp(given[1])) return say(context, describe([first]));
    const { command, rest } = findCommand(given);
    const read = readArguments(rest, { ...command, name: `${program} ${command.name}` });
    if (read.isSet('help')) return say(context, describeCommand(command));
    const code = await command.run(read, context);
    return context.signal.aborted ? exitCodes.interrupted : (code ?? exitCodes.done);
  } catch (error) {
    return reportFailure(error, context);
  }
}

const isHelp = (word: string | undefined) => word === 'help' || word === '--help' || word === '-h';

/** Describes what the words name: a command, a group of commands, or the program. */
function describe(words: readonly string[]): string {
  const [first, ...others] = words;
  if (first === undefined) return describeProgram(commands);
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  return group.length > 0 && others.length === 0 ? describeGroup(group) : describeCommand(findCommand(words).command);
}

function say({ stdout }: Context, text: string): ExitCode {
  for (const line of text.split('\n')) writeLine(stdout, line);
  return exitCodes.done;
}

function findCommand(given: readonly string[]): { command: Command; rest: readonly string[] } {
  const command = commands.find(({ name }) => name.split(' ').every((word, index) => word === given[index]));
  if (command !== undefined) return { command, rest: given.slice(command.name.split(' ').length) };
  const [first, second] = given;
  const group = `${first} `;
  const parts = commands.filter(({ name }) => name.startsWith(group)).map(({ name }) => name.slice(group.length));
  if (parts.length > 0) throw new UsageError(describeUnknown(second, parts, group));
  const names = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
  throw new UsageError(describeUnknown(first, names, ''));
}

function describeUnknown(word: string | undefined, names: readonly string[], group: string): string {
  const those = `${program} ${group}${names.join('|')}`;
  if (word === undefined) return `A command is missing: ${those}`;
  const similar = findSimilarName(word, names);
  const advice = similar === null ? those : `did you mean "${program} ${group}${similar}"?`;
  // The word itself is not shown, because it may be a key.
  return `Argument ${group === '' ? 1 : 2} is not a command: ${findVariableAdvice(word) ?? advice}`;
}
