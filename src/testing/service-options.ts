/**
 * The options of the mock service: what each must be. The sandbox takes them, too.
 *
 * @module
 */

import * as z from 'zod/mini';
import type { Issue } from '../errors/hosted-error.js';
import { type Environment, environments } from '../options.js';
import { isHttpUrl } from '../protocol/http-url.js';
import { maxTimerMs } from '../runtime/clock.js';
import { copyProperties, hasMethods, isRecord } from '../runtime/untrusted-objects.js';
import { check, looseInputObject } from '../validation/check.js';
import { integer } from '../validation/input.js';
import type { MockServiceOptions } from './types.js';

export const serviceShape = {
  partnerId: optional(
    'a string without blanks, with its leading zeros',
    (value) => isText(value) && /^\S+$/.test(value),
  ),
  scheme: oneOf('hmac-sha256', 'ed25519'),
  wire: optional('an object', isRecord),
  pageSize: z.optional(integer(1)),
  firstPage: oneOf(0, 1),
  spelling: oneOf('table', 'sample', 'random'),
  seed: optional('an integer', Number.isSafeInteger),
  latencyMs: z.optional(integer(0, maxTimerMs)),
  clock: optional('an object with now()', (value) => hasMethods(value, 'now')),
  baseUrls: forEnvironments('absolute http(s) URLs, and those of two environments must differ', isHttpUrl, true),
  linkBaseUrl: optional('an absolute http(s) URL', isHttpUrl),
  keepRequests: z.optional(integer(0)),
  apiKeys: forEnvironments('API keys that are not blank', (key) => isText(key) && key.trim() !== ''),
} satisfies Record<keyof MockServiceOptions, unknown>;

const serviceOptions = looseInputObject(serviceShape) as z.ZodMiniType<MockServiceOptions>;

/**
 * Checks the options of the service.
 *
 * @throws {RangeError} when an option is wrong. The error names the first one.
 */
export function checkServiceOptions(given: MockServiceOptions): MockServiceOptions {
  const { data: options, issues } = check(serviceOptions, given);
  if (options === undefined) throw createRangeError(issues[0]);
  if (options.scheme === 'ed25519' && options.apiKeys !== undefined) throw createRangeError(haveNoKeys);
  if (options.baseUrls !== undefined) options.baseUrls = copyProperties(options.baseUrls, environments);
  if (options.apiKeys !== undefined) options.apiKeys = copyProperties(options.apiKeys, environments);
  return options;
}

export const haveNoKeys: Issue = { path: 'apiKeys', message: 'must be left out if the scheme is "ed25519"' };

function createRangeError(issue: Issue | undefined): RangeError {
  return new RangeError(`Cannot create the mock service: "${issue?.path || 'options'}" ${issue?.message}`);
}

/** An optional value. The error shows a number, and no other value. */
function optional(expected: string, accepts: (value: unknown) => boolean) {
  const got = (input: unknown) => (typeof input === 'number' ? `, got ${input}` : '');
  return z.optional(z.custom(accepts, { error: ({ input }) => `must be ${expected}${got(input)}` }));
}

function oneOf(...values: readonly (string | number)[]) {
  return optional(`one of ${JSON.stringify(values).slice(1, -1)}`, (value) => values.includes(value as string));
}

/** An object with a value for some of the environments. */
function forEnvironments(what: string, accepts: (value: unknown) => boolean, mustDiffer = false) {
  return optional(`an object with ${what}`, (value) => {
    if (!isRecord(value) || !Object.keys(value).every((name) => environments.includes(name as Environment)))
      return false;
    const given = Object.values(copyProperties(value, environments)).filter((each) => each !== undefined);
    return given.every(accepts) && (!mustDiffer || new Set(given).size === given.length);
  });
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
