/**
 * The lock on a folder. PGlite opens a folder even if another process has it open, and then both processes lose data.
 * The locked file is beside the folder.
 *
 * @module
 */

import { builtinModule } from '../runtime/builtin-module.js';
import { canLockFiles, lockFile } from '../runtime/file-lock.js';
import { HostedStorageError } from './storage-error.js';

/** The functions of Node's `fs` that are used. Bun has them too. */
interface Files {
  mkdirSync(path: string, options: { readonly recursive: true }): unknown;
  realpathSync(path: string): string;
}

/**
 * Creates the folder if it is missing, and locks it.
 *
 * @returns A function that unlocks the folder.
 * @throws {HostedStorageError} when another process, or another tracker of this process, uses the folder (`locked`).
 */
export function lockFolder(folder: string): () => void {
  const files = builtinModule('node:fs') as Files | null;
  if (files === null || !canLockFiles()) {
    throw createLockError(
      'locked',
      'this runtime cannot lock a folder: use "connectionString", or Node 22.13 or later, or Bun',
    );
  }
  let unlock: (() => void) | null;
  try {
    files.mkdirSync(folder, { recursive: true });
    // A folder can have several paths. All of them must lead to the same lock.
    unlock = lockFile(`${files.realpathSync(folder)}.lock`);
  } catch (error) {
    const why = 'the folder cannot be created or locked: the folder and its parent folder must be writable';
    throw createLockError('unreachable', why, error);
  }
  if (unlock === null)
    throw createLockError(
      'locked',
      'another process, or another tracker of this process, uses the folder: only one tracker at a time may use it',
    );
  return unlock;
}

function createLockError(reason: 'locked' | 'unreachable', why: string, cause?: unknown): HostedStorageError {
  return new HostedStorageError(reason, why, { task: 'create a tracker', ...(cause !== undefined && { cause }) });
}
