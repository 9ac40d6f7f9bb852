/**
 * Schemas of the values in callers' input and options. The messages say what would be right. They never repeat a value
 * that may be personal or secret.
 *
 * @module
 */

import * as z from 'zod/mini';
import type { Logger } from '../events.js';
import type { CallOptions } from '../options.js';
import { parseDateTime } from '../protocol/date-time.js';
import { isHttpUrl } from '../protocol/http-url.js';
import { maxTimerMs } from '../runtime/clock.js';
import { hasMethods, isRecord, readProperty, writeJson } from '../runtime/untrusted-objects.js';
import { findPastedProblemOfPlain } from './pasted.js';

/** The largest number of bytes that a caller can set as the limit of a body: 2 GiB. */
export const maxBodyLimit = 2 ** 31 - 1;

/** Any string. */
export const anyString = z.custom<string>((value) => typeof value === 'string', 'must be a string');

/** A string of this form. zod's own schemas for strings are not used, because they would enlarge the package. */
export function stringOf(form: RegExp, message: string, mustBeString = 'must be a string') {
  return z.custom<string>((value) => typeof value === 'string' && form.test(value), {
    // The checks of the whole object run as well, so that all problems are reported at once.
    abort: false,
    error: ({ input }) => (typeof input === 'string' ? message : mustBeString),
  });
}

/** A string that is not blank. */
export const nonBlank = stringOf(/\S/, 'must not be blank');

/** A property that does not exist. `message` says what to use in its place. */
export function missing(message: string) {
  return z.optional(z.custom<undefined>((value) => value === undefined, message));
}

/** A function. */
export function functionOf<T>() {
  return z.custom<T>((value) => typeof value === 'function', 'must be a function');
}

/** A logger, with methods of its own or of its class. */
export const loggerObject = z.custom<Logger>(
  (value) => hasMethods(value, 'debug', 'info', 'warn', 'error'),
  'must have debug(), info(), warn() and error()',
);

/** True or false. */
export const flag = choice([true, false], 'must be true or false');

/** One of these values. zod's own schemas for this are not used, for the reason given at {@link stringOf}. */
export function choice<const T>(values: readonly T[], message?: string) {
  // The issue has its own `path`. Otherwise zod would read a `path` that other code has put on `Object.prototype`.
  return z.custom<T>((value) => values.includes(value as T), { path: [], ...(message && { error: message }) });
}

/** An integer from `least` to `most`. The message shows the given number. */
export function integer(least: number, most = Number.MAX_SAFE_INTEGER, what = 'an integer') {
  const range = most === Number.MAX_SAFE_INTEGER ? `of ${least} or more` : `from ${least} to ${most}`;
  return z.custom<number>((value) => isInteger(value, least, most), {
    error: (issue) => `must be ${what} ${range}, got ${kindOf(issue.input)}`,
  });
}

function isInteger(value: unknown, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
}

/** A duration in milliseconds that a timer accepts. */
export const duration = integer(1, maxTimerMs, 'an integer of milliseconds');

/**
 * A duration as above, or the value `other`. The issue has its own `path` for the reason given at {@link choice}.
 */
export function durationOr<const T>(other: T, message: string, least = 1) {
  const accepts = (value: unknown) => value === other || isInteger(value, least, maxTimerMs);
  return z.custom<number | T>(accepts, { path: [], error: message });
}

/** A string that was not pasted wrongly, or another value that is right. `mustBe` says what would be right. */
export function pastedString<T = string>(isRight: (value: unknown) => boolean, mustBe: string, mustBeString = mustBe) {
  const problemOf = (value: unknown) => {
    const problem = typeof value === 'string' ? findPastedProblemOfPlain(value) : null;
    return problem ?? (isRight(value) ? null : typeof value === 'string' ? mustBe : mustBeString);
  };
  return z.custom<T>((value) => problemOf(value) === null, { abort: false, error: ({ input }) => problemOf(input) });
}

/** An absolute http(s) URL, in the form that is sent. A string is sent as the caller wrote it. */
export const httpUrl = z.pipe(z.transform(copyUrl), pastedString<string>(isHttpUrl, 'must be an absolute http(s) URL'));

/** The URL for callbacks: an absolute http(s) URL in the form that is sent, or null. */
export const callbackUrl = z.pipe(
  z.transform(copyUrl),
  pastedString<string | null>(
    (value) => value === null || isHttpUrl(value),
    'must be an absolute http(s) URL, or null to use the default callback URL of the account',
  ),
);

/**
 * Writes a caller's `URL` as a string, with the platform's own method: a subclass could return one string for the check
 * and another one to send. Other values are passed on; undefined if the value cannot be read.
 */
function copyUrl(value: unknown): unknown {
  try {
    return value instanceof URL ? URL.prototype.toString.call(value) : value;
  } catch {
    return undefined;
  }
}

/** A Date, copied. */
export function validDate(message = 'must be a valid Date') {
  return z.pipe(z.transform(copyDate), z.custom<Date>(isValidDate, message));
}

/** A point in time, in the form that is sent. A string with an offset is sent as the caller wrote it. */
export const dateTime = z.transform((given: unknown, check): string => {
  const value = copyDate(given);
  if (isValidDate(value)) return value.toISOString();
  if (typeof value === 'string' && parseDateTime(value, 'required') !== null) return value;
  const message = 'must be a valid Date, or an ISO 8601 string with an offset such as "2030-01-31T12:00:00Z"';
  check.issues.push({ code: 'custom', input: given, message });
  return '';
});

/**
 * Copies a caller's `Date`, of any realm, into a plain one: a subclass could return one time for the check and another
 * one to send. Any other object is null; other values are passed on.
 */
export function copyDate(value: unknown): unknown {
  try {
    return new Date(Date.prototype.getTime.call(value));
  } catch {
    return typeof value === 'object' ? null : value;
  }
}

/** Whether a value, which {@link copyDate} has copied, is a Date with a time. */
export function isValidDate(value: unknown): value is Date {
  return value instanceof Date && !Number.isNaN(value.getTime());
}

/**
 * Properties that are sent unchanged. They are copied once, as JSON, so that no `toJSON` and no getter can add a
 * `reserved` name after the check.
 */
export function extraProperties(reserved: ReadonlySet<string>) {
  return z.transform((value: unknown, check): Record<string, unknown> => {
    const properties = copyAsJson(value);
    if (properties === null) {
      check.issues.push({ code: 'custom', input: value, message: 'must be an object that can be written as JSON' });
      return {};
    }
    for (const name of Object.keys(properties).filter((property) => reserved.has(property))) {
      check.issues.push({
        code: 'custom',
        input: value,
        path: [name],
        message: 'must not be in "extra": only the client may set this field',
      });
    }
    return properties;
  });
}

/** The options of every call. */
export const callOptions = {
  signal: z.optional(z.custom<AbortSignal>(isAbortSignal, 'must be an AbortSignal')),
  timeoutMs: z.optional(duration),
  totalTimeoutMs: z.optional(duration),
  maxRetries: z.optional(integer(0, 100)),
  headers: z.optional(
    z.transform((given: unknown, check): Record<string, string> => {
      const addIssue = (message: string) => check.issues.push({ code: 'custom', input: given, message });
      // The headers are copied before they are checked, so that no getter is called twice.
      const headers = isRecord(given) ? Object.entries(given) : null;
      // The entries of a Headers or a Map are not its properties, so a copy would be empty.
      if (isRecord(given) && Symbol.iterator in given) {
        addIssue('must be an object with a property for each header: use Object.fromEntries(headers)');
      } else if (!headers?.every(isHeader)) {
        addIssue(
          'must map header names to single-line strings; headers that only the client or the connection may set are not allowed (content-type, content-length, host, …)',
        );
      }
      // Names are in lower case, so that a caller's header replaces the client's header of the same name.
      return Object.fromEntries((headers ?? []).map(([name, value]) => [name.toLowerCase(), String(value)]));
    }),
  ),
} satisfies Record<keyof CallOptions, unknown>;

// A number is shown. For any other value, only its kind is shown.
function kindOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : value === undefined ? 'nothing' : `a ${typeof value}`;
}

function copyAsJson(value: unknown): Record<string, unknown> | null {
  try {
    const copy: unknown = JSON.parse(writeJson(value));
    return isRecord(copy) ? copy : null;
  } catch {
    return null;
  }
}

/** Whether a value is an AbortSignal, of any realm. */
export function isAbortSignal(value: unknown): boolean {
  return hasMethods(value, 'addEventListener', 'throwIfAborted') && readProperty(value, 'aborted') !== undefined;
}

const reservedHeaders = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'host',
  'connection',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function isHeader([name, content]: readonly [string, unknown]): boolean {
  return (
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) &&
    !reservedHeaders.has(name.toLowerCase()) &&
    typeof content === 'string' &&
    // A header value can have visible bytes, blanks and tabs.
    /^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(content)
  );
}
