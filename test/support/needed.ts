// What some tests need of a machine, and where it is. Without it they are skipped, unless a variable demands it, as in
// `.ci/run`.

import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';

const { env, platform } = process;
const first = (paths: readonly string[]) => paths.find((path) => existsSync(path)) ?? null;

const versions = '/usr/lib/postgresql';
const [latest] = existsSync(versions)
  ? readdirSync(versions)
      .filter((name) => existsSync(join(versions, name, 'bin/initdb')))
      .sort((a, b) => Number(b) - Number(a))
  : [];

/** Where PostgreSQL's programs are; null where there are none. */
export const postgresqlPrograms: string | null = latest ? join(versions, latest, 'bin') : null;

const folders = [...(env.PATH ?? '').split(delimiter), '/usr/sbin'];

/** Redis's server; null where there is none. */
export const redisProgram: string | null = first(folders.map((folder) => join(folder, 'redis-server')));

/** PgBouncer; null where there is none. */
export const pgbouncerProgram: string | null = first(folders.map((folder) => join(folder, 'pgbouncer')));

const chromiums = ['/usr/bin/chromium', '/usr/bin/google-chrome'];

/** A Chromium; null where there is none. */
export const chromium: string | null = env.CHROMIUM || first(chromiums);

/** The folder of public vectors; null where VECTORS_DIR names none. */
export const vectors: string | null = env.VECTORS_DIR && existsSync(env.VECTORS_DIR) ? env.VECTORS_DIR : null;

/** The tags of tests that need something: what is missing, if anything is, is the reason why they are skipped. */
export const needed: readonly { readonly name: string; readonly missing: string | null }[] = [
  {
    name: 'postgresql',
    missing: postgresqlPrograms || env.TRACKING_NEEDS_POSTGRESQL ? null : `no PostgreSQL in ${versions}`,
  },
  { name: 'redis', missing: redisProgram || env.RECIPES_NEED_REDIS ? null : 'no redis-server in PATH' },
  {
    name: 'pgbouncer',
    missing: pgbouncerProgram || env.TRACKING_NEEDS_PGBOUNCER ? null : 'no pgbouncer in PATH or /usr/sbin',
  },
  {
    name: 'chromium',
    missing:
      chromium || env.PAGES_NEED_CHROMIUM ? null : `no Chromium at ${chromiums.join(' or ')}, and none in CHROMIUM`,
  },
  { name: 'vectors', missing: vectors ? null : 'no folder of public vectors in VECTORS_DIR' },
  { name: 'root', missing: process.getuid?.() === 0 ? null : 'not run by root' },
  { name: 'posix', missing: platform === 'win32' ? 'no users of POSIX on Windows' : null },
  { name: 'dev-full', missing: existsSync('/dev/full') ? null : 'no /dev/full' },
];
