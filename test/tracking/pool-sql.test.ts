// A pool whose connections hang, as after a failover that closes none of them. Time is given.

import { EventEmitter } from 'node:events';
import type { SqlPool } from 'hosted-client/tracking';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createPoolSql } from '../../src/tracking/places/pool-sql.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const mark = '/* hosted-client */ ';
/** The statement that ends those that nobody waits for any more. */
const isCleanUp = (text: string) => text.startsWith('select pg_terminate_backend');

/** A pool that behaves as `pg` does: who finds no connection waits for one. What `hangs` never answers. */
function createHangingPool(max = 10) {
  const waiting: (() => void)[] = [];
  const state = {
    hangs: (_text: string): boolean => false,
    open: 0,
    destroyed: 0,
    /** Connections that were given back while a statement ran. */
    dirty: 0,
    texts: [] as string[],
  };
  const pool: SqlPool = {
    query: () => Promise.reject(new Error('a statement of a connection that nobody can destroy')),
    connect: () =>
      new Promise((resolve) => {
        const take = (): void => {
          state.open += 1;
          let running = 0;
          resolve({
            query(marked) {
              expect(marked.startsWith(mark)).toBe(true);
              const text = marked.slice(mark.length);
              state.texts.push(text);
              if (!state.hangs(text)) return Promise.resolve({ rows: [{ text }] });
              running += 1;
              return new Promise(() => {});
            },
            release(destroy = false) {
              state.open -= 1;
              if (destroy) state.destroyed += 1;
              else if (running > 0) state.dirty += 1;
              waiting.shift()?.();
            },
          });
        };
        if (state.hangs('connect')) return;
        if (state.open < max) take();
        else waiting.push(take);
      }),
  };
  return { pool, state };
}

const late = { name: 'HostedStorageError', reason: 'unreachable', retryable: true };

/** What a promise settles with; null until then. */
function watch(promise: Promise<unknown>) {
  const seen: { error: unknown; isSettled: boolean } = { error: null, isSettled: false };
  promise.then(
    () => {
      seen.isSettled = true;
    },
    (error: unknown) => {
      Object.assign(seen, { isSettled: true, error });
    },
  );
  return seen;
}

test.each(['begin', 'update', 'commit', 'rollback'])(
  'a transaction whose "%s" hangs rejects after ten seconds, and its connection is destroyed',
  async (word) => {
    const { pool, state } = createHangingPool();
    state.hangs = (text) => text.startsWith(word);
    const work = createPoolSql(pool).transaction(async (inside) => {
      await inside.run('update a', ['value']);
      if (word === 'rollback') throw Object.assign(new Error('why'), { code: '23505' });
    });
    const seen = watch(work);

    await vi.advanceTimersByTimeAsync(9_990);
    expect(seen.isSettled).toBe(false);
    await vi.advanceTimersByTimeAsync(20);

    expect(seen.error).toMatchObject(word === 'rollback' ? { cause: { code: '23505' } } : late);
    expect(state).toMatchObject({ open: 0, destroyed: 1, dirty: 0 });
    expect(state.texts.at(-1)).toMatch(new RegExp(`^${word}`));
  },
);

test('a statement that hangs rejects after ten seconds, and a long one after thirty', async () => {
  const { pool, state } = createHangingPool();
  state.hangs = () => false;
  const sql = createPoolSql(pool);
  expect(await sql.run('select 1', [1])).toEqual([{ text: 'select 1' }]);
  state.hangs = (text) => text !== 'connect';

  const short = [watch(sql.run('select 2')), watch(sql.run('select 3', [1]))];
  const long = [watch(sql.run('select 4', [], 30_000)), watch(sql.run('select 5', [], 30_000))];
  await vi.advanceTimersByTimeAsync(10_000);

  expect(short).toMatchObject([{ error: late }, { error: late }]);
  expect(long).toMatchObject([{ isSettled: false }, { isSettled: false }]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(long).toMatchObject([{ error: late }, { error: late }]);
  expect(state).toMatchObject({ open: 0, destroyed: 4, dirty: 0 });
  expect(state.texts.filter(isCleanUp)).toEqual([]);

  // The server may still run what was abandoned.
  state.hangs = () => false;
  await sql.run('select 6');
  await sql.run('select 7');
  const texts = state.texts.map((text) => (isCleanUp(text) ? 'clean up' : text));
  expect(texts.slice(-3)).toEqual(['clean up', 'select 6', 'select 7']);
});

test('after fifty statements that hung, a pool of ten works', async () => {
  const { pool, state } = createHangingPool(10);
  const sql = createPoolSql(pool);
  state.hangs = (text) => text !== 'connect';
  const all = Array.from({ length: 50 }, (_, n) =>
    watch(n % 2 === 0 ? sql.run('select 1') : sql.transaction((inside) => inside.run('select 1'))),
  );

  await vi.advanceTimersByTimeAsync(60_000);

  expect(all.every(({ error }) => error !== null)).toBe(true);
  expect(state).toMatchObject({ open: 0, dirty: 0 });
  state.hangs = () => false;
  expect(await sql.run('select 1')).toHaveLength(1);
  expect(await sql.transaction((inside) => inside.run('select 2'))).toHaveLength(1);
});

test('a pool that gives no connection is an error after ten seconds, and one that comes later goes back', async () => {
  const { pool, state } = createHangingPool(1);
  const sql = createPoolSql(pool);
  const other = await pool.connect();
  const statement = watch(sql.run('select 1'));
  const transaction = watch(sql.transaction((inside) => inside.run('select 2')));

  await vi.advanceTimersByTimeAsync(10_000);

  expect([statement.error, transaction.error]).toMatchObject([late, late]);
  other.release();
  await vi.advanceTimersByTimeAsync(0);
  expect(state).toMatchObject({ open: 0, destroyed: 0, texts: [] });
  expect(await sql.run('select 3')).toHaveLength(1);
});

test('close() waits for what runs, and destroys what hangs', async () => {
  const { pool, state } = createHangingPool();
  const sql = createPoolSql(pool);
  state.hangs = (text) => text === 'hang' || text === 'commit';
  const hung = [watch(sql.run('hang')), watch(sql.transaction((inside) => inside.run('select 1')))];
  const closing = watch(sql.close());

  await vi.advanceTimersByTimeAsync(1_400);
  expect([...hung, closing]).toMatchObject([{ isSettled: false }, { isSettled: false }, { isSettled: false }]);
  await vi.advanceTimersByTimeAsync(100);

  expect(hung).toMatchObject([{ error: late }, { error: late }]);
  expect(closing.isSettled).toBe(true);
  expect(state).toMatchObject({ open: 0, destroyed: 2, dirty: 0 });
});

test('close() ends a transaction that is between two statements', async () => {
  const { pool, state } = createHangingPool();
  const sql = createPoolSql(pool);
  const seen = watch(
    sql.transaction(async (inside) => {
      await inside.run('select 1');
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      state.hangs = () => true;
      await inside.run('select 2');
    }),
  );
  await vi.advanceTimersByTimeAsync(0);
  const closing = watch(sql.close());

  await vi.advanceTimersByTimeAsync(2_000);

  expect(seen.error).toMatchObject(late);
  expect(closing.isSettled).toBe(true);
  expect(state).toMatchObject({ open: 0, destroyed: 1 });
});

test('the begin of a transaction bounds it, in one round trip', async () => {
  const { pool, state } = createHangingPool();

  await createPoolSql(pool).transaction((inside) => inside.run('update a'));

  expect(state.texts).toEqual([
    "begin isolation level read committed; set local idle_in_transaction_session_timeout = '10000ms'",
    'update a',
    'commit',
  ]);
});

test('a connection that was destroyed may still report an error', async () => {
  const connection = Object.assign(new EventEmitter(), {
    query: (_text: string) => Promise.reject(new Error('terminating connection')),
    release: (_destroy?: boolean) => undefined,
  });
  const { run } = createPoolSql({ query: connection.query, connect: async () => connection });

  await expect(run('select 1')).rejects.toMatchObject({ reason: 'unreachable' });

  // Without a listener, this would throw, and end the process.
  expect(connection.emit('error', new Error('terminating connection'))).toBe(true);
});
