/**
 * Checks what callers give against schemas: input, options, and saved state. An object is copied before it is checked.
 * Turns each problem into an issue for an error. An issue has a path and says what would be right, but never shows a
 * value that may be personal or secret.
 *
 * @module
 */

import * as z from 'zod/mini';
import { type Issue, maxIssues } from '../errors/hosted-error.js';
import { copyProperties, isRecord } from '../runtime/untrusted-objects.js';
import { findSimilarName } from './did-you-mean.js';

/** The result of a check: the value to use, or the issues. */
export type CheckResult<T> =
  | { readonly data: T; readonly issues: readonly [] }
  | { readonly data: undefined; readonly issues: readonly Issue[] };

/**
 * Checks untrusted input. If a getter or a proxy of the input throws, the result is an issue, not an exception.
 */
export function check<T>(schema: z.ZodMiniType<T>, given: unknown): CheckResult<T> {
  try {
    const parsed = z.safeParse(schema, given);
    return parsed.success
      ? { data: parsed.data, issues: [] }
      : { data: undefined, issues: issuesOf(parsed.error.issues) };
  } catch {
    // The thrown value may contain anything, so it is not shown.
    return {
      data: undefined,
      issues: [{ path: '', message: 'must have properties that can be read: reading one of them threw an error' }],
    };
  }
}

/**
 * A caller's object with only these properties. The schema checks a copy. Each property is read once, from the object
 * or its class, and never from `Object.prototype`.
 */
export function inputObject<Shape extends z.core.$ZodShape>(shape: Shape, message = 'must be an object') {
  const known = Object.keys(shape).join(' ');
  // For an unknown name, the message is a list of the known names. `describeUnknown` replaces it by a suggestion.
  const error = ({ code }: { readonly code: string }) => (code === 'unrecognized_keys' ? known : message);
  return checkCopy(shape, z.strictObject(shape, { error }));
}

/** Like {@link inputObject}, but the object may have other properties. They are not read. */
export function looseInputObject<Shape extends z.core.$ZodShape>(
  shape: Shape,
  error: (issue: { readonly input?: unknown }) => string = () => 'must be an object',
) {
  return checkCopy(shape, z.object(shape, { error }));
}

function checkCopy<Shape extends z.core.$ZodShape>(shape: Shape, object: z.ZodMiniType) {
  return z.pipe(copyOf(Object.keys(shape)), object as z.ZodMiniType<z.output<z.ZodMiniObject<Shape>>>);
}

/** Copies the properties `names` of a caller's object. A value that is not an object is passed on as it is. */
export function copyOf(names: readonly string[]) {
  return z.transform((given: unknown) => (isRecord(given) ? copyProperties(given, names) : given));
}

/** The issues of a failed check, one for each property, and at most {@link maxIssues}. */
export function issuesOf(found: readonly (z.core.$ZodIssueBase & { readonly keys?: string[] })[]): Issue[] {
  const issues = found
    .slice(0, maxIssues)
    .flatMap(({ path, message, keys }): readonly (readonly [PropertyKey[], string])[] =>
      keys
        ? keys.slice(0, maxIssues).map((key) => [[...path, key], describeUnknown(key, message.split(' '))])
        : [[path, message]],
    );
  return issues.slice(0, maxIssues).map(([path, message]) => ({ path: pathOf(path), message }));
}

function describeUnknown(key: string, known: readonly string[]): string {
  const similar = isShown(key) ? findSimilarName(key, known) : null;
  return similar === null ? 'is not a known property' : `is not a known property; did you mean "${similar}"?`;
}

/** Writes `['idTypes', 0, 'country']` as `idTypes[0].country`. */
export function pathOf(keys: readonly PropertyKey[]): string {
  return keys.reduce<string>((path, key) => {
    if (typeof key === 'number') return `${path}[${key}]`;
    // A name that does not look like an identifier may be data, so it is not shown.
    const name = isShown(String(key)) ? String(key) : '(a property)';
    return path === '' ? name : `${path}.${name}`;
  }, '');
}

function isShown(key: string): boolean {
  return /^[A-Za-z_]{1,40}$/.test(key);
}
