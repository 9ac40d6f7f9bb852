// Databases for the tests of tracking: PGlite always, and a PostgreSQL of our own where one is installed.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { PGlite } from '@electric-sql/pglite';
import type { SqlPool } from 'hosted-client/tracking';
import pg from 'pg';
import { postgresqlPrograms } from '../support/needed.ts';
import { makeOnce, takeNumber } from '../support/shared-by-a-run.ts';
import { freePort } from '../support/terminal.ts';

export interface Database {
  readonly pool: SqlPool;
  /** Null of PGlite. */
  readonly connectionString: string | null;
  close(): Promise<void>;
}

/** A PGlite in memory that answers like a pool: whoever connects has it alone. The tests of one run share its first start. */
export async function openLite(): Promise<Database> {
  // A first start takes three seconds, one from a snapshot a third of a second.
  const snapshot = await makeOnce('pglite', async () => {
    const first = await PGlite.create('memory://');
    const data = await first.dumpDataDir('none');
    await first.close();
    return new Uint8Array(await data.arrayBuffer());
  });
  return toDatabase(await PGlite.create('memory://', snapshot ? { loadDataDir: new Blob([snapshot]) } : {}));
}

function toDatabase(lite: PGlite): Database {
  let last: Promise<unknown> = Promise.resolve();
  const run = async (text: string, values?: unknown[]) => {
    if (values?.length) return { rows: (await lite.query(text, values)).rows };
    return { rows: (await lite.exec(text)).flatMap(({ rows }) => rows) };
  };
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
  return {
    connectionString: null,
    pool: {
      query: (text, values) =>
        alone(async () => {
          try {
            return await run(text, values);
          } catch (error) {
            await lite.exec('rollback');
            throw error;
          }
        }),
      connect: () =>
        new Promise((resolve) => {
          void alone(
            () =>
              new Promise<void>((release) => {
                // A connection that is destroyed takes its transaction with it.
                const end = (destroy?: boolean) =>
                  void (destroy ? lite.exec('rollback') : Promise.resolve()).then(() => release());
                resolve({ query: run, release: end });
              }),
          );
        }),
    },
    close: () => lite.close(),
  };
}

/** Where PostgreSQL's programs are; null where there are none. */
export const programs = postgresqlPrograms;

/** A PostgreSQL in a folder of its own, which can be restarted. */
export interface Cluster extends Database {
  readonly connectionString: string;
  readonly folder: string;
  restart(): void;
  stop(): void;
  start(): void;
}

/** Runs one of PostgreSQL's programs, as an ordinary user: it refuses to run as root. */
function runProgram(folder: string, program: string, ...given: string[]): void {
  if (programs === null) throw new Error('no PostgreSQL is installed');
  const [file, args] = isRoot
    ? ['runuser', ['-u', 'postgres', '--', join(programs, program), ...given]]
    : [join(programs, program), given];
  execFileSync(file as string, args as string[], { stdio: 'ignore', cwd: folder });
}

const isRoot = process.getuid?.() === 0;

function stopCluster(folder: string): void {
  runProgram(folder, 'pg_ctl', '-D', join(folder, 'data'), '-m', 'immediate', '-w', 'stop');
}

/** Starts a PostgreSQL on loopback. */
export async function startCluster(settings: readonly string[] = []): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'tracking-'));
  const data = join(folder, 'data');
  if (isRoot) execFileSync('chown', ['postgres', folder]);
  const run = runProgram.bind(null, folder);
  const port = await freePort();
  run('initdb', '-A', 'trust', '-U', 'tracker', '-D', data, '--no-sync', '-E', 'UTF8', '--locale=C');
  const options = [
    `-p ${port}`,
    '-c listen_addresses=127.0.0.1',
    `-c unix_socket_directories=${folder}`,
    '-c fsync=off',
    ...settings,
  ].join(' ');
  const control = (...given: string[]) =>
    run('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-o', options, '-w', ...given);
  const stop = () => stopCluster(folder);
  control('start');
  const connectionString = `postgresql://tracker@127.0.0.1:${port}/postgres`;
  const pool = createPool(connectionString);
  return {
    connectionString,
    folder,
    pool,
    start: () => control('start'),
    stop,
    restart: () => control('-m', 'immediate', 'restart'),
    async close() {
      await pool.end();
      try {
        stop();
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

function createPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 20, connectionTimeoutMillis: 20_000 });
  pool.on('error', () => {});
  return pool;
}

/** A database of its own, in the PostgreSQL that the tests of one run share. */
export async function openDatabase(): Promise<Database & { readonly connectionString: string }> {
  const shared = await makeOnce('postgresql', async () => {
    const { connectionString, folder, pool } = await startCluster();
    await (pool as pg.Pool).end();
    return Buffer.from(JSON.stringify({ connectionString, folder }));
  });
  if (shared === null) return startCluster();
  const { connectionString } = JSON.parse(Buffer.from(shared).toString()) as { readonly connectionString: string };
  const name = `tests_${takeNumber('database')}`;
  const server = createPool(connectionString);
  await server.query(`create database ${name}`);
  await server.end();
  const own = connectionString.replace(/postgres$/, name);
  const pool = createPool(own);
  return { connectionString: own, pool, close: () => pool.end() };
}

/** Stops the PostgreSQL that the tests of a run shared, where one of them started it. */
export function closeShared(sharedFolder: string): void {
  const file = join(sharedFolder, 'postgresql');
  if (!existsSync(file)) return;
  const { folder } = JSON.parse(readFileSync(file, 'utf8')) as { readonly folder: string };
  try {
    stopCluster(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether these tests must not be left out. */
export const isRequired = process.env.TRACKING_NEEDS_POSTGRESQL === '1';

/** The databases that tests run on. */
export const databases: readonly {
  readonly name: 'PGlite' | 'PostgreSQL';
  /** What the tests on it need. */
  readonly tags: string[];
  open(): Promise<Database>;
}[] = [
  { name: 'PGlite', tags: [], open: openLite },
  { name: 'PostgreSQL', tags: ['postgresql'], open: openDatabase },
];
