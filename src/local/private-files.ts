/**
 * Tells whether other users of the machine can use a file or a folder. On Windows, owner and mode of a file do not say
 * this, so every file counts as private there.
 *
 * @module
 */

import { builtinModule } from '../runtime/builtin-module.js';

/** The part of a file's status that is used. */
export interface FileStatus {
  readonly mode: number;
  readonly uid: number;
}

/** The functions of Node's `fs` that are used. Bun has them too. */
interface Files {
  statSync(path: string): FileStatus;
  chmodSync(path: string, mode: number): void;
}

/** Whether a file belongs to a user other than the process's user and root. */
export function isOfAnotherUser({ uid }: FileStatus): boolean {
  const user = findUser();
  return user !== null && uid !== user && uid !== 0;
}

/** Whether the mode of a file lets other users read it, write it or enter it, or do what `bits` stand for. */
export function isOpenToOthers({ mode }: Pick<FileStatus, 'mode'>, bits = 0o077): boolean {
  return findUser() !== null && (mode & bits) !== 0;
}

/**
 * Changes the mode of a file or a folder, so that other users cannot use it.
 *
 * @returns Whether this succeeded. Only the owner can change the mode, and on some mounts nobody can.
 */
export function narrow(path: string, mode: 0o600 | 0o700): boolean {
  const files = builtinModule('node:fs') as Files;
  try {
    files.chmodSync(path, mode);
  } catch {
    // The status below says whether other users can still use the file.
  }
  return !isOpenToOthers(files.statSync(path));
}

/** The id of the process's user; null on Windows. */
function findUser(): number | null {
  const { process } = globalThis as { readonly process?: { readonly geteuid?: () => number } };
  return process?.geteuid?.() ?? null;
}
