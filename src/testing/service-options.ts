/**
 * The options of the mock service: what each must be. The sandbox takes them, too.
 *
 * @module
 */

import { type Environment, environments } from '../options.js';
import { isHttpUrl } from '../protocol/http-url.js';
import { maxTimerMs } from '../runtime/clock.js';
import { copyProperties, hasMethods, isRecord } from '../runtime/untrusted-objects.js';
import type { MockServiceOptions } from './types.js';

/** What an option must be. */
export interface OptionRule {
  accepts(value: unknown): boolean;
  /** Says what would be right. A number is shown, and no other value. */
  problemOf(value: unknown): string;
}

export const serviceOptionRules: Readonly<Record<keyof MockServiceOptions, OptionRule>> = {
  partnerId: rule('a string without blanks, with its leading zeros', (value) => isText(value) && /^\S+$/.test(value)),
  scheme: oneOf('hmac-sha256', 'ed25519'),
  wire: rule('an object', isRecord),
  pageSize: integer(1),
  firstPage: oneOf(0, 1),
  spelling: oneOf('table', 'sample', 'random'),
  seed: rule('an integer', Number.isSafeInteger),
  latencyMs: integer(0, maxTimerMs),
  clock: rule('an object with now()', (value) => hasMethods(value, 'now')),
  baseUrls: forEnvironments('absolute http(s) URLs, and those of two environments must differ', isUrlText, true),
  linkBaseUrl: rule('an absolute http(s) URL', isUrlText),
  keepRequests: integer(0),
  apiKeys: forEnvironments('API keys that are not blank', (key) => isText(key) && key.trim() !== ''),
};

/**
 * Checks the options of the service.
 *
 * @throws {RangeError} when an option is wrong. The error names the first one.
 */
export function checkServiceOptions(given: MockServiceOptions): MockServiceOptions {
  const options: MockServiceOptions = copyProperties(given, Object.keys(serviceOptionRules));
  for (const [name, { accepts, problemOf }] of Object.entries(serviceOptionRules)) {
    const value = options[name as keyof MockServiceOptions];
    if (value !== undefined && !accepts(value)) throw createRangeError(name, problemOf(value));
  }
  if (options.scheme === 'ed25519' && options.apiKeys !== undefined) throw createRangeError('apiKeys', mustHaveNoKeys);
  if (options.baseUrls !== undefined) options.baseUrls = copyProperties(options.baseUrls, environments);
  if (options.apiKeys !== undefined) options.apiKeys = copyProperties(options.apiKeys, environments);
  return options;
}

export const mustHaveNoKeys = 'must be left out if the scheme is "ed25519"';

function createRangeError(option: string, problem: string): RangeError {
  return new RangeError(`Cannot create the mock service: "${option}" ${problem}`);
}

function rule(expected: string, accepts: (value: unknown) => boolean): OptionRule {
  return {
    accepts,
    problemOf: (value) => `must be ${expected}${typeof value === 'number' ? `, got ${value}` : ''}`,
  };
}

function integer(least: number, most = Number.MAX_SAFE_INTEGER): OptionRule {
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
  return rule(
    `an integer ${range}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
  );
}

function oneOf(...values: readonly (string | number)[]): OptionRule {
  return rule(`one of ${JSON.stringify(values).slice(1, -1)}`, (value) => values.includes(value as string));
}

/** An object with a value for some of the environments. */
function forEnvironments(what: string, accepts: (value: unknown) => boolean, mustDiffer = false): OptionRule {
  return rule(`an object with ${what}`, (value) => {
    if (!isRecord(value) || !Object.keys(value).every((name) => environments.includes(name as Environment)))
      return false;
    const given = Object.values(copyProperties(value, environments)).filter((each) => each !== undefined);
    return given.every(accepts) && (!mustDiffer || new Set(given).size === given.length);
  });
}

function isUrlText(value: unknown): boolean {
  return isText(value) && isHttpUrl(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
