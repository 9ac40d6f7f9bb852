/**
 * Runs statements and transactions with a pool of `pg`. Every statement has a limit of time, whoever made the pool,
 * because the machine of the database can fail without closing its connections.
 *
 * @module
 */

import { createPlatformClock } from '../../runtime/clock.js';
import { hasMethods } from '../../runtime/untrusted-objects.js';
import { longStatementMs, mark, type Row, type Sql, statementMs } from '../sql.js';
import { codeOf, HostedStorageError, toStorageError } from '../storage-error.js';
import type { SqlPool, SqlRunner } from '../types.js';

/** How long, in ms, `close()` waits for running statements. */
const closeMs = 1_500;

/** Ends the connections of this role whose statement is one of a tracker, and has taken longer than `ms`. */
const endOlder = (ms: number, which: string) => `select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and usename = current_user and query like '${mark}%' and ${which}
  and query_start < clock_timestamp() - interval '${ms + 5_000} milliseconds'`;

/**
 * Ends statements that wait for a lock although no process waits for them any more. PostgreSQL does not notice that the
 * connection of such a statement was closed. While a table is locked for minutes, more and more of them would otherwise
 * wait, until the database accepts no further connection.
 */
export const endAbandoned = endOlder(longStatementMs, "wait_event_type = 'Lock'");

/**
 * Ends connections of trackers, and of callers who passed a transaction, whose machine vanished in the middle of a
 * statement: the server waits for the rest of its messages, and keeps its locks until TCP gives up, two hours later.
 */
export const endSilent = endOlder(statementMs, "state = 'active' and wait_event = 'ClientRead'");

/**
 * How long, in ms, the server keeps a transaction open in which no statement runs. A process can vanish while it changes
 * the tables. Without this limit, the server would keep the locks of the transaction for hours.
 */
const idleMs = 10_000;

/** Begins a transaction in one round trip. `set local` ends with the transaction, so it works through PgBouncer. */
const begin = `begin isolation level read committed; set local idle_in_transaction_session_timeout = '${idleMs}ms'`;

/**
 * SQLSTATEs of transactions that failed because of another transaction. Such a transaction can succeed when it is tried
 * again.
 */
const conflicts: ReadonlySet<string | null> = new Set(['40001', '40P01']);
const maxTries = 20;

/**
 * Runs `work` again if it failed because of another transaction. One cause is a deadlock. Another cause is a row that
 * another transaction has changed. The second cause occurs only if the default isolation level of the database or role
 * is repeatable read or serializable.
 */
async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const code = codeOf(error instanceof HostedStorageError ? error.cause : error);
      if (!conflicts.has(code) || tries === maxTries) throw error;
      await createPlatformClock().sleep(Math.random() * 5 * tries);
    }
  }
}

type PoolConnection = Awaited<ReturnType<SqlPool['connect']>>;
type SqlResult = Awaited<ReturnType<SqlRunner['query']>>;

/** Runs statements and transactions with a pool. */
export function createPoolSql(pool: SqlPool) {
  ignoreBreakingAtOnce(pool);
  const throwStorageError = (error: unknown): never => {
    throw toStorageError(error);
  };
  const aborts = new Set<() => void>();
  const running = new Set<Promise<unknown>>();
  let isAborting = false;
  /** Whether a statement was abandoned, and `endAbandoned` has not run since. */
  let hasAbandoned = false;

  /** Resolves or rejects as `work` does. But if `work` takes longer than `limitMs`, calls `onLate` and rejects. */
  function limit<T>(work: Promise<T>, limitMs: number, onLate = () => {}): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => fail(`the database did not respond within ${limitMs / 1_000} seconds`), limitMs);
      const abort = () => fail('the tracker was stopped before the database responded');
      aborts.add(abort);
      if (isAborting) abort();
      work.then(resolve, reject).finally(end);
      function fail(why: string): void {
        end();
        onLate();
        reject(new HostedStorageError('unreachable', why));
      }
      function end(): void {
        clearTimeout(timer);
        aborts.delete(abort);
      }
    });
  }

  type Connection = Awaited<ReturnType<typeof connect>>;

  /** Takes a connection out of the pool. */
  async function connect() {
    const connecting = new Promise<PoolConnection>((resolve) => resolve(pool.connect()));
    let isLate = false;
    const taken = await limit(connecting, statementMs, () => {
      isLate = true;
    }).catch((error: unknown) => {
      // The pool may still provide the connection, but nothing needs it any more.
      if (isLate) connecting.then((late) => late.release()).catch(() => undefined);
      throw error;
    });
    const removeListener = ignoreBreaking(taken);
    let isStuck = false;
    return {
      /**
       * Runs a statement. A text without values may contain several statements.
       *
       * @throws the error of the driver, or a HostedStorageError after `limitMs`.
       */
      async query(text: string, values: readonly unknown[] = [], limitMs = statementMs): Promise<SqlResult> {
        const marked = mark + text;
        const work = values.length > 0 ? taken.query(marked, [...values]) : taken.query(marked);
        return limit(work, limitMs, () => {
          isStuck = true;
          hasAbandoned = true;
        });
      },
      /** Whether a statement still runs after its limit. Then the connection cannot be used any more. */
      isStuck: () => isStuck,
      /** Gives the connection back to the pool, or destroys it. */
      release(destroy: boolean): void {
        taken.release(destroy);
        // A destroyed connection keeps its listener, because the server may still send it an error.
        if (!destroy) removeListener();
      },
    };
  }

  /** Lends a connection to `work`. After an error, the connection is destroyed, unless `repair` resolves. */
  async function use<T>(
    work: (connection: Connection) => Promise<T>,
    repair?: (connection: Connection) => Promise<unknown>,
  ): Promise<T> {
    const connection = await connect();
    let isUsable = false;
    try {
      const result = await work(connection);
      isUsable = !connection.isStuck();
      return result;
    } catch (error) {
      if (repair && !connection.isStuck()) {
        isUsable = await repair(connection).then(
          () => true,
          () => false,
        );
      }
      throw error;
    } finally {
      connection.release(!isUsable);
    }
  }

  function runAlone(text: string, values: readonly unknown[] | undefined, limitMs: number): Promise<SqlResult> {
    return use(async (connection) => {
      if (hasAbandoned) {
        hasAbandoned = false;
        await connection.query(endAbandoned).catch(() => undefined);
      }
      return connection.query(text, values, limitMs);
    });
  }

  function runTransaction<T>(work: (inside: Sql) => Promise<T>): Promise<T> {
    return use(
      async (connection) => {
        await connection.query(begin);
        const result = await work({ run: (...given) => connection.query(...given).then(toRows, throwStorageError) });
        await connection.query('commit');
        return result;
      },
      (connection) => connection.query('rollback'),
    );
  }

  /** Runs `work`, and again after a conflict. `close()` waits for it. */
  async function keep<T>(work: () => Promise<T>): Promise<T> {
    const trying = retryConflicts(work);
    running.add(trying);
    try {
      return await trying;
    } finally {
      running.delete(trying);
    }
  }

  /** Resolves when the statements that run now have ended. */
  async function finish(): Promise<void> {
    await Promise.allSettled(running);
  }

  return {
    run: (text: string, values?: readonly unknown[], limitMs = statementMs) =>
      keep(() => runAlone(text, values, limitMs)).then(toRows, throwStorageError),
    transaction: <T>(work: (inside: Sql) => Promise<T>) => keep(() => runTransaction(work)).catch(throwStorageError),
    finish,
    /** Resolves when no connection is checked out any more. After `closeMs`, statements that still run are rejected. */
    async close(): Promise<void> {
      const timer = setTimeout(() => {
        isAborting = true;
        for (const abort of [...aborts]) abort();
      }, closeMs);
      await finish();
      clearTimeout(timer);
      isAborting = false;
    },
  };
}

function toRows({ rows }: SqlResult): readonly Row[] {
  return rows as readonly Row[];
}

type Listener = (connection: object) => void;

interface Emitter {
  on(event: string, listener: Listener): unknown;
  removeListener(event: string, listener: Listener): unknown;
}

/** Listens to an emitter of `pg` until the returned function is called. Other pools need not emit anything. */
function listen(emitter: object, event: string, listener: Listener): () => void {
  if (!hasMethods(emitter, 'on', 'removeListener')) return () => {};
  const typed = emitter as Emitter;
  typed.on(event, listener);
  return () => void typed.removeListener(event, listener);
}

/** A connection that was taken out of its pool has no listener. Without one, a connection that breaks ends the process. */
function ignoreBreaking(connection: object): () => void {
  return listen(connection, 'error', () => {});
}

/** The pools that are listened to. Many trackers may share one. */
const listenedTo = new WeakSet<object>();

/**
 * Does the same for each new connection of a pool, until `connect()` has resolved. The pool removes its own listener
 * before that, and the driver may read in the same turn that the server ends the connection.
 */
export function ignoreBreakingAtOnce(pool: object): void {
  if (listenedTo.has(pool)) return;
  listenedTo.add(pool);
  listen(pool, 'connect', (connection) => void setTimeout(ignoreBreaking(connection), 0));
}
