/**
 * Makes a folder the tracker's own: no other user of the machine may use it, and no other process. PGlite opens a
 * folder even if another process has it open, and then both processes lose data. The locked file is beside the folder.
 *
 * @module
 */

import { builtinModule } from '../runtime/builtin-module.js';
import { canLockFiles, lockFile } from '../runtime/file-lock.js';
import { type FileStatus, isOfAnotherUser, isOpenToOthers, narrow } from '../runtime/private-files.js';
import { quoteForShell } from '../runtime/shell.js';
import { HostedStorageError } from './storage-error.js';

/** The functions of Node's `fs` that are used. Bun has them too. */
interface Files {
  mkdirSync(path: string, options: { readonly recursive: true; readonly mode: number }): unknown;
  realpathSync(path: string): string;
  accessSync(path: string, mode: number): void;
  statSync(path: string): FileStatus;
  lstatSync(path: string, options: { readonly throwIfNoEntry: false }): FileStatus | undefined;
  readdirSync(path: string): readonly string[];
  readonly constants: Readonly<Record<'R_OK' | 'W_OK' | 'X_OK', number>>;
}

/** A folder that no one else uses. */
export interface LockedFolder {
  /** The path without links. */
  readonly path: string;
  unlock(): void;
}

/**
 * Creates the folder if it is missing, and locks it. If other users may use the folder, it is narrowed if it is empty,
 * and rejected otherwise.
 *
 * @throws {HostedStorageError} when another process, or another tracker of this process, uses the folder (`locked`), or
 *   when the folder cannot be used, or other users may use it (`unreachable`).
 */
export function lockFolder(folder: string): LockedFolder {
  const files = builtinModule('node:fs') as Files | null;
  if (files === null || !canLockFiles()) {
    throw createLockError(
      'locked',
      'this runtime cannot lock a folder: use "connectionString", or Node 22.13 or later, or Bun',
    );
  }
  const path = makeFolder(files, folder);
  assertOwn(files, path);
  const unlock = lock(files, path);
  try {
    makePrivate(files, path);
  } catch (error) {
    unlock();
    throw error;
  }
  return { path, unlock };
}

const unusable = 'the folder cannot be created or locked: the folder and its parent folder must be writable';

/** Creates the folder, and returns its path without links, so that every path to it leads to the same lock. */
function makeFolder(files: Files, folder: string): string {
  const { R_OK, W_OK, X_OK } = files.constants;
  try {
    files.mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = files.realpathSync(folder);
    files.accessSync(path, R_OK | W_OK | X_OK);
    return path;
  } catch (error) {
    throw createLockError('unreachable', unusable, error);
  }
}

function lock(files: Files, path: string): () => void {
  const file = `${path}.lock`;
  let locked: ReturnType<typeof lockFile>;
  try {
    const status = files.lstatSync(file, { throwIfNoEntry: false });
    // Another user could remove the file while it is locked. A second process would then lock a new file.
    locked = status !== undefined && isOfAnotherUser(status) ? 'foreign' : lockFile(file);
  } catch (error) {
    throw createLockError('unreachable', unusable, error);
  }
  if (typeof locked === 'function') return locked;
  if (locked === 'locked')
    throw createLockError(
      'locked',
      'another process, or another tracker of this process, uses the folder: only one tracker at a time may use it',
    );
  const what = `${quoteForShell(file)} is a link, a file of another user, or a file of something else`;
  throw createRefusal(`the folder cannot be locked, because ${what}: delete this file, or use another folder`);
}

/** Rejects a folder of another user, because a user can always use their own folders. */
function assertOwn(files: Files, path: string): void {
  if (!isOfAnotherUser(files.statSync(path))) return;
  throw createRefusal(`the folder belongs to another user of this machine: ${adviseSubfolder(path)}`);
}

/**
 * Narrows the folder if it is empty, and rejects it if other users may still use it. This is done under the lock, so
 * that no other process fills the folder in the meantime.
 */
function makePrivate(files: Files, path: string): void {
  const { mode } = files.statSync(path);
  const isEmpty = () => files.readdirSync(path).length === 0;
  if (!isOpenToOthers({ mode })) return;
  // It is asked a second time, because another user may have written into the folder before it was narrowed.
  if (isEmpty() && narrow(path, 0o700) && isEmpty()) return;
  const command = `chmod -R go-rwx ${quoteForShell(path)}`;
  throw createRefusal(
    `other users of this machine may use the folder, because its mode is ${(mode & 0o777).toString(8)}: narrow it, or, if its mount does not allow this, ${adviseSubfolder(path)}. The command that narrows it: ${command}`,
  );
}

function adviseSubfolder(path: string): string {
  return `use a subfolder, such as ${quoteForShell(`${path}/tracking`)}`;
}

function createLockError(reason: 'locked' | 'unreachable', why: string, cause?: unknown): HostedStorageError {
  return new HostedStorageError(reason, why, { task: 'create a tracker', ...(cause !== undefined && { cause }) });
}

/** The error of a folder that a later attempt would find as it is. */
function createRefusal(why: string): HostedStorageError {
  return new HostedStorageError('unreachable', why, { task: 'create a tracker', retryable: false });
}
