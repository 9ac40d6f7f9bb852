/**
 * A lock on a file. It is a lock of the operating system, so it ends with the process, even if the process is killed.
 * SQLite takes the lock, in the same way on every platform. Nothing is ever written to the file.
 *
 * @module
 */

import { builtinModule } from '../runtime/builtin-module.js';
import { type FileStatus, isOpenToOthers, narrow } from './private-files.js';

interface SqliteDatabase {
  exec(sql: string): void;
  close(): void;
}

type OpenDatabase = new (file: string) => SqliteDatabase;

/** The functions of Node's `fs` that are used. Bun has them too. */
interface Files {
  openSync(path: string, flags: 'wx', mode: number): number;
  closeSync(file: number): void;
  lstatSync(path: string): FileStatus & { isFile(): boolean };
}

/** SQLite of Node 22.13 and later, or of Bun; null on other platforms. */
function findSqlite(): OpenDatabase | null {
  const node = builtinModule('node:sqlite') as { readonly DatabaseSync: OpenDatabase } | null;
  if (node !== null) return node.DatabaseSync;
  const bun = builtinModule('bun:sqlite') as { readonly Database: OpenDatabase } | null;
  return bun === null ? null : bun.Database;
}

/** Whether this platform can lock files: Node 22.13 and later, and Bun. */
export function canLockFiles(): boolean {
  return findSqlite() !== null;
}

/**
 * Locks a file. A missing file is created, and no other user may use it. A file that other users may use is narrowed.
 *
 * @returns A function that unlocks the file. `locked` if the lock is already held by another process, or by other code
 * in this process. `foreign` if the path has something else than a lock, for example a link, which is not followed.
 * @throws the platform's error when the file cannot be created or opened.
 */
export function lockFile(file: string): (() => void) | 'locked' | 'foreign' {
  const Database = findSqlite();
  const files = builtinModule('node:fs') as Files | null;
  if (Database === null || files === null) throw new Error('This platform cannot lock files');
  const created = createFile(files, file);
  if (created === null && !isUsable(files, file)) return 'foreign';
  const database = new Database(file);
  try {
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    // `created` stays open. When a process closes a file, it loses all its locks on this file, and another thread of
    // this process may have just taken one.
    database.close();
    if (/database is locked|SQLITE_BUSY/i.test(String(error))) return 'locked';
    if (/not a database/i.test(String(error))) return 'foreign';
    throw error;
  }
  let isLocked = true;
  return () => {
    if (!isLocked) return;
    isLocked = false;
    if (created !== null) files.closeSync(created);
    database.close();
  };
}

/** Creates the file, and returns its descriptor; null if the path exists. A link is not followed. */
function createFile(files: Files, file: string): number | null {
  try {
    return files.openSync(file, 'wx', 0o600);
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'EEXIST') return null;
    throw error;
  }
}

// The file is not opened here, because closing it would end a lock that this process has on it.
function isUsable(files: Files, file: string): boolean {
  const status = files.lstatSync(file);
  if (!status.isFile()) return false;
  // If the file cannot be narrowed, other users could hold the lock, but they find no data in the file.
  if (isOpenToOthers(status)) narrow(file, 0o600);
  return true;
}
