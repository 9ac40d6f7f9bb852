/**
 * The error of a tracker's database.
 *
 * @module
 */

import { HostedConfigError } from '../errors/client-errors.js';
import { HostedError, nameClass } from '../errors/hosted-error.js';

interface Given {
  readonly task?: string;
  readonly cause?: unknown;
  readonly retryable?: boolean;
}

/** What fails, until the operation that the caller has called names itself: see `runTask`. */
const anyTask = 'use the tracker';

/**
 * The database of a tracker cannot be used. `reason` says why:
 * - `unreachable`: the database does not respond, or it responds with an error. `cause.code` is the SQLSTATE or the
 *   code of the connection error. `retryable` is false if a later attempt would fail, too: the role or its password was
 *   refused, the database does not exist, or its encoding is neither UTF8 nor SQL_ASCII. For a folder: its files are
 *   damaged, other users of the machine may use it, or another major version of PGlite created it.
 * - `locked`: another process, or another tracker of this process, uses the folder.
 * - `not_migrated`: tables of the tracker are missing, belong to an older version, or may not be created or changed by
 *   this role; or the table `fleet` was emptied, or row level security hides rows from this role.
 * - `newer`: the tables belong to a newer version of this package.
 * - `peer_missing`: a package is not installed.
 */
export class HostedStorageError extends HostedError {
  readonly code = 'storage';
  /** The reason why the database cannot be used. */
  readonly reason: 'unreachable' | 'locked' | 'not_migrated' | 'newer' | 'peer_missing';

  /** @internal */
  constructor(reason: HostedStorageError['reason'], why: string, given: Given = {}) {
    const code = codeOf(given.cause);
    const cause = code === null ? undefined : { cause: Object.assign(new Error(code), { code }) };
    const retryable = given.retryable ?? reason === 'unreachable';
    super(why, { task: given.task ?? anyTask, retryable }, cause);
    this.reason = reason;
  }
}

nameClass(HostedStorageError, 'HostedStorageError');

/**
 * Returns the `code` of a driver's error, or null if it does not look like a code. The driver's message is not used,
 * because it can contain values of a row.
 */
export function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  const { code, errors } = error as { readonly code?: unknown; readonly errors?: unknown };
  // Node tries every IP address of a host. If all of them fail, Node throws an AggregateError.
  if (typeof code !== 'string') return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : null;
  return /^[A-Z0-9_]{2,40}$/.test(code) ? code : null;
}

/** SQLSTATEs for a table, schema, column or function that does not exist. */
const absent: ReadonlySet<string> = new Set(['42P01', '3F000', '42703', '42883']);

/** SQLSTATEs of a database that refuses every connection of this role. */
const refusals: ReadonlyMap<string, string> = new Map([
  ['28P01', 'the database refused the role or its password'],
  ['28000', 'the database refused the role'],
  ['3D000', 'the database does not exist'],
]);

/** SQLSTATEs for a file that is damaged, cut or missing. */
const damaged: ReadonlySet<string> = new Set(['XX001', 'XX002', '58P01']);

/** Creates the error of a database whose files are damaged. */
export function createDamageError(given: Given): HostedStorageError {
  const why =
    'files of the database are damaged, cut, missing or unreadable, for example after a full disk, or in a copy that was made while the database was in use: restore the database, or the folder, from a backup; if there is none, delete the folder, and track again the jobs that your own tables have';
  return new HostedStorageError('unreachable', why, { ...given, retryable: false });
}

/** Runs an operation of the caller. Its errors name `task`, unless the options are wrong. */
export async function runTask<T>(task: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof HostedConfigError) throw thrown;
    const { reason, message, cause, retryable } = toStorageError(thrown);
    throw new HostedStorageError(reason, message.replace(`Cannot ${anyTask}: `, ''), { task, cause, retryable });
  }
}

/** Turns a driver's error into an error that contains no values of a row. */
export function toStorageError(error: unknown): HostedStorageError {
  if (error instanceof HostedStorageError) return error;
  const given = { cause: error };
  const code = codeOf(error) ?? '';
  if (absent.has(code)) {
    const why = `its tables are missing (${code}): create the tracker with "migrate" set to true`;
    return new HostedStorageError('not_migrated', why, given);
  }
  if (damaged.has(code)) return createDamageError(given);
  const refusal = refusals.get(code);
  if (refusal) return new HostedStorageError('unreachable', `${refusal} (${code})`, { ...given, retryable: false });
  const orError = code === '' ? '' : `, or responded with an error (${code})`;
  return new HostedStorageError('unreachable', `the database did not respond${orError}`, given);
}
