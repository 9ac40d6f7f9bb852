// Databases for the tests of tracking: PGlite always, and a PostgreSQL of our own where one is installed.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { PGlite } from '@electric-sql/pglite';
import type { SqlPool } from 'hosted-client/tracking';
import pg from 'pg';

export interface Database {
  readonly pool: SqlPool;
  /** Null of PGlite. */
  readonly connectionString: string | null;
  close(): Promise<void>;
}

/** A PGlite in memory that answers like a pool: whoever connects has it alone. */
export async function openLite(): Promise<Database> {
  const lite = new PGlite('memory://');
  await lite.waitReady;
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
                resolve({ query: run, release: () => release() });
              }),
          );
        }),
    },
    close: () => lite.close(),
  };
}

const versions = '/usr/lib/postgresql';
const version = existsSync(versions)
  ? readdirSync(versions)
      .filter((name) => existsSync(join(versions, name, 'bin/initdb')))
      .sort((a, b) => Number(b) - Number(a))[0]
  : undefined;

/** Where PostgreSQL's programs are; null where there are none. */
export const programs: string | null = version ? join(versions, version, 'bin') : null;

/** A PostgreSQL in a folder of its own, which can be restarted. */
export interface Cluster extends Database {
  readonly connectionString: string;
  restart(): void;
  stop(): void;
  start(): void;
}

/** Starts a PostgreSQL on loopback, as an ordinary user: it refuses to run as root. */
export async function startCluster(settings: readonly string[] = []): Promise<Cluster> {
  if (programs === null) throw new Error('no PostgreSQL is installed');
  const bin = programs;
  const isRoot = process.getuid?.() === 0;
  const folder = mkdtempSync(join(tmpdir(), 'tracking-'));
  const data = join(folder, 'data');
  if (isRoot) execFileSync('chown', ['postgres', folder]);
  const run = (program: string, ...given: string[]) => {
    const [file, args] = isRoot
      ? ['runuser', ['-u', 'postgres', '--', join(bin, program), ...given]]
      : [join(bin, program), given];
    execFileSync(file as string, args as string[], { stdio: 'ignore', cwd: folder });
  };
  const port = await freePort();
  run('initdb', '-A', 'trust', '-U', 'tracker', '-D', data, '--no-sync', '-E', 'UTF8', '--locale=C');
  const options = [
    `-p ${port}`,
    '-c listen_addresses=127.0.0.1',
    `-c unix_socket_directories=${folder}`,
    '-c fsync=off',
    ...settings,
  ].join(' ');
  const start = () => run('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-o', options, '-w', 'start');
  const stop = () => run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop');
  start();
  const connectionString = `postgresql://tracker@127.0.0.1:${port}/postgres`;
  const pool = new pg.Pool({ connectionString, max: 20 });
  pool.on('error', () => {});
  return {
    connectionString,
    pool,
    start,
    stop,
    restart() {
      run('pg_ctl', '-D', data, '-l', join(folder, 'log'), '-o', options, '-m', 'immediate', '-w', 'restart');
    },
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

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

/** Whether these tests must not be left out. */
export const isRequired = process.env.TRACKING_NEEDS_POSTGRESQL === '1';

/** The databases that tests run on. Where PostgreSQL has to be there, it is never left out. */
export const databases: readonly { readonly name: string; open(): Promise<Database> }[] = [
  { name: 'PGlite', open: openLite },
  ...(programs !== null || isRequired ? [{ name: 'PostgreSQL', open: startCluster }] : []),
];
