/** What a run asks the server of the database, and all that it knows of the tables and statements of the tracker. */

import type { SqlPool } from 'hosted-client/tracking';

/** A part of the text of each statement at which a run breaks a connection. */
export const statements = {
  claim: 'order by due limit $1',
  take: 'as is_spent',
  begin: 'set attempts = least(',
  track: 'job_id, link_ref_id, context, due',
} as const;

export type StatementName = keyof typeof statements;

/** Begins the text of each statement of a tracker. */
export const mark = '/* hosted-client */';

const own = `d.datname = current_database() and s.query like '${mark}%'`;

/** The counters of a database. */
export interface Counters {
  readonly statements: number;
  readonly rows: number;
  readonly wal: number;
  /** The blocks that a call of the heaviest statement read. */
  readonly blocks: number;
}

export type Ask = (text: string) => Promise<number>;

/** Asks a database for one number. */
export function asker(pool: SqlPool): Ask {
  return async (text) => Number(Object.values((await pool.query(text)).rows[0] as object)[0] ?? 0);
}

/** Reads the counters. That of blocks begins anew. */
export async function readCounters(ask: Ask): Promise<Counters> {
  // The counters of tables are told of once a second.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  const from = 'from pg_stat_statements s join pg_database d on d.oid = s.dbid where';
  const counters = {
    statements: await ask(`select coalesce(sum(s.calls), 0) ${from} ${own}`),
    rows: await ask('select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) from pg_stat_user_tables'),
    wal: await ask("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"),
    blocks: await ask(`select max((s.shared_blks_hit + s.shared_blks_read) / s.calls) ${from} ${own} and s.calls >= 5`),
  };
  return counters;
}

/** The statements that took longest, in ms, for people. */
export async function describeStatements(pool: SqlPool): Promise<string> {
  const { rows } = await pool.query(
    `select string_agg(text, E'\n') as text from (
       select round(s.total_exec_time) || ' ms, ' || s.calls || ' calls, ' ||
         (s.shared_blks_hit + s.shared_blks_read) / s.calls || ' blocks a call: ' ||
         left(regexp_replace(s.query, '\\s+', ' ', 'g'), 120) as text
       from pg_stat_statements s join pg_database d on d.oid = s.dbid where ${own} order by s.total_exec_time desc limit 8) t`,
  );
  return String((rows[0] as { readonly text: unknown }).text);
}

/** Moves all dates of the tables the other way, because a run cannot move the clock of the database. */
export async function moveClock(pool: SqlPool, seconds: number): Promise<void> {
  const { rows } = await pool.query(
    `select format('update hosted_tracking.%I set %s', table_name, string_agg(format(
       '%1$I = %1$I - interval ''%2$s seconds''', column_name, ${seconds}), ', ')) as text
     from information_schema.columns where table_schema = 'hosted_tracking' and data_type = 'timestamp with time zone'
     group by table_name order by table_name`,
  );
  const connection = await pool.connect();
  try {
    const lock = 'begin; lock table hosted_tracking.fleet, hosted_tracking.tracked in access exclusive mode';
    await connection.query(`${lock}; ${rows.map((row) => (row as { text: string }).text).join('; ')}; commit`);
  } finally {
    connection.release();
  }
}
