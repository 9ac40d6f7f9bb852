/**
 * The help of the program, of a group of commands and of a command.
 *
 * @module
 */

import { environments } from '../options.js';
import { commonFlags, type Flags } from './arguments.js';
import type { Command } from './command.js';

export const program = 'hosted-client';

export function describeProgram(commands: readonly Command[]): string {
  return `${program} COMMAND

${toColumns(commands.map(toRow))}

Partner, key and URLs are read from the environment: HOSTED_PARTNER_ID, HOSTED_API_KEY, HOSTED_ENVIRONMENT,
${environments.map((name) => `HOSTED_${name.toUpperCase()}_BASE_URL`).join(', ')}. The URL of the tracking database is read from DATABASE_URL.
"${program} help COMMAND" lists the flags of a command.

Exit codes: 0 done, and doctor found nothing wrong; 1 rejected, or doctor found something wrong; 2 wrong usage;
3 not complete in time; 4 no response from the server; 130 interrupted.`;
}

/** Describes commands that begin with the same word. */
export function describeGroup(commands: readonly Command[]): string {
  return toColumns(commands.map(toRow));
}

function toRow({ name, positionals, about }: Command): readonly [string, string] {
  return [[name, ...positionals].join(' '), about];
}

export function describeCommand({ name, about, positionals, flags }: Command): string {
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
