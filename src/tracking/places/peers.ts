/**
 * The packages that tracking needs. The user installs these packages, and each one is loaded when it is needed. If a
 * package is missing, the error says how to install it. The types here describe the used parts of each package, so that
 * the package's own types need not be installed.
 *
 * @module
 */

import { loadErrorOf } from '../../runtime/lazy.js';
import { HostedStorageError } from '../storage-error.js';
import type { SqlPool } from '../types.js';

/** The methods of PGlite that are used. */
export interface Lite {
  readonly waitReady: Promise<void>;
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  transaction<T>(work: (inside: Pick<Lite, 'query'>) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The methods of a `pg` pool that are used. */
export interface OwnPool extends SqlPool {
  on(event: 'error', listener: (error: unknown) => void): unknown;
  end(): Promise<void>;
}

/** The exports of PGlite that are used. */
export interface LiteModule {
  readonly PGlite: new (folder: string) => Lite;
}

/** Loads `pg`. */
export async function loadPg(): Promise<{ readonly Pool: new (options: object) => OwnPool }> {
  try {
    // Inside `try`, bundlers tolerate that the package is not installed.
    const loaded = (await import('pg' as string)) as { readonly default: object };
    // `pg` is CommonJS, and some runtimes do not find its named exports.
    return loaded.default as { readonly Pool: new (options: object) => OwnPool };
  } catch (error) {
    throw createMissingError('pg', error);
  }
}

/** Loads PGlite. */
export async function loadLite(): Promise<LiteModule> {
  const name = '@electric-sql/pglite';
  try {
    return await importUnbundled(name);
  } catch (error) {
    throw createMissingError(name, error);
  }
}

/** Imports a package that bundlers must not find by its name, because it reads files that lie beside its code. */
function importUnbundled(name: string): Promise<LiteModule> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name);
}

function createMissingError(name: string, cause: unknown): HostedStorageError {
  const error = loadErrorOf(cause);
  const isMissing = error.endsWith('MODULE_NOT_FOUND');
  const what = isMissing ? 'is not installed' : `could not be loaded (${error})`;
  const why = `the package "${name}" ${what}: ${isMissing ? `npm install ${name}` : 'leave it out of bundles'}`;
  return new HostedStorageError('peer_missing', why, { cause });
}
