/**
 * Reads the arguments of a command. An error names the flag or the place of a wrong argument, and says what would be
 * right. No error shows a given argument, because it may be a key, or a URL with a password.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { isHttpUrl } from '../protocol/http-url.js';
import { findSimilarName } from '../validation/did-you-mean.js';

/** A flag of a command. */
export interface Flag {
  /** The name of the flag's value in the help, such as `URL`. A flag without this name takes no value. */
  readonly value?: string;
  /** The help text of the flag. */
  readonly about: string;
  readonly isList?: boolean;
  /** The allowed values. A flag with `choices` needs no `kind`. */
  readonly choices?: readonly string[];
  /** A command sends requests to an `endpoint` itself. */
  readonly kind?: 'integer' | 'number' | 'url' | 'endpoint';
  readonly min?: number;
  readonly max?: number;
}

export type Flags = Readonly<Record<string, Flag>>;

/** A flag with one of these values. */
export function choiceFlag(about: string, choices: readonly string[]): Flag {
  return { value: choices.join('|'), about, choices };
}

/** A flag with an integer. */
export function integerFlag(about: string, rest: Pick<Flag, 'value' | 'min' | 'max'> = {}): Flag {
  return { value: 'N', about, kind: 'integer', ...rest };
}

/** A flag with a port to listen on. */
export function portFlag(usual: number): Flag {
  return integerFlag(`the port; default ${usual}, and 0 takes any free port`, { min: 0, max: 65_535 });
}

/** The name of the flag that gives a property: `single-use` for `isSingleUse`, and `id-type` for `idTypes`. */
export function toFlag(property: string): string {
  const words = property.replaceAll(/^is(?=[A-Z])|Ms$|(?<=Type)s$/g, '').replaceAll(/[A-Z]/g, '-$&');
  return words.replace(/^-/, '').toLowerCase();
}

/** The arguments and flags that a command accepts. */
export interface Usage {
  /** The program and the words of the command, such as `hosted-client links get`. */
  readonly name: string;
  /** The names of the arguments without a flag, such as `REF`. Optional arguments are in brackets, such as `[KEY]`. */
  readonly positionals: readonly string[];
  readonly flags: Flags;
}

/** The checked arguments and flags of a command line. */
export interface Arguments {
  /** The arguments without a flag. Only optional arguments may be missing. */
  readonly positionals: readonly string[];
  isSet(flag: string): boolean;
  text(flag: string): string | undefined;
  number(flag: string): number | undefined;
  list(flag: string): readonly string[] | undefined;
}

/** A wrong use of the command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The flags that every command has. */
export const commonFlags: Flags = {
  json: { about: 'print JSON' },
  help: { about: 'list the flags of this command' },
};

/**
 * Reads arguments.
 *
 * @throws {UsageError} when an argument is wrong. The error names the first wrong argument, and says what would be
 *   right.
 */
export function readArguments(given: readonly string[], { name, positionals, flags }: Usage): Arguments {
  const known: Flags = { ...flags, ...commonFlags };
  const { tokens } = parseArgs({
    args: [...given],
    options: Object.fromEntries(
      Object.entries(known).map(([flag, { value }]) => [
        flag,
        { type: value === undefined ? 'boolean' : 'string', ...(flag === 'help' && { short: 'h' }) },
      ]),
    ),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const values = new Map<string, string[]>();
  const found: Positional[] = [];
  for (const token of tokens) {
    // The program is the first word of the name, and the words of the command come before the given arguments.
    const place = name.split(' ').length + token.index;
    if (token.kind === 'positional') found.push({ value: token.value, place });
    if (token.kind === 'option') readFlag({ ...token, place }, known, { name, values });
  }
  if (!values.has('help')) checkPositionals(found, { name, positionals, flags });
  return {
    positionals: found.map(({ value }) => value),
    isSet: (flag) => values.has(flag),
    text: (flag) => values.get(flag)?.at(-1),
    number(flag) {
      const text = values.get(flag)?.at(-1);
      return text === undefined ? undefined : Number(text);
    },
    list: (flag) => values.get(flag),
  };
}

interface Positional {
  readonly value: string;
  /** The number of the argument, from 1. */
  readonly place: number;
}

interface Option {
  readonly name: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
  /** The number of the argument, from 1. */
  readonly place: number;
}

interface Target {
  readonly name: string;
  readonly values: Map<string, string[]>;
}

function readFlag(option: Option, known: Flags, { name, values }: Target): void {
  const flag = Object.hasOwn(known, option.name) ? known[option.name] : undefined;
  if (flag === undefined) throw new UsageError(describeUnknownFlag(option, { name, known }));
  const kept = values.get(option.name) ?? [];
  if (flag.value === undefined) {
    if (option.value !== undefined) throw new UsageError(`--${option.name} takes no value`);
    values.set(option.name, ['']);
    return;
  }
  if (option.value === undefined || (!option.inlineValue && isNextFlag(option.value, known))) {
    throw new UsageError(`--${option.name} needs a value: --${option.name} ${flag.value}`);
  }
  if (kept.length > 0 && !flag.isList) throw new UsageError(`--${option.name} is given twice: give it once`);
  const problem = findValueProblem(option.value, flag);
  if (problem !== null) throw new UsageError(`--${option.name} ${problem}`);
  values.set(option.name, [...kept, option.value]);
}

// Whether a value is the next flag: in `--port --json`, the value of `--port` was forgotten. A value that begins with
// "--" can be given as `--name=--value`.
function isNextFlag(value: string, known: Flags): boolean {
  return value.startsWith('--') && Object.hasOwn(known, value.slice(2));
}

function findValueProblem(value: string, { choices, kind, min = -Infinity, max = Infinity }: Flag): string | null {
  if (choices) return choices.includes(value) ? null : describeChoice(value, choices);
  if (kind === undefined) return value === '' ? 'must not be empty' : null;
  if (kind === 'url' || kind === 'endpoint') {
    if (!isHttpUrl(value)) return 'must be an absolute http or https URL';
    const { username, password } = new URL(value);
    if (kind === 'url' || username + password === '') return null;
    return 'must be a URL without a user name and a password: requests cannot have them in their URL';
  }
  const number = /^-?\d{1,16}(?:\.\d{1,9})?$/.test(value) ? Number(value) : Number.NaN;
  const isRight = kind === 'integer' ? Number.isSafeInteger(number) : Number.isFinite(number);
  if (isRight && number >= min && number <= max) return null;
  const limits = min === -Infinity ? '' : max === Infinity ? ` of ${min} or more` : ` from ${min} to ${max.toString()}`;
  return `must be ${kind === 'integer' ? 'an integer' : 'a number'}${limits}`;
}

function checkPositionals(found: readonly Positional[], { name, positionals }: Usage): void {
  const usage = [name, ...positionals].join(' ');
  const missing = positionals.filter((each) => !each.startsWith('['))[found.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing: ${usage}`);
  const empty = found.findIndex(({ value }) => value === '');
  if (empty >= 0 && empty < positionals.length)
    throw new UsageError(`${positionals[empty]?.replaceAll(/[[\]]/g, '')} must not be empty: ${usage}`);
  const extra = found[positionals.length];
  if (extra === undefined) return;
  throw new UsageError(`Argument ${extra.place} is one too many: ${findVariableAdvice(extra.value) ?? usage}`);
}

const keyNames = ['api-key', 'apikey', 'database-url', 'key', 'secret', 'secret-key', 'signer', 'password', 'token'];

/** The advice about an argument that looks like a key, a URL or another variable; null for any other argument. */
export function findVariableAdvice(given: string): string | null {
  const [flag = ''] = given.toLowerCase().split('=', 1);
  const isVariable = given.startsWith('-') ? keyNames.includes(flag.replace(/^-+/, '')) : /=|:\/\//.test(given);
  return isVariable ? 'keys and URLs are read only from environment variables, such as HOSTED_API_KEY' : null;
}

function describeUnknownFlag({ name: flag, place }: Option, { name, known }: { name: string; known: Flags }): string {
  const similar = findSimilarName(flag.replaceAll('-', '_'), Object.keys(known).map(toPlain));
  const right = Object.keys(known).find((each) => toPlain(each) === similar);
  const advice = right ? `did you mean --${right}?` : `"${name} --help" lists the flags`;
  return `Argument ${place} is not a flag of ${name}: ${findVariableAdvice(`--${flag}`) ?? advice}`;
}

function toPlain(name: string): string {
  return name.replaceAll('-', '_');
}

/** Says which values are allowed, and suggests an allowed value that is similar to `value`. */
export function describeChoice(value: string, choices: readonly string[]): string {
  const similar = findSimilarName(value, choices);
  return `must be one of ${choices.join(', ')}${similar === null ? '' : `: did you mean "${similar}"?`}`;
}
