/**
 * Checks the input of a tracker's methods. One error lists every problem, and nothing is stored before the check.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedValidationError } from '../errors/client-errors.js';
import type { Issue } from '../errors/hosted-error.js';
import { encodeUtf8 } from '../runtime/bytes.js';
import { maxTimerMs } from '../runtime/clock.js';
import { hasMethods, writeJson } from '../runtime/untrusted-objects.js';
import { check, inputObject } from '../validation/check.js';
import { copyDate, functionOf, integer, isAbortSignal, isValidDate, maxBodyLimit } from '../validation/input.js';
import { isKey } from './keys.js';
import type { SqlRunner } from './types.js';

/** The largest size of a context, in bytes of JSON. */
const maxContextBytes = 16 * 1024;
/** How many characters an id may have. The ids in a callback have the same limit. */
const maxIdCharacters = 1_024;
/** How many jobs one call may track. */
const maxJobs = 100_000;

const whatAnIdIs =
  'must be a string of 1 to 1,024 characters, not blank, without NUL, an unpaired surrogate, or U+FEFF at the start';

/**
 * Says whether a database can store an id unchanged. PostgreSQL cannot store NUL, UTF-8 has no unpaired surrogates, and
 * PGlite leaves out U+FEFF at the start of a text: the id would become that of another person.
 */
export function isStorableId(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= maxIdCharacters &&
    !value.includes('\u0000') &&
    !value.startsWith('\ufeff') &&
    !/[\ud800-\udfff]/u.test(value)
  );
}

/**
 * Says whether a value can be the reference id of a link. Only letters, digits, `_` and `-` are allowed, because the
 * client sends the id as a part of a path.
 */
export function isRefId(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9_-]{1,128}$/.test(value);
}

const whatARefIdIs = 'must be 1 to 128 letters, digits, "_" or "-"';
const id = z.custom<string>(isStorableId, whatAnIdIs);

/** Checks a date, and returns its time. It must not have passed. */
function createLaterDate(now: () => number) {
  return z.pipe(
    z.pipe(
      z.transform(copyDate),
      z.custom<Date>((value) => isValidDate(value) && value.getTime() > now(), 'must be a Date that has not passed'),
    ),
    z.transform((date: Date) => date.getTime()),
  );
}

/** A context as JSON, or null if there is none. */
const context = z.pipe(
  z.unknown(),
  z.transform((value: unknown, at): string | null => {
    const text = toJson(value);
    const message =
      text === undefined
        ? 'must be JSON: a string, a finite number, a boolean, null, or a plain array or object that contains only such values'
        : encodeUtf8(text).length > maxContextBytes
          ? 'must have at most 16,384 bytes as JSON'
          : null;
    if (message !== null) at.issues.push({ code: 'custom', input: undefined, message });
    return text === undefined || text === 'null' ? null : text;
  }),
);

/** A job to track, after the check. */
export interface CheckedJob {
  readonly userId: string;
  readonly jobId: string;
  readonly context: string | null;
  readonly linkRefId: string | undefined;
  /** Milliseconds since the epoch. */
  readonly deadline: number | undefined;
}

const ids = { userId: id, jobId: id };
const jobRef = inputObject(ids);
const runner = z.custom<SqlRunner>((value) => hasMethods(value, 'query'), 'must have query()');
const trackOptions = inputObject({ db: z.optional(runner) });
const receiveOptions = inputObject({ maxBytes: z.optional(integer(1, maxBodyLimit)) });
const stopOptions = inputObject({ timeoutMs: z.optional(integer(0, maxTimerMs)) });
const workOptions = inputObject({
  handler: functionOf<(completion: never) => void | Promise<void>>(),
  forMs: integer(1, maxTimerMs),
  signal: z.optional(z.custom<AbortSignal>(isAbortSignal, 'must be an AbortSignal')),
});
const whatAKeyIs = 'must be the key of a completion';
const uuid = z.custom<string>(isKey, whatAKeyIs);
const letterOptions = inputObject({ limit: z.optional(integer(1, 10_000)), after: z.optional(uuid) });

/** Creates the checks of what is tracked. A deadline must be later than `now()`. */
export function createTrackInput(now: () => number) {
  const laterDate = createLaterDate(now);
  const jobToTrack = inputObject({
    ...ids,
    context,
    linkRefId: z.optional(z.custom<string>(isRefId, whatARefIdIs)),
    deadline: z.optional(laterDate),
  });
  const linkOptions = inputObject({ context, deadline: z.optional(laterDate), db: z.optional(runner) });
  return { readTrack, readLink };

  /** Checks the options of `track()`, and returns the functions that check its jobs, one after another. */
  function readTrack(given: unknown, options: unknown) {
    const isList = Array.isArray(given);
    const list: readonly unknown[] = isList ? [...given] : [given];
    if (list.length > maxJobs) fail([{ path: 'jobs', message: 'must have at most 100,000 jobs' }], 'track jobs');
    const issues: Issue[] = [];
    const beside = check(trackOptions, options ?? {});
    return {
      list,
      db: beside.data?.db,
      /** Returns null if the job is invalid. */
      readJob(job: unknown, at: number): CheckedJob | null {
        const checked = check(jobToTrack, job);
        issues.push(...checked.issues.map(({ path, message }) => ({ path: place(isList, at, path), message })));
        return (checked.data as CheckedJob | undefined) ?? null;
      },
      /** @throws {HostedValidationError} when a job or an option is invalid. */
      assertValid(): void {
        if (issues.length + beside.issues.length > 0) fail([...issues, ...beside.issues], 'track jobs');
      },
    };
  }

  /** Checks a link to track. */
  function readLink(refId: unknown, options: unknown) {
    const issues = isRefId(refId) ? [] : [{ path: 'refId', message: whatARefIdIs }];
    const checked = check(linkOptions, options ?? {});
    if (!isRefId(refId) || !checked.data) return fail([...issues, ...checked.issues], 'track a link');
    return { refId, ...checked.data };
  }
}

/** Returns a path such as `jobs[3].userId`. */
function place(isList: boolean, at: number, path: string): string {
  if (!isList) return path;
  return path === '' ? `jobs[${at}]` : `jobs[${at}].${path}`;
}

/** Checks the two ids of a job. */
export const readJobRef = (given: unknown) => read(jobRef, given, 'use the tracker');
/** Checks the options of `receive` and `handler`. */
export const readReceiveOptions = (given: unknown) => read(receiveOptions, given ?? {}, 'receive a callback');
/** Checks the options of `stop`. */
export const readStopOptions = (given: unknown) => read(stopOptions, given ?? {}, 'use the tracker');
/** Checks the options of `work`. */
export const readWorkOptions = (given: unknown) => read(workOptions, given, 'use the tracker');
/** Checks the options of `deadLetters`. */
export const readLetterOptions = (given: unknown) => read(letterOptions, given ?? {}, 'use the tracker');

/** Checks the argument of `retry()`. It is `'all'` or a list of keys of dead letters. */
export function readKeys(given: unknown): readonly string[] | 'all' {
  if (given === 'all') return 'all';
  if (!Array.isArray(given))
    return fail([{ path: 'keys', message: 'must be "all", or a list of keys' }], 'use the tracker');
  const keys: readonly unknown[] = [...given];
  const issues = keys.flatMap((key, at) => (isKey(key) ? [] : [{ path: `keys[${at}]`, message: whatAKeyIs }]));
  return issues.length > 0 ? fail(issues, 'use the tracker') : keys.filter(isKey);
}

function read<T>(schema: z.ZodMiniType<T>, given: unknown, task: string): T {
  const { data, issues } = check(schema, given);
  return data === undefined ? fail(issues, task) : data;
}

function fail(issues: readonly Issue[], task: string): never {
  throw new HostedValidationError(issues, { task });
}

/** Writes a value as JSON. Returns undefined if JSON would drop or change a part of the value. */
function toJson(value: unknown): string | undefined {
  if (value === undefined) return 'null';
  try {
    return isJson(value, 0) ? writeJson(value) : undefined;
  } catch {
    return undefined;
  }
}

/** How deeply a context may be nested. A response of the service has the same limit. */
const maxDepth = 64;

function isJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === 'boolean') return true;
  // PostgreSQL cannot store NUL, and UTF-8 has no unpaired surrogates.
  if (typeof value === 'string') return !/[\ud800-\udfff]|\0/u.test(value);
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth >= maxDepth) return false;
  // JSON would write null for a hole, which `every` leaves out.
  if (Array.isArray(value)) return [...value].every((entry) => isJson(entry, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  return Object.entries(value).every(([name, inner]) => isJson(name, 0) && isJson(inner, depth + 1));
}
