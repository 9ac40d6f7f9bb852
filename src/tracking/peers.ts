/**
 * The packages that tracking needs. The user installs these packages, and each one is loaded when it is needed. If a
 * package is missing, the error says how to install it. The types here describe the used parts of each package, so that
 * the package's own types need not be installed.
 *
 * @module
 */

import { HostedStorageError } from './storage-error.js';
import type { SqlPool } from './types.js';

/** Runs the statements of pg-boss. */
export interface BossDatabase {
  /** Runs a statement. With a pool, it may take `limitMs`. pg-boss does not pass this parameter. */
  executeSql(text: string, values?: unknown[], limitMs?: number): Promise<{ rows: unknown[] }>;
}

/** A message that pg-boss returns. */
export interface BossMessage {
  readonly id: string;
  /** An object with the key of a completion, unless another program has sent the message. */
  readonly data: unknown;
  readonly retryCount: number;
}

type Within = { readonly db?: BossDatabase };
type Attempt = Pick<BossMessage, 'id' | 'retryCount'>;

/** The methods of pg-boss that are used. */
export interface Boss {
  start(): Promise<unknown>;
  stop(options: { readonly graceful: boolean; readonly close: boolean; readonly timeout?: number }): Promise<void>;
  on(event: 'error' | 'warning', listener: (error: unknown) => void): unknown;
  /** Gives the messages of dead workers to other workers. */
  supervise(name: string): Promise<void>;
  getQueue(name: string): Promise<object | null>;
  createQueue(name: string, options: object): Promise<void>;
  updateQueue(name: string, options: object): Promise<void>;
  insert(
    name: string,
    messages: readonly { readonly id: string; readonly data: object }[],
    within: Within,
  ): Promise<unknown>;
  fetch(
    name: string,
    options: Within & { readonly batchSize: number; readonly includeMetadata: true },
  ): Promise<readonly BossMessage[]>;
  complete(name: string, messages: readonly Attempt[], data: null, within: Within): Promise<unknown>;
  fail(name: string, messages: readonly Attempt[], data: null, within: Within): Promise<unknown>;
  /** Changes a message that no process has. `startAfter` is in seconds. */
  update(
    name: string,
    data: undefined,
    options: Within & { readonly id: string; readonly startAfter: number },
  ): Promise<unknown>;
}

/** The methods of a queue of messages: those of pg-boss, and one of the queue in memory. */
export interface Queue extends Pick<Boss, 'insert' | 'fetch' | 'complete' | 'fail' | 'update' | 'stop'> {
  /**
   * Returns in how many ms a message can be fetched: 0 or less if one is due, `Infinity` if there is none. pg-boss has no
   * such method, because only a look at its queue shows this.
   */
  nextMs?(): number;
}

/** The methods of PGlite that are used. */
export interface Lite {
  readonly waitReady: Promise<void>;
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  exec(text: string): Promise<{ rows: unknown[] }[]>;
  transaction<T>(work: (inside: Pick<Lite, 'query' | 'exec'>) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** The methods of a `pg` pool that are used. */
export interface OwnPool extends SqlPool {
  on(event: 'error', listener: (error: unknown) => void): unknown;
  end(): Promise<void>;
}

/** The exports of pg-boss that are used. */
export interface BossModule {
  readonly PgBoss: new (options: object) => Boss;
  readonly fromPglite: (lite: Lite) => BossDatabase;
  /** Returns the SQL that creates the tables. */
  readonly getConstructionPlans: (schema: string) => string;
  /** Returns the SQL that leads from an older version of the tables to this one. */
  readonly getMigrationPlans: (schema: string, version: number) => string;
}

/** The exports of PGlite that are used. */
export interface LiteModule {
  readonly PGlite: new (folder: string) => Lite;
}

/** Loads pg-boss. */
export async function loadBoss(): Promise<BossModule> {
  return (await load('pg-boss', () => import('pg-boss' as string))) as BossModule;
}

/** Loads `pg`. */
export async function loadPg(): Promise<{ readonly Pool: new (options: object) => OwnPool }> {
  const loaded = (await load('pg', () => import('pg' as string))) as { readonly default: object };
  // `pg` is CommonJS, and some runtimes do not find its named exports.
  return loaded.default as { readonly Pool: new (options: object) => OwnPool };
}

/** Loads PGlite. */
export async function loadLite(): Promise<LiteModule> {
  return (await load('@electric-sql/pglite', () => import('@electric-sql/pglite' as string))) as LiteModule;
}

/** The version of pg-boss to install: package.json allows only versions on which this package was tested. */
const testedBoss = 'pg-boss@12.38.0';

async function load(name: string, importPeer: () => Promise<unknown>): Promise<unknown> {
  try {
    return await importPeer();
  } catch (error) {
    const why = `the package "${name}" is not installed, or cannot be loaded: npm install ${name === 'pg-boss' ? testedBoss : name}`;
    throw new HostedStorageError('peer_missing', why, { cause: error });
  }
}
