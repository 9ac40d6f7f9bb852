/**
 * The lock on a folder. PGlite opens a folder that another process has open, and both then lose data. The file that is
 * locked lies beside the folder.
 *
 * @module
 */

import { builtinModule } from '../runtime/builtin-module.js';
import { canLockFiles, lockFile } from '../runtime/file-lock.js';
import { HostedStorageError } from './storage-error.js';

/** Parts of Node's `fs` that are used; Bun has them too. */
interface Files {
  mkdirSync(path: string, options: { readonly recursive: true }): unknown;
  realpathSync(path: string): string;
}

/**
 * Makes the folder where it is missing, and locks it.
 *
 * @returns What unlocks it.
 * @throws {HostedStorageError} when another process, or another tracker of this one, has it (`locked`).
 */
export function lockFolder(folder: string): () => void {
  const files = builtinModule('node:fs') as Files | null;
  if (files === null || !canLockFiles()) {
    throw createLockError(
      'locked',
      'a folder can be locked under Node 22.13 and later and Bun alone: use "connectionString"',
    );
  }
  let unlock: (() => void) | null;
  try {
    files.mkdirSync(folder, { recursive: true });
    // Two spellings of one folder are one folder.
    unlock = lockFile(`${files.realpathSync(folder)}.lock`);
  } catch (error) {
    const why = 'the folder cannot be made or locked: it must be writable, and so must the folder that it is in';
    throw createLockError('unreachable', why, error);
  }
  if (unlock === null) throw createLockError('locked', 'another process has the folder: one at a time may use it');
  return unlock;
}

function createLockError(reason: 'locked' | 'unreachable', why: string, cause?: unknown): HostedStorageError {
  return new HostedStorageError(reason, why, { task: 'create a tracker', ...(cause !== undefined && { cause }) });
}
