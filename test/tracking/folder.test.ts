// The folder of a tracker: who else may use it, and what is said when its files are damaged.

import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { PGlite } from '@electric-sql/pglite';
import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { createTracker } from 'hosted-client/tracking';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { lockFolder } from '../../src/tracking/places/folder-lock.js';
import { createWorld } from './world.ts';

const nobody = 65_534;

/** A folder that other users may enter, so that only what is made in it can keep them out. */
function makeParent(): string {
  const parent = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'tracked-')));
  fs.chmodSync(parent, 0o755);
  onTestFinished(() => fs.rmSync(parent, { recursive: true, force: true }));
  return parent;
}

/** A folder with this mode, and with a file in it unless it is to be empty. */
function makeFolder(mode: number, { name = 'jobs', isEmpty = false } = {}): string {
  const folder = join(makeParent(), name);
  fs.mkdirSync(folder);
  if (!isEmpty) fs.writeFileSync(join(folder, 'notes.txt'), 'of somebody');
  fs.chmodSync(folder, mode);
  return folder;
}

function open(folder: string) {
  const { client } = createWorld({ pool: {} } as never);
  return createTracker({ client, folder });
}

/** Does what `createTracker()` does before it opens PGlite, which takes seconds. */
function lockAndUnlock(folder: string): void {
  lockFolder(folder).unlock();
}

async function errorOf(folder: string): Promise<Error> {
  return open(folder).then(
    () => new Error('The tracker was created'),
    (error: Error) => error,
  );
}

function modeOf(path: string): string {
  return (fs.statSync(path).mode & 0o7777).toString(8);
}

function withUmask(umask: number): void {
  const before = process.umask(umask);
  onTestFinished(() => void process.umask(before));
}

/** What another user can do with these paths. */
function usableBy(uid: number, paths: readonly string[]): readonly string[] {
  const script = `for path; do
    [ -r "$path" ] && echo "read $path"
    [ -w "$path" ] && echo "write $path"
    [ -x "$path" ] && echo "enter $path"
  done
  cat -- "$@" 2>/dev/null | head -c 100`;
  const { stdout, status } = spawnSync('sh', ['-c', script, 'sh', ...paths], {
    uid,
    gid: uid,
    cwd: '/',
    encoding: 'utf8',
  });
  expect(status).not.toBeNull();
  return stdout.split('\n').filter((line) => line !== '');
}

function listAll(folder: string): readonly string[] {
  return [folder, ...fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))];
}

/** Replaces functions of `node:fs` until the test ends. */
function replaceInFs(functions: object): void {
  const getBuiltinModule = process.getBuiltinModule.bind(process);
  const replaced = { ...fs, ...functions };
  const spy = vi.spyOn(process, 'getBuiltinModule');
  spy.mockImplementation(((name: string) => (name === 'node:fs' ? replaced : getBuiltinModule(name))) as never);
  onTestFinished(() => spy.mockRestore());
}

describe('other users', { tags: ['posix'] }, () => {
  test.each(['022', '000', '077'])('find a new folder, its parents and its lock closed, with umask %s', (umask) => {
    withUmask(Number.parseInt(umask, 8));
    const parent = makeParent();
    const folder = join(parent, 'new', 'jobs');

    lockAndUnlock(folder);

    expect([join(parent, 'new'), folder].map(modeOf)).toEqual(['700', '700']);
    expect(modeOf(`${folder}.lock`)).toBe('600');
  });

  test('can read, write and list nothing of it, while it is used and after', { tags: ['root'] }, async () => {
    withUmask(0);
    const folder = join(makeParent(), 'jobs');
    const tracker = await open(folder);
    await tracker.track({ userId: 'user-1', jobId: 'job-1', context: 'planted' });
    const paths = [...listAll(folder), `${folder}.lock`];

    const whileUsed = usableBy(nobody, paths);
    await tracker.stop();

    expect(paths.length).toBeGreaterThan(900);
    expect(whileUsed).toEqual([]);
    expect(usableBy(nobody, [...listAll(folder), `${folder}.lock`])).toEqual([]);
    fs.chmodSync(folder, 0o755);
    expect(usableBy(nobody, listAll(folder)).length).toBeGreaterThan(900);
  });

  test.each(['777', '755', '2770', '701'])('can use an empty folder of mode %s no longer', (mode) => {
    const folder = makeFolder(Number.parseInt(mode, 8), { isEmpty: true });

    lockAndUnlock(folder);

    expect(modeOf(folder)).toBe('700');
  });

  test.each(['755', '770', '750', '701', '702', '777', '2750'])(
    'keep the tracker out of a folder with data that has mode %s',
    async (mode) => {
      const folder = makeFolder(Number.parseInt(mode, 8));

      const error = await errorOf(folder);

      expect(error).toMatchObject({ name: 'HostedStorageError', reason: 'unreachable', retryable: false });
      expect(error.message).toContain(`its mode is ${mode}`);
      expect(error.message).toContain(`use a subfolder, such as ${folder}/tracking`);
      expect([fs.readdirSync(folder), fs.existsSync(`${folder}.lock`)]).toEqual([['notes.txt'], false]);
      expect(modeOf(folder)).toBe(mode);
    },
  );

  test.each(['jobs', 'my jobs', "o'neill", '$(touch planted)', '-jobs', 'a\nb', 'a\u202eb', '`id`\\"\u001b[31m'])(
    'have to go by the command of the error for the folder %j',
    async (name) => {
      const folder = makeFolder(0o777, { name });
      fs.chmodSync(join(folder, 'notes.txt'), 0o666);

      const { message } = await errorOf(folder);
      execFileSync('bash', ['-c', /(chmod .*)$/.exec(message)?.[1] ?? 'false'], { cwd: '/' });

      expect(message).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      expect([folder, join(folder, 'notes.txt')].map(modeOf)).toEqual(['700', '600']);
      lockAndUnlock(folder);
    },
  );

  test('keep it out of a folder with the sticky bit, for which no command is given', async () => {
    const folder = makeFolder(0o1777);

    const { message } = await errorOf(folder);

    expect(message.endsWith(`its mode is 1777: use a subfolder, such as ${folder}/tracking`)).toBe(true);
  });

  test('keep it out of the root folder, for which no command is given', { tags: ['root'] }, async () => {
    const { message } = await errorOf('/');

    expect(message).toMatch(/its mode is \d+: use a subfolder, such as \/tracking$/);
    expect(fs.existsSync('/.lock')).toBe(false);
  });

  test('keep it out of an empty folder whose mount keeps no modes', async () => {
    const folder = makeFolder(0o777, { isEmpty: true });
    replaceInFs({ chmodSync: () => {} });

    const error = await errorOf(folder);

    expect(error).toMatchObject({ reason: 'unreachable', retryable: false });
    expect(error.message).toContain('or its mount keeps this mode, use a subfolder, such as');
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  test('keep it out of their own folders, and nothing is left there', { tags: ['root'] }, async () => {
    const folder = makeFolder(0o700, { isEmpty: true });
    fs.chownSync(folder, nobody, nobody);

    const error = await errorOf(folder);

    expect(error).toMatchObject({ reason: 'unreachable', retryable: false });
    expect(error.message).toContain('belongs to another user');
    expect([fs.readdirSync(folder), fs.existsSync(`${folder}.lock`)]).toEqual([[], false]);
  });

  test('find a lock closed that was open before', () => {
    const folder = join(makeParent(), 'jobs');
    fs.writeFileSync(`${folder}.lock`, '');
    fs.chmodSync(`${folder}.lock`, 0o666);

    lockAndUnlock(folder);

    expect(modeOf(`${folder}.lock`)).toBe('600');
  });

  test('cannot lead the lock to another file by a link', async () => {
    const folder = join(makeParent(), 'jobs');
    const target = join(makeParent(), 'target');
    fs.symlinkSync(target, `${folder}.lock`);

    const error = await errorOf(folder);

    expect(error).toMatchObject({ reason: 'unreachable', retryable: false });
    expect(error.message).toContain(`${folder}.lock is a link`);
    expect(fs.existsSync(target)).toBe(false);
  });

  test('cannot own the lock', { tags: ['root'] }, async () => {
    const folder = join(makeParent(), 'jobs');
    fs.writeFileSync(`${folder}.lock`, '');
    fs.chownSync(`${folder}.lock`, nobody, nobody);

    expect(await errorOf(folder)).toMatchObject({ reason: 'unreachable', retryable: false });
  });
});

test('a lock that is a file of something else is named, and not changed', async () => {
  const folder = join(makeParent(), 'jobs');
  fs.writeFileSync(`${folder}.lock`, '4711\n');

  const error = await errorOf(folder);

  expect(error).toMatchObject({ reason: 'unreachable', retryable: false });
  expect(error.message).toContain(`${folder}.lock`);
  expect(fs.readFileSync(`${folder}.lock`, 'utf8')).toBe('4711\n');
});

test('a folder has one lock by each of its paths', async () => {
  const folder = join(makeParent(), 'jobs');
  const link = join(makeParent(), 'link');
  fs.symlinkSync(folder, link);
  fs.mkdirSync(folder, { mode: 0o700 });
  const tracker = await open(link);
  onTestFinished(() => tracker.stop());

  expect(await errorOf(folder)).toMatchObject({ reason: 'locked' });
  expect(await errorOf(link)).toMatchObject({ reason: 'locked' });
});

test('a folder stays locked when the file beside it is deleted', () => {
  const folder = join(makeParent(), 'jobs');
  const { unlock } = lockFolder(folder);
  fs.rmSync(`${folder}.lock`);

  for (let attempt = 1; attempt <= 2; attempt++)
    expect(() => lockFolder(folder)).toThrow(expect.objectContaining({ reason: 'locked' }));

  const other = spawnSync(process.execPath, [...process.execArgv, '-e', lockByHand(folder)], { encoding: 'utf8' });
  expect(other.stdout).toBe('database is locked');
  unlock();
  lockAndUnlock(folder);
});

/** A program that takes the lock in the folder, as another process would. */
function lockByHand(folder: string): string {
  return `const { DatabaseSync } = require('node:sqlite');
    try {
      new DatabaseSync(${JSON.stringify(join(folder, 'hosted-client.lock'))}).exec('BEGIN EXCLUSIVE');
    } catch (error) {
      process.stdout.write(error.message);
    }`;
}

test('a folder that was rejected is not locked', async () => {
  const folder = makeFolder(0o755);
  await errorOf(folder);
  fs.chmodSync(folder, 0o700);

  lockAndUnlock(folder);
});

describe('damaged files', () => {
  const parent = fs.mkdtempSync(join(tmpdir(), 'tracked-'));
  const whole = join(parent, 'whole');
  let table = '';

  beforeAll(async () => {
    const service = createMockService();
    const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
    const tracker = await createTracker({ client, folder: whole });
    await tracker.track(
      Array.from({ length: 100 }, (_, at) => ({ userId: `user-${at}`, jobId: `planted-${at}`, context: 'planted' })),
    );
    await tracker.stop();
    const lite = new PGlite(whole);
    const { rows } = await lite.query<{ path: string }>(
      "select pg_relation_filepath('hosted_tracking.tracked') as path",
    );
    table = rows[0]?.path ?? '';
    await lite.close();
  });

  afterAll(() => fs.rmSync(parent, { recursive: true, force: true }));

  /** A copy of the folder, in which a file is cut, or removed. */
  function copyWith(file: string, bytes: number | null): string {
    const folder = join(makeParent(), 'jobs');
    fs.cpSync(whole, folder, { recursive: true });
    fs.chmodSync(folder, 0o700);
    if (bytes === null) fs.rmSync(join(folder, file));
    else fs.truncateSync(join(folder, file), bytes);
    return folder;
  }

  function expectDamage(error: unknown): void {
    expect(error).toMatchObject({ name: 'HostedStorageError', reason: 'unreachable', retryable: false });
    const { message } = error as Error;
    expect(message).toContain('files of the database are damaged, cut, missing or unreadable');
    expect(message).toContain('restore the database, or the folder, from a backup');
    expect(message).toContain('delete the folder, and track again the jobs that your own tables have');
    expect(JSON.stringify(error)).not.toContain('planted');
  }

  const wal = 'pg_wal/000000010000000000000001';

  test.each([
    [wal, 0],
    [wal, 1_000_000],
    [wal, null],
    ['global/pg_control', 0],
    ['global/pg_control', 100],
    ['global/pg_control', null],
    ['PG_VERSION', 0],
    // PGlite would create an empty database over the tables.
    ['PG_VERSION', null],
    ['pg_xact/0000', 0],
  ] as const)('createTracker() rejects with what to do where %s has %s bytes', async (file, bytes) => {
    const folder = copyWith(file, bytes);

    expectDamage(await errorOf(folder));

    fs.cpSync(join(whole, file), join(folder, file));
    const tracker = await open(folder);
    expect(await tracker.stats()).toMatchObject({ tracking: 100 });
    await tracker.stop();
  });

  test.each([0, 8_192])(
    'a table of %s bytes is an error that says what to do, at the latest when it is read',
    async (bytes) => {
      const folder = copyWith(table, bytes);
      const tracker = await open(folder);
      onTestFinished(() => tracker.stop());

      expectDamage(await tracker.get({ userId: 'user-99', jobId: 'planted-99' }).catch((error: unknown) => error));
    },
  );

  test('a folder of another major version is named with both, and is not damaged', async () => {
    const folder = copyWith('PG_VERSION', 0);
    fs.writeFileSync(join(folder, 'PG_VERSION'), '16\n');

    const error = await errorOf(folder);

    expect(error).toMatchObject({ reason: 'unreachable', retryable: false });
    const [major] = fs.readFileSync(join(whole, 'PG_VERSION'), 'utf8').split('\n');
    expect(error.message).toContain(`is of PostgreSQL 16, and the installed PGlite is PostgreSQL ${major}`);
    expect(error.message).not.toContain('delete');
  });

  test('a full disk is not taken for damage', async () => {
    const folder = copyWith(wal, 0);
    replaceInFs({ statfsSync: () => ({ bavail: 100, bsize: 4_096 }) });

    const error = await errorOf(folder);

    expect(error).toMatchObject({ reason: 'unreachable', retryable: true });
    expect(error.message).toContain('its disk is full: free at least 100 MB');
  });
});
