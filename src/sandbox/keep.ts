/**
 * Keeps a sandbox's state in a folder: written shortly after each change, into a new file that then takes the place
 * of the old one, so that a process that is killed leaves one or the other whole. One sandbox holds a folder.
 *
 * @module
 */

import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createConfigError } from './options.js';

/** How long after a change the state is written, in ms: with the writing, within half a second. */
const writeAfterMs = 200;

/** The folders that sandboxes of this process hold. */
const heldHere = new Set<string>();

export interface Keeper {
  /** What was kept; null where nothing was. */
  readonly kept: string | null;
  /** Sets a state aside that cannot be used, and returns its new path. */
  setAside(): string;
  /** Has the state written soon. */
  changed(): void;
  /** Writes the state, and gives the folder free. */
  close(): Promise<void>;
  /** Gives the folder free, and writes nothing. */
  release(): void;
}

/**
 * Takes a folder, and reads what is kept in it. `write` gives the state to be written.
 *
 * @throws {HostedConfigError} when another sandbox holds the folder, or it cannot be used.
 */
export function openFolder(folder: string, write: () => string): Keeper {
  const path = makeFolder(resolve(folder));
  const file = join(path, 'sandbox.json');
  const lock = join(path, 'sandbox.lock');
  takeLock(path, lock);
  heldHere.add(path);
  let timer: NodeJS.Timeout | null = null;
  let writing: Promise<void> = Promise.resolve();

  async function writeState(): Promise<void> {
    const next = `${file}.next`;
    try {
      await writeFile(next, write(), { mode: 0o600 });
      await rename(next, file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      process.emitWarning(`The sandbox could not write its state into ${file} (${code})`, 'HostedSandboxWarning');
    }
  }

  function flush(): void {
    timer = null;
    writing = writing.then(writeState);
  }

  return {
    kept: readKept(file, lock, path),
    setAside() {
      const aside = `${file}.unreadable-${Date.now()}`;
      renameSync(file, aside);
      return aside;
    },
    changed() {
      timer ??= setTimeout(flush, writeAfterMs);
    },
    async close() {
      if (timer !== null) clearTimeout(timer);
      flush();
      await writing;
      release(path, lock);
    },
    release() {
      if (timer !== null) clearTimeout(timer);
      release(path, lock);
    },
  };
}

function release(path: string, lock: string): void {
  heldHere.delete(path);
  rmSync(lock, { force: true });
}

function readKept(file: string, lock: string, path: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    release(path, lock);
    throw createFolderError(path, error);
  }
}

/** Its real path: a folder that has two names is one folder. */
function makeFolder(path: string): string {
  try {
    mkdirSync(path, { recursive: true });
    return realpathSync(path);
  } catch (error) {
    throw createFolderError(path, error);
  }
}

function takeLock(path: string, lock: string): void {
  try {
    if (isHeld(path, lock)) throw createConfigError({ path: 'folder', message: heldMessage(path, lock) });
    rmSync(lock, { force: true });
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw createConfigError({ path: 'folder', message: heldMessage(path, lock) });
    throw code === 'config' ? error : createFolderError(path, error);
  }
}

function heldMessage(path: string, lock: string): string {
  return `must be a folder that no other sandbox holds: stop the one of ${path}, or, if there is none, delete ${lock}`;
}

/** Whether the process that wrote the lock is there. The id of a process that was killed may be our own now. */
function isHeld(path: string, lock: string): boolean {
  if (heldHere.has(path)) return true;
  const pid = readLock(lock);
  if (pid === null || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Null where there is no lock, or none of ours. */
function readLock(lock: string): number | null {
  try {
    const pid = Number(readFileSync(lock, 'utf8'));
    return Number.isSafeInteger(pid) && pid > 0 ? pid : null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function createFolderError(path: string, error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  const message = `must be a folder that can be read and written: ${path} is not (${code})`;
  return createConfigError({ path: 'folder', message });
}
