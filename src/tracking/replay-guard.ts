/**
 * A replay guard that any number of processes share. All times are those of the database's clock, so processes whose
 * clocks differ agree.
 *
 * @module
 */

import type { ReplayGuard } from '../callbacks/types.js';
import { readGuardOptions } from './options.js';
import { createPoolSql } from './pool-sql.js';
import { changeSchema, isTableThere, notMigrated, planGuard, quote } from './schema.js';
import { longStatementMs } from './sql.js';
import { interval } from './statements/expressions.js';
import { runTask } from './storage-error.js';
import type { SqlPool } from './types.js';

/** How often, in ms, a process removes what is old. */
const cleanMs = 60_000;
/** The largest number of batches that are removed at a time. */
const maxBatches = 20;
/** How many leases a process remembers. Entries stay if their lease has ended before their handler. */
const maxLeases = 10_000;

/** The lease of the latest delivery of a callback in this process. */
interface Held {
  /** Null if `forget` may be called for an earlier delivery too: then it ends no lease, and the lease ends by itself. */
  readonly lease: string | null;
  /** Until when, by the monotonic clock, `forget` may be called. */
  readonly until: number;
}

/**
 * Creates a replay guard for any number of processes. It stores which callbacks were handled in the table `callbacks` of
 * PostgreSQL, in the schema of a tracker or in one of its own.
 *
 * @param options - Your pool, the place of the table, and how long callbacks are remembered.
 * @returns The guard, for the option `replayGuard` of `callbacks.handler` and `callbacks.receive`.
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
  /**
   * How long a delivery may be handled, in milliseconds. If its process dies, the next delivery after this time is new.
   * Default: as long as the handler says with its own `leaseMs`, which is 5 minutes.
   */
  leaseMs?: number;
  /**
   * How long a callback is remembered at least, in milliseconds. It is remembered longer if callbacks are accepted
   * longer. Default 3 days.
   */
  retentionMs?: number;
}): Promise<ReplayGuard> {
  const { pool, schema, migrate, leaseMs, retentionMs } = readGuardOptions(options);
  const sql = createPoolSql(pool);
  const run: typeof sql.run = (...given) => runTask('use the replay guard', () => sql.run(...given));
  await runTask('create a replay guard', async () => {
    if (await isTableThere(sql, schema, 'callbacks')) return;
    if (!migrate) throw notMigrated(`the table "callbacks" of schema "${schema}" is missing`);
    await changeSchema(sql, schema, async (inside) => {
      for (const statement of await planGuard(inside, schema)) await inside.run(statement);
    });
  });
  const { begin, commit, forget, clean } = createGuardStatements(`${quote(schema)}.callbacks`, retentionMs);
  /** The leases that this process has, by their keys, the oldest first. */
  const leases = new Map<string, Held>();
  let cleanedAt = Number.NEGATIVE_INFINITY;

  async function removeOld(): Promise<void> {
    for (let batch = 0; batch < maxBatches; batch++) {
      if ((await run(clean, [], longStatementMs)).length === 0) return;
    }
  }

  function remember(key: string, lease: string, until: number): void {
    const earlier = leases.get(key);
    const isAlone = earlier === undefined || earlier.until <= performance.now();
    leases.delete(key);
    for (const oldest of leases.keys()) {
      if (leases.size < maxLeases) break;
      leases.delete(oldest);
    }
    leases.set(key, { lease: isAlone ? lease : null, until });
  }

  return {
    async begin(key, bodyDigest, expiresAt, leaseEndsAt) {
      if (performance.now() - cleanedAt > cleanMs) {
        cleanedAt = performance.now();
        // If a batch fails, the next turn begins with it.
        void removeOld().catch(() => undefined);
      }
      const lease = crypto.randomUUID();
      // The length of the lease, and not its end, is taken from this process, because its clock may be wrong.
      const givenMs = Math.max(0, leaseEndsAt.getTime() - Date.now());
      const until = performance.now() + givenMs;
      for (let tries = 0; tries < 3; tries++) {
        const [row] = await run(begin, [key, bodyDigest, lease, leaseMs ?? givenMs, expiresAt.getTime()]);
        const known = row?.known;
        if (known === 'new') remember(key, lease, until);
        if (known === 'new' || known === 'busy' || known === 'repeat' || known === 'conflict') return known;
      }
      return 'busy';
    },
    async commit(key) {
      leases.delete(key);
      await run(commit, [key]);
    },
    async forget(key) {
      const lease = leases.get(key)?.lease ?? null;
      if (lease === null) return;
      leases.delete(key);
      await run(forget, [key, lease]);
    },
  };
}

function createGuardStatements(table: string, retentionMs: number) {
  return {
    /**
     * Gives the lease, or says why not. The result has no row for `known` if another process has just changed the row:
     * then the statement is repeated. Repeats only read. Parameters: $1 key, $2 digest, $3 id of the lease, $4 its length
     * in ms, $5 the time until which the callback is accepted, in ms.
     */
    begin: `with known as materialized (
  select body_digest = $2::text as is_same, is_handled, lease_ends_at > clock_timestamp() as is_held
  from ${table} where key = $1::text and expires_at > clock_timestamp()
), put as (
  insert into ${table} as t (key, body_digest, lease_id, lease_ends_at, expires_at)
  select $1::text, $2::text, $3::uuid, clock_timestamp() + ${interval('$4::double precision')},
    greatest(clock_timestamp() + ${interval(retentionMs)}, to_timestamp($5::double precision / 1000))
  where not exists (select from known k where k.is_handled or k.is_held or not k.is_same)
  on conflict (key) do update set body_digest = excluded.body_digest, is_handled = false, lease_id = excluded.lease_id,
    lease_ends_at = excluded.lease_ends_at, expires_at = excluded.expires_at
  where t.expires_at <= clock_timestamp()
    or (t.body_digest = excluded.body_digest and not t.is_handled and t.lease_ends_at <= clock_timestamp())
  returning 'new' as known
)
select known from put union all
select case when not is_same then 'conflict' when is_handled then 'repeat' when is_held then 'busy' end as known
from known where not exists (select from put)`,
    commit: `update ${table} set is_handled = true where key = $1::text`,
    /** Ends the lease, if another delivery has not got it since. Parameters: $1 key, $2 id of the lease. */
    forget: `update ${table} set lease_ends_at = '-infinity' where key = $1::text and lease_id = $2::uuid`,
    /** Removes a batch of callbacks that are old. */
    clean: `delete from ${table} where key = any(array(
  select key from ${table} where expires_at <= now() order by expires_at limit 500 for update skip locked)) returning 1 as gone`,
  };
}
