/**
 * A lock on a file. It is a lock of the operating system, so it ends with the process, even if the process is killed.
 * SQLite takes the lock, in the same way on every platform. Nothing is ever written to the file.
 *
 * @module
 */

import { builtinModule } from './builtin-module.js';

interface SqliteDatabase {
  exec(sql: string): void;
  close(): void;
}

type OpenDatabase = new (file: string) => SqliteDatabase;

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
 * Locks a file. A missing file is created.
 *
 * @returns A function that unlocks the file. Null if the lock is already held by another process, or by other code in
 * this process.
 * @throws the platform's error when the file cannot be created or opened.
 */
export function lockFile(file: string): (() => void) | null {
  const Database = findSqlite();
  if (Database === null) throw new Error('This platform cannot lock files');
  const database = new Database(file);
  try {
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (/database is locked|SQLITE_BUSY/i.test(String(error))) return null;
    throw error;
  }
  let isLocked = true;
  return () => {
    if (isLocked) database.close();
    isLocked = false;
  };
}
