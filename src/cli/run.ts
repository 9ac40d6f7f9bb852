/**
 * Runs a command line: finds the command, reads its arguments, and returns the exit code of the process.
 *
 * @module
 */

import { version } from '../settings.js';
import { findSimilarName } from '../validation/did-you-mean.js';
import { commonFlags, type Flags, findVariableAdvice, readArguments, UsageError } from './arguments.js';
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
import { writeLine } from './output.js';

const program = 'hosted-client';

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
    const [first = ''] = given;
    if (first === '--version') return say(context, version);
    if (first === '--help' || first === '-h' || first === 'help') return say(context, describeProgram());
    const { command, rest } = findCommand(given);
    const read = readArguments(rest, { ...command, name: `${program} ${command.name}` });
    if (read.isSet('help')) return say(context, describeCommand(command));
    const code = await command.run(read, context);
    return context.signal.aborted ? exitCodes.interrupted : code;
  } catch (error) {
    return reportFailure(error, context);
  }
}

function say({ stdout }: Context, text: string): ExitCode {
  for (const line of text.split('\n')) writeLine(stdout, line);
  return exitCodes.done;
}

function findCommand(given: readonly string[]): { command: Command; rest: readonly string[] } {
  const [first, second] = given;
  const names = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
  if (first === undefined || !names.includes(first)) throw new UsageError(describeUnknown(first, names, ''));
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length === 0) return { command: findNamed(first), rest: given.slice(1) };
  const parts = group.map(({ name }) => name.slice(first.length + 1));
  if (second === undefined || !parts.includes(second))
    throw new UsageError(describeUnknown(second, parts, `${first} `));
  return { command: findNamed(`${first} ${second}`), rest: given.slice(2) };
}

function findNamed(name: string): Command {
  const command = commands.find((each) => each.name === name);
  if (command === undefined) throw new UsageError(describeUnknown(name, [], ''));
  return command;
}

function describeUnknown(word: string | undefined, names: readonly string[], group: string): string {
  const those = `${program} ${group}${names.join('|')}`;
  if (word === undefined) return `A command is missing: ${those}`;
  const similar = findSimilarName(word, names);
  const advice = similar === null ? those : `did you mean "${program} ${group}${similar}"?`;
  // The word itself is not shown, because it may be a key.
  return `Argument ${group === '' ? 1 : 2} is not a command: ${findVariableAdvice(word) ?? advice}`;
}

function describeProgram(): string {
  const rows = commands.map(({ name, positionals, about }) => [[name, ...positionals].join(' '), about] as const);
  return `${program} COMMAND

${toColumns(rows)}

Partner, key and URLs are read from the environment: HOSTED_PARTNER_ID, HOSTED_API_KEY, HOSTED_ENVIRONMENT,
HOSTED_SANDBOX_BASE_URL, HOSTED_PRODUCTION_BASE_URL. The URL of the tracking database is read from DATABASE_URL.
"${program} COMMAND --help" lists the flags of a command.

Exit codes: 0 done, and doctor found nothing wrong; 1 rejected, or doctor found something wrong; 2 wrong usage;
3 not complete in time; 4 no response from the server; 130 interrupted.`;
}

function describeCommand({ name, about, positionals, flags }: Command): string {
  const all: Flags = { ...flags, ...commonFlags };
  const rows = Object.entries(all).map(([flag, { value, about: what }]) => {
    return [`--${flag}${value === undefined ? '' : ` ${value}`}`, what] as const;
  });
  return `${[program, name, ...positionals].join(' ')}: ${about}

${toColumns(rows)}`;
}

function toColumns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
