/**
 * Opens PGlite in a folder. If PGlite fails, its error says nothing, so the error that is thrown here says what to do.
 *
 * @module
 */

import { builtinModule } from '../../runtime/builtin-module.js';
import { codeOf, createDamageError, HostedStorageError, toStorageError } from '../storage-error.js';
import type { Lite, LiteModule } from './peers.js';

/** The functions of Node's `fs` that are used. Bun has them too. */
interface Files {
  existsSync(path: string): boolean;
  readFileSync(path: string, encoding: 'utf8'): string;
  readdirSync(path: string, options: { readonly recursive: true }): readonly string[];
  statfsSync(path: string): { readonly bavail: number; readonly bsize: number };
}

/** PGlite fails if it cannot create a file of 16 MiB. */
const neededBytes = 20 * 1024 * 1024;

/**
 * Opens PGlite in a locked folder.
 *
 * @throws {HostedStorageError} when files in the folder are damaged, or its disk is full.
 */
export async function openLite({ PGlite }: LiteModule, path: string): Promise<Lite> {
  const files = builtinModule('node:fs') as Files;
  const isNew = !files.existsSync(`${path}/PG_VERSION`);
  if (!isNew) assertMajor(files, path);
  if (isNew && hasTables(files, path)) throw createDamageError({});
  try {
    const lite = new PGlite(path);
    await lite.waitReady;
    return lite;
  } catch (error) {
    if (isFull(files, path)) {
      const why = 'PGlite cannot open the folder, because its disk is full: free at least 100 MB';
      throw new HostedStorageError('unreachable', why);
    }
    // If memory is missing, the error is a RangeError.
    if (isNew || codeOf(error) !== null || error instanceof RangeError) throw toStorageError(error);
    throw createDamageError({ cause: error });
  }
}

/** The major version of PostgreSQL in the versions of PGlite that the package allows. */
const liteMajor = '18';

/**
 * Checks the version of a folder: PGlite cannot open those of other major versions.
 *
 * @throws {HostedStorageError} when the version is another one.
 */
function assertMajor(files: Files, path: string): void {
  const major = files.readFileSync(`${path}/PG_VERSION`, 'utf8').trim();
  if (major === liteMajor || !/^\d+$/.test(major)) return;
  const why = `the folder is of PostgreSQL ${major}, and the installed PGlite is PostgreSQL ${liteMajor}: install the version of PGlite that created the folder, or move its jobs to a new folder`;
  throw new HostedStorageError('unreachable', why, { retryable: false });
}

/**
 * Whether the folder has tables of users, whose files have numbers from 16384. Without `PG_VERSION`, PGlite would
 * create an empty database over them.
 */
function hasTables(files: Files, path: string): boolean {
  if (!files.existsSync(`${path}/base`)) return false;
  const names = files.readdirSync(`${path}/base`, { recursive: true });
  return names.some((name) => Number(name.split(/[/\\]/).slice(1).at(-1)) >= 16_384);
}

function isFull(files: Files, path: string): boolean {
  try {
    const { bavail, bsize } = files.statfsSync(path);
    return bavail * bsize < neededBytes;
  } catch {
    return false;
  }
}
