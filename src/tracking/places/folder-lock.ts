/**
 * Makes a folder the tracker's own: no other user of the machine may use it, and no other process. PGlite opens a
 * folder even if another process has it open, and then both processes lose data. A file beside the folder is locked
 * before anything is changed in the folder, and then a file in it, so that the lock holds if the file beside it is deleted.
 *
 * @module
 */

import { canLockFiles, lockFile } from '../../local/file-lock.js';
import { type FileStatus, isOfAnotherUser, isOpenToOthers, narrow } from '../../local/private-files.js';
import { quoteForShell } from '../../local/shell.js';
import { builtinModule } from '../../runtime/builtin-module.js';
import { HostedStorageError } from '../storage-error.js';

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

/**
 * Creates the folder if it is missing, and locks it. If other users may use the folder, it is narrowed if it is empty,
 * and rejected otherwise.
 *
 * @returns The path without links, and the function that unlocks the folder.
 * @throws {HostedStorageError} when another process, or another tracker of this process, uses the folder (`locked`), or
 *   when the folder cannot be used, or other users may use it (`unreachable`).
 */
export function lockFolder(folder: string) {
  const files = builtinModule('node:fs') as Files | null;
  if (files === null || !canLockFiles()) {
    throw new HostedStorageError(
      'locked',
      'this runtime cannot lock a folder: use "connectionString", or Node 22.13 or later, or Bun',
    );
  }
  const path = makeFolder(files, folder);
  // This comes before the lock, so that nothing is left beside a folder that is rejected.
  assertUsable(files, path);
  const unlockBeside = lock(files, `${path}.lock`);
  try {
    makePrivate(files, path);
    const unlockInside = lock(files, `${path}/hosted-client.lock`);
    return {
      path,
      unlock(): void {
        unlockInside();
        unlockBeside();
      },
    };
  } catch (error) {
    unlockBeside();
    throw error;
  }
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
    throw new HostedStorageError('unreachable', unusable, { cause: error });
  }
}

function lock(files: Files, file: string): () => void {
  let locked: ReturnType<typeof lockFile>;
  try {
    const status = files.lstatSync(file, { throwIfNoEntry: false });
    // Another user could remove the file while it is locked. A second process would then lock a new file.
    locked = status !== undefined && isOfAnotherUser(status) ? 'foreign' : lockFile(file);
  } catch (error) {
    throw new HostedStorageError('unreachable', unusable, { cause: error });
  }
  if (typeof locked === 'function') return locked;
  if (locked === 'locked')
    throw new HostedStorageError(
      'locked',
      'another process, or another tracker of this process, uses the folder: only one tracker at a time may use it',
    );
  const what = `${quoteForShell(file)} is a link, a file of another user, or a file of something else`;
  throw createRejection(`the folder cannot be locked, because ${what}: delete this file, or use another folder`);
}

/** Rejects a folder of another user, who can always use it, and a folder with files that other users may use. */
function assertUsable(files: Files, path: string): void {
  // Another process may be about to narrow and fill an empty folder, so the mode is read after the files.
  const empty = isEmpty(files, path);
  const status = files.statSync(path);
  if (isOfAnotherUser(status)) {
    throw createRejection(`the folder belongs to another user of this machine: ${adviseSubfolder(path)}`);
  }
  if (isOpenToOthers(status) && !empty) throw createOpenError(files, path);
}

/** Narrows an empty folder. This is done under the lock, so that no other process fills the folder in the meantime. */
function makePrivate(files: Files, path: string): void {
  if (!isOpenToOthers(files.statSync(path))) return;
  // Another user may have written into the folder before it was narrowed.
  if (narrow(path, 0o700) && isEmpty(files, path)) return;
  throw createOpenError(files, path);
}

function isEmpty(files: Files, path: string): boolean {
  return files.readdirSync(path).length === 0;
}

function createOpenError(files: Files, path: string): HostedStorageError {
  const { mode } = files.statSync(path);
  const why = `other users of this machine may use the folder, because its mode is ${(mode & 0o7777).toString(8)}`;
  // The root folder, and a folder with the sticky bit (such as /tmp), are there for all users.
  if (path === '/' || (mode & 0o1000) !== 0) return createRejection(`${why}: ${adviseSubfolder(path)}`);
  const command = `chmod -R go-rwx ${quoteForShell(path)}`;
  return createRejection(
    `${why}. If it has other files, or its mount keeps this mode, ${adviseSubfolder(path)}. Otherwise narrow it: ${command}`,
  );
}

function adviseSubfolder(path: string): string {
  return `use a subfolder, such as ${quoteForShell(`${path.replace(/\/$/, '')}/tracking`)}`;
}

/** The error of a folder that a later attempt would find as it is. */
function createRejection(why: string): HostedStorageError {
  return new HostedStorageError('unreachable', why, { retryable: false });
}
