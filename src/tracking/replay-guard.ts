/**
 * A replay guard that any number of processes share. All times are those of the database's clock, so processes whose
 * clocks differ agree.
 *
 * @module
 */

import type { ReplayGuard } from '../callbacks/types.js';
import { assumedSettlingMs } from '../protocol/assumptions.js';
import { readGuardOptions } from './options.js';
import { createPoolSql } from './places/pool-sql.js';
import { changeSchema, guardTable, isTableThere, notMigrated, planGuard, quote } from './schema/schema.js';
import { longStatementMs } from './sql.js';
import { runTask } from './storage-error.js';
import type { SqlPool } from './types.js';

/** How often, in ms, a process removes what is old. */
const cleanMs = 60_000;
/** The largest number of batches that are removed at a time. */
const maxBatches = 20;

/**
 * Creates a replay guard for any number of processes. It stores which version of each job was handed over last in the
 * table `handed_over` of PostgreSQL, in the schema of a tracker or in one of its own. How long a lease lasts, and how
 * long a job is remembered, is what the handler asks for.
 *
 * @param options - Your pool, and the place of the table.
 * @returns The guard, for the option `replayGuard` of `callbacks.handler`.
 * @throws {HostedConfigError} when options are invalid. The error lists every problem.
 * @throws {HostedStorageError} when the database cannot be used, or when the table is missing and may not be created.
 *
 * @example Share a guard between processes
 * ```ts
 * const replayGuard = await postgresReplayGuard({ pool });
 * const handle = client.callbacks.handler({ replayGuard, onEvent: (event) => console.log(event.id) });
 * ```
 */
export async function postgresReplayGuard(options: {
  /** Your pool. Give a `pg` pool a `connectionTimeoutMillis`. You close the pool yourself. */
  pool: SqlPool;
  /** The schema of the table. Default `'hosted_tracking'`. */
  schema?: string;
  /** Whether the guard may create the table. With `false`, a missing table is a `HostedStorageError`. Default `true`. */
  migrate?: boolean;
}): Promise<ReplayGuard> {
  const { pool, schema, migrate } = readGuardOptions(options);
  const sql = createPoolSql(pool);
  // A statement that fails because of another one (40001) is repeated. With read committed, none of them does.
  const run: typeof sql.run = (...given) => runTask('use the replay guard', () => sql.run(...given));
  await runTask('create a replay guard', async () => {
    if (await isTableThere(sql, schema, guardTable)) return;
    if (!migrate) throw notMigrated(`the table "${guardTable}" of schema "${schema}" is missing`);
    await changeSchema(sql, schema, async (inside) => {
      for (const statement of await planGuard(inside, schema)) await inside.run(statement);
    });
  });
  const { begin, commit, forget, clean } = createGuardStatements(`${quote(schema)}.${guardTable}`);
  let cleanedAt = Number.NEGATIVE_INFINITY;

  async function removeOld(): Promise<void> {
    for (let batch = 0; batch < maxBatches; batch++) {
      if ((await run(clean, [], longStatementMs)).length === 0) return;
    }
  }

  return {
    async begin(key, { id, signedAt }, leaseMs, keepMs) {
      if (performance.now() - cleanedAt > cleanMs) {
        cleanedAt = performance.now();
        // If a batch fails, the next turn begins with it.
        void removeOld().catch(() => undefined);
      }
      // As text: a driver writes a date in the zone of its process.
      const [row] = await run(begin, [key, id, signedAt.toISOString(), crypto.randomUUID(), leaseMs, keepMs]);
      return row?.known as 'new' | 'known' | 'older' | 'busy';
    },
    async commit(key, { id }) {
      await run(commit, [key, id]);
    },
    async forget(key, { id }) {
      await run(forget, [key, id]);
    },
  };
}

function createGuardStatements(table: string) {
  const now = 'statement_timestamp()';
  const after = (ms: string) => `${now} + ${ms}::float8 * interval '1 ms'`;
  return {
    /**
     * Stores a version with a lease if it is new. Other processes wait for the row meanwhile, so exactly one of them gets
     * the lease. Parameters: $1 key, $2 id of the version, $3 when its status was signed, $4 id of the lease, $5 its
     * length in ms, $6 how long the row is kept in ms.
     */
    begin: `insert into ${table} as t (key, id, signed_at, is_committed, lease_id, lease_ends_at, expires_at)
values ($1::text, $2::text, $3::timestamptz, false, $4::uuid, ${after('$5')}, ${after('$6')})
on conflict (key) do update set (id, signed_at, is_committed, lease_id, lease_ends_at, expires_at) = (
  select case when n.is_new then excluded.id else t.id end,
    case when t.id = excluded.id then greatest(t.signed_at, excluded.signed_at)
      when n.is_new then excluded.signed_at else t.signed_at end,
    t.is_committed and not n.is_new,
    case when n.is_new then excluded.lease_id else t.lease_id end,
    case when n.is_new then excluded.lease_ends_at else t.lease_ends_at end,
    greatest(t.expires_at, excluded.expires_at)
  from (select t.lease_ends_at <= ${now} and case when t.id = excluded.id then not t.is_committed and t.signed_at <= excluded.signed_at
    else t.signed_at + interval '${assumedSettlingMs} ms' < excluded.signed_at end as is_new) n)
returning case when lease_id = $4::uuid then 'new' when lease_ends_at > ${now} then 'busy'
  when id = $2::text and is_committed then 'known' else 'older' end as known`,
    /** Parameters: $1 key, $2 id of the version. */
    commit: `update ${table} set is_committed = true, lease_ends_at = '-infinity' where key = $1::text and id = $2::text`,
    /** Parameters: $1 key, $2 id of the version. */
    forget: `update ${table} set lease_ends_at = '-infinity'
where key = $1::text and id = $2::text and not is_committed`,
    /** Removes a batch of jobs that are old. */
    clean: `delete from ${table} where key = any(array(
  select key from ${table} where expires_at <= now() and lease_ends_at <= now()
  order by expires_at limit 500 for update skip locked)) returning 1 as gone`,
  };
}
