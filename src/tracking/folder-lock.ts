/**
 * The lock on a folder. PGlite opens a folder that another process has open, and both then lose data. It is a lock of
 * the operating system, which ends with the process, however that ends: SQLite takes one on a file beside the folder,
 * on every platform, and nothing is ever written to that file.
 *
 * @module
 */

import { HostedStorageError } from './storage-error.js';

interface SqliteDatabase {
  exec(sql: string): void;
  close(): void;
}

/** Parts of Node that are used; Bun has them too. */
interface BuiltIns {
  'node:sqlite': { readonly DatabaseSync: new (file: string) => SqliteDatabase };
  'bun:sqlite': { readonly Database: new (file: string) => SqliteDatabase };
  'node:fs': {
    mkdirSync(path: string, options: { readonly recursive: true }): unknown;
    realpathSync(path: string): string;
  };
}

function builtIn<Name extends keyof BuiltIns>(name: Name): BuiltIns[Name] | undefined {
  const { process } = globalThis as unknown as {
    readonly process?: { readonly getBuiltinModule?: (name: string) => unknown };
  };
  try {
    return process?.getBuiltinModule?.(name) as BuiltIns[Name] | undefined;
  } catch {
    return undefined;
  }
}

/**
 * Makes the folder where it is missing, and locks it.
 *
 * @returns What unlocks it.
 * @throws {HostedStorageError} when another process, or another tracker of this one, has it (`locked`).
 */
export function lockFolder(folder: string): () => void {
  const task = 'create a tracker';
  const fs = builtIn('node:fs');
  const sqlite = builtIn('node:sqlite');
  const bun = sqlite ? undefined : builtIn('bun:sqlite');
  if (!fs || !(sqlite || bun)) {
    const why = 'a folder can be locked under Node 22.13 and later and Bun alone: use "connectionString"';
    throw new HostedStorageError('locked', why, { task });
  }
  let database: SqliteDatabase | undefined;
  try {
    fs.mkdirSync(folder, { recursive: true });
    // Two spellings of one folder are one folder.
    const file = `${fs.realpathSync(folder)}.lock`;
    database = sqlite ? new sqlite.DatabaseSync(file) : bun && new bun.Database(file);
    database?.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    const isBusy = /database is locked|SQLITE_BUSY/i.test(String(error));
    const why = isBusy
      ? 'another process has the folder: one at a time may use it'
      : 'the folder cannot be made or locked: it must be writable, and so must the folder that it is in';
    throw new HostedStorageError(isBusy ? 'locked' : 'unreachable', why, { task, cause: error });
  }
  return () => database?.close();
}
