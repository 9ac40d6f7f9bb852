/**
 * The error of a tracker's database.
 *
 * @module
 */

import { HostedError, nameClass, type Task } from '../errors/hosted-error.js';

/**
 * The database of a tracker cannot be used: it does not answer, or answers with an error (`unreachable`; `cause.code`
 * has the SQLSTATE or the name of the connection's error); another process has the folder (`locked`); its tables are
 * missing or older (`not_migrated`), or those of a newer version (`newer`); a package is not installed (`peer_missing`).
 */
export class HostedStorageError extends HostedError {
  static {
    nameClass(HostedStorageError, 'HostedStorageError');
  }
  readonly code = 'storage';
  /** Why it cannot be used. */
  readonly reason: 'unreachable' | 'locked' | 'not_migrated' | 'newer' | 'peer_missing';

  /** @internal */
  constructor(
    reason: HostedStorageError['reason'],
    why: string,
    given: { readonly task?: Task; readonly cause?: unknown } = {},
  ) {
    const code = codeOf(given.cause);
    const cause = code === null ? undefined : { cause: Object.assign(new Error(code), { code }) };
    super(why, { task: given.task ?? 'use the tracker', retryable: reason === 'unreachable' }, cause);
    this.reason = reason;
  }

  /** Adds `reason` to what every error shows. */
  override toJSON(): object {
    return { ...super.toJSON(), reason: this.reason };
  }
}

/** The code of an error of a driver, where it looks like one: a driver's message can have values of a row. */
export function codeOf(error: unknown): string | null {
  if (typeof error !== 'object' || error === null) return null;
  const { code, errors } = error as { readonly code?: unknown; readonly errors?: unknown };
  // Node tries every address of a host, and throws an AggregateError.
  if (typeof code !== 'string') return Array.isArray(errors) && errors.length > 0 ? codeOf(errors[0]) : null;
  return /^[A-Z0-9_]{2,40}$/.test(code) ? code : null;
}

/** SQLSTATEs of a table, schema, column or function that is not there. */
const absent: ReadonlySet<string> = new Set(['42P01', '3F000', '42703', '42883']);

/** Turns what a driver threw into an error that shows nothing of a row. */
export function toStorageError(error: unknown, task?: Task): HostedStorageError {
  if (error instanceof HostedStorageError) return error;
  const given = { cause: error, ...(task && { task }) };
  const code = codeOf(error);
  if (code !== null && absent.has(code)) {
    return new HostedStorageError('not_migrated', `its tables are not there (${code}): start it with "migrate"`, given);
  }
  const why =
    code === null ? 'the database did not answer' : `the database did not answer, or answered with an error (${code})`;
  return new HostedStorageError('unreachable', why, given);
}
