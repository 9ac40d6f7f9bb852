/**
 * Keeps a sandbox's state in a folder. Shortly after each change, the state is written into a new file, and the new
 * file then replaces the old file. So one of the two files is complete even if the process is killed. Only one sandbox
 * can use a folder.
 *
 * @module
 */

import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { HostedConfigError } from '../errors/client-errors.js';
import { canLockFiles, lockFile } from '../local/file-lock.js';
import { isOpenToOthers, narrow } from '../local/private-files.js';
import { quoteForShell } from '../local/shell.js';
import { type KeptState, readKeptState } from './kept-state.js';
import { createConfigError } from './options.js';

/** The delay, in ms, between a change and the writing of the state. A change is on disk in less than half a second. */
const writeAfterMs = 200;

export type Keeper = ReturnType<typeof createKeeper>;

/**
 * Locks a folder, and reads the state in it.
 *
 * @throws {HostedConfigError} when another sandbox uses the folder, or the folder cannot be used.
 */
export function openFolder(folder: string): Keeper {
  let unlock = () => {};
  try {
    const path = makeFolder(resolve(folder));
    unlock = lockFolder(path, folder);
    narrowFiles(path);
    const file = join(path, 'sandbox.json');
    return createKeeper(file, readKept(file), unlock);
  } catch (error) {
    unlock();
    throw error instanceof HostedConfigError ? error : createFolderError(error);
  }
}

function createKeeper(file: string, kept: KeptState | null, unlock: () => void) {
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();
  let isHeld = true;

  async function save(write: () => string): Promise<void> {
    const next = `${file}.next`;
    try {
      // Something else can be there, for example a link to another file. A link is removed, and never followed.
      await rm(next, { force: true });
      await writeFile(next, write(), { flag: 'wx', mode: 0o600 });
      await rename(next, file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      await rm(next, { force: true }).catch(() => undefined);
      warn(`The sandbox could not write its state into ${file} (${code})`);
    }
  }

  function flush(write: () => string): void {
    timer = null;
    writing = writing.then(() => save(write));
  }

  return {
    /** The saved state; null if the folder had no state that can be read. */
    kept,
    /** Schedules the writing of the state that `write` returns then. */
    changed(write: () => string): void {
      if (isHeld) timer ??= setTimeout(flush, writeAfterMs, write);
    },
    /** Writes the state, and unlocks the folder. */
    async close(write: () => string): Promise<void> {
      if (!isHeld) return;
      isHeld = false;
      if (timer !== null) clearTimeout(timer);
      flush(write);
      await writing;
      unlock();
    },
    /** Unlocks the folder of a sandbox that has not started. */
    release: unlock,
  };
}

/** Reads a saved state. A file that has none is renamed. */
function readKept(file: string): KeptState | null {
  const status = lstatSync(file, { throwIfNoEntry: false });
  if (status === undefined) return null;
  // A link, or anything else than a file, is as unreadable as a state that was changed.
  const state = status.isFile() ? readKeptState(readFileSync(file, 'utf8')) : null;
  if (state !== null) return state;
  const aside = `${file}.unreadable-${Date.now()}`;
  renameSync(file, aside);
  warn(
    `The sandbox cannot use the state in its folder, because it was changed or another version wrote it: it starts empty, and has renamed the file to ${aside}`,
  );
  return null;
}

/**
 * Creates the folder, and returns its real path. So different paths to one folder (for example symbolic links) lead to
 * the same lock. No other user may use a folder that is new or empty.
 */
function makeFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  accessSync(path, constants.R_OK | constants.W_OK);
  if (readdirSync(path).length === 0) narrow(path, 0o700);
  return realpathSync(path);
}

/**
 * Narrows the sandbox's files, so that other users cannot use them, and warns if they could before. The folder can have
 * other files too, so its mode is not changed.
 */
function narrowFiles(path: string): void {
  const folder = statSync(path);
  const files = readdirSync(path)
    .filter((name) => name.startsWith('sandbox.json'))
    .map((name) => join(path, name));
  for (const file of files) {
    const status = lstatSync(file);
    if (!status.isFile() || !isOpenToOthers(status)) continue;
    const how = narrow(file, 0o600) ? 'it is narrowed now' : `narrow it: chmod go-rwx ${quoteForShell(file)}`;
    // A user who may not enter the folder could not use the file.
    if (isOpenToOthers(folder, 0o011)) warn(`Other users of this machine could use the state in ${file}: ${how}`);
  }
  if (isOpenToOthers(folder, 0o022)) {
    const how = `chmod go-w ${quoteForShell(path)}`;
    warn(`Other users of this machine can replace the files of the sandbox in ${path}: ${how}`);
  }
}

function warn(message: string): void {
  process.emitWarning(message, 'HostedSandboxWarning');
}

/** Locks the folder. The lock ends with the process, even if the process is killed. Errors name the folder as `given`. */
function lockFolder(path: string, given: string): () => void {
  if (!canLockFiles()) throw createProblem('must be left out: this version of Node cannot lock a folder');
  const locked = lockFile(join(path, 'sandbox.lock'));
  if (typeof locked === 'function') return locked;
  throw createProblem(
    locked === 'foreign'
      ? `must be a folder of a sandbox: delete the file "sandbox.lock" in ${given}, because it is not the lock of a sandbox`
      : `must be a folder that no other sandbox uses: stop the sandbox that uses ${given}, or choose another folder`,
  );
}

function createProblem(message: string): HostedConfigError {
  return createConfigError({ path: 'folder', message });
}

// The path is not shown, because a value that is no folder may be anything, even a key.
function createFolderError(error: unknown): Error {
  return createProblem(`must be a folder that can be read and written (${(error as NodeJS.ErrnoException).code})`);
}
