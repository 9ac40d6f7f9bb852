/**
 * Creates the tables. At its start, a process checks whether the tables exist. If they are missing, it creates them
 * under a lock. It does not use `create index if not exists`, because this statement locks the table before it checks
 * whether the index exists. The statement would wait for every open transaction that has written to the table, and every
 * writer would wait for the statement.
 *
 * @module
 */

import { optionsOf } from '../../client.js';
import { HostedConfigError } from '../../errors/client-errors.js';
import type { StoredSettings } from '../options.js';
import type { Database } from '../places/database.js';
import { defaultRate, kinds, states } from '../rules.js';
import { longStatementMs, type Row, type Sql, type TransactionalSql } from '../sql.js';
import { codeOf, HostedStorageError } from '../storage-error.js';
import { changes } from './table-changes.js';
import { assertFits, mismatchOf } from './versions.js';

/** How long, in ms, this process waits while another process changes the tables. */
const turnMs = 8_000;
/**
 * How long, in ms, a change of the tables waits for a lock. Meanwhile, the statements of other processes wait behind it.
 */
export const lockMs = 2_000;

/** The version of the tables that this package creates. */
export const newestVersion: number = 1 + changes.length;

/** Quotes the name of a schema for a statement, because the name may be a keyword of SQL. */
export function quote(schema: string): string {
  return `"${schema}"`;
}

/** Returns the statements that create the tables of version 1. */
export function createTables(schema: string): readonly string[] {
  return [
    `create table ${schema}.fleet (
  only_row boolean primary key default true check (only_row),
  version integer not null,
  environment text,
  partner_id text,
  rate double precision not null,
  tokens double precision not null default 1,
  refilled_at timestamptz not null default now(),
  requests_sent bigint not null default 0,
  hold_until timestamptz,
  asked_at timestamptz,
  asked_until timestamptz,
  problem_code text,
  problem_since timestamptz,
  problem_polls integer not null default 0,
  polled_at timestamptz,
  well_at timestamptz,
  due_floor timestamptz not null default '-infinity',
  mentioned_floor timestamptz not null default '-infinity',
  deliver_floor timestamptz not null default '-infinity',
  longest_delay_ms double precision not null default 0,
  longest_lease_ms double precision not null default 0,
  mentioned_credit double precision not null default 1,
  delivery_credit double precision not null default 0,
  kept_at timestamptz not null default now()
) with (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0)`,
    `create table ${schema}.tracked (
  key uuid primary key,
  due timestamptz,
  deadline timestamptz,
  late_since timestamptz,
  forced_at timestamptz,
  mentioned_at timestamptz,
  callback_signed_at timestamptz,
  ended_at timestamptz,
  end_id uuid,
  end_key uuid,
  signed_at timestamptz,
  deliver_at timestamptz,
  lease_id uuid,
  is_retry boolean not null default false,
  polls integer not null default 0,
  attempts integer not null default 0,
  revision integer not null default 0,
  missing integer not null default 0,
  missing_seen integer not null default 0,
  missing_mentioned integer not null default 0,
  mentioned_turn integer,
  mentioned_polls smallint,
  step smallint not null default 0,
  late_polls smallint not null default 0,
  kind smallint not null,
  state smallint not null,
  outcome smallint,
  state_before smallint,
  is_proven boolean not null default true,
  user_id text,
  job_id text,
  link_ref_id text,
  mentioned_link_ref_id text,
  last_error text,
  failure_name text,
  failure_code text,
  version text,
  trace text,
  callback_trace text,
  context json
) with (fillfactor = 80, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 1, autovacuum_analyze_threshold = 1000, autovacuum_analyze_scale_factor = 0.05)`,
    `create index fleet_newest on ${schema}.fleet (kept_at)`,
    `create index tracked_due on ${schema}.tracked (due) where due is not null and is_proven`,
    `create index tracked_mentioned_turn on ${schema}.tracked (mentioned_turn, callback_signed_at desc, due)
  where due is not null and not is_proven`,
    `create index tracked_mentioned_due on ${schema}.tracked (due)
  where due is not null and not is_proven and mentioned_at is not null`,
    `create index tracked_dead on ${schema}.tracked (end_key) where state = ${states.dead}`,
    `create index tracked_deliver on ${schema}.tracked (is_retry, deliver_at) where deliver_at is not null`,
    `create index tracked_ended on ${schema}.tracked (state, ended_at, key) where ended_at is not null`,
    `create index tracked_link on ${schema}.tracked (link_ref_id) where link_ref_id is not null and kind = ${kinds.job}`,
    `create index tracked_links on ${schema}.tracked (link_ref_id) where kind = ${kinds.link}`,
    `create index tracked_mentioned_link on ${schema}.tracked (mentioned_link_ref_id) where mentioned_link_ref_id is not null`,
    `create index tracked_mentioned on ${schema}.tracked (state, callback_signed_at, mentioned_polls)
  where not is_proven and mentioned_at is not null`,
  ];
}

/** The table of the replay guard: the version of each job that was handed over last. */
export const guardTable = 'handed_over';

/** Returns the statements that create the table of the replay guard, if it is missing. */
export async function planGuard(sql: Sql, schemaName: string): Promise<readonly string[]> {
  const table = `${quote(schemaName)}.${guardTable}`;
  if (await isTableThere(sql, schemaName, guardTable)) return [];
  return [
    `create table ${table} (
  key text primary key,
  id text not null,
  signed_at timestamptz not null,
  is_committed boolean not null,
  lease_id uuid not null,
  lease_ends_at timestamptz not null,
  expires_at timestamptz not null
)`,
    `create index handed_over_expires on ${table} (expires_at)`,
  ];
}

/**
 * Checks the tables, creates them if they are missing, and stores `maxRequestsPerSecond` if it was given. Returns the
 * limit of requests per second, for all processes together, the one that was stored before, and the partner id of the keys.
 *
 * @throws {HostedStorageError} when the tables are of another version, or when they are missing and may not be created.
 * @throws {HostedConfigError} when the tables belong to another environment or partner.
 */
export async function openSchema(database: Database, settings: StoredSettings) {
  const { schema, migrate, client } = settings;
  await assertEncoding(database);
  let found = await readFleet(database, schema);
  if (found === null) {
    if (!migrate) throw notMigrated(`the tables of schema "${schema}" are missing`);
    await changeTables(database, schema);
    found = await readFleet(database, schema);
  }
  if (found === null) throw notMigrated(`the tables of schema "${schema}" are empty`);
  assertFits(found);
  if (found.environment === null) {
    // The partner id of a client is unknown if another copy of this package created the client. What the first process
    // knows is part of the keys for ever, so that all processes make the same keys.
    const text = `update ${quote(schema)}.fleet set environment = $1::text, partner_id = $3::text,
  rate = coalesce($2::double precision, rate)
where environment is null`;
    await database.run(text, [client.environment, settings.maxRequestsPerSecond ?? null, optionsOf(client).partnerId]);
    found = (await readFleet(database, schema)) ?? found;
  }
  // With another partner id, the same two ids can name another person's job.
  const { partnerId } = optionsOf(client);
  const isOfPartner = found.partner_id === null || partnerId === undefined || found.partner_id === partnerId;
  if (found.environment !== client.environment || !isOfPartner) {
    const [theirs, ours] = isOfPartner
      ? [found.environment, client.environment]
      : ['another partner id', 'this partner id'];
    const message = `has the jobs of ${theirs}: the jobs of ${ours} need another schema`;
    throw new HostedConfigError([{ path: 'schema', message }], { task: 'create a tracker' });
  }
  const rateBefore = Number(found.rate);
  const rate = settings.maxRequestsPerSecond ?? rateBefore;
  if (rate !== rateBefore) await database.run(`update ${quote(schema)}.fleet set rate = $1::double precision`, [rate]);
  return { rate, rateBefore, partnerId: found.partner_id === null ? '' : String(found.partner_id) };
}

/**
 * Checks the encoding of the database: in another one, some ids and contexts cannot be stored.
 *
 * @throws {HostedStorageError} when it is neither UTF8 nor SQL_ASCII.
 */
async function assertEncoding(sql: Sql): Promise<void> {
  const [row] = await sql.run("select current_setting('server_encoding') as encoding");
  const encoding = String(row?.encoding);
  if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return;
  const why = `the database has the encoding ${encoding}: use one with the encoding UTF8`;
  throw new HostedStorageError('unreachable', why, { retryable: false });
}

export function notMigrated(
  why: string,
  how = 'set "migrate" to true, or run "npx hosted-client tracking migrate"',
): HostedStorageError {
  return new HostedStorageError('not_migrated', `${why}: ${how}`);
}

/**
 * Checks whether a table exists. This function does not use `to_regclass`. If another process creates the table during
 * a transaction, `to_regclass` may still report in this transaction that the table is missing.
 */
export async function isTableThere(sql: Sql, schema: string, name: string): Promise<boolean> {
  const text = `select 1 as found from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1 and c.relname = $2`;
  return (await sql.run(text, [schema, name])).length > 0;
}

/** Reads the version, the environment, the partner id and the rate of the tables. Null if they are missing. */
async function readFleet(sql: Sql, schema: string): Promise<Row | null> {
  if (!(await isTableThere(sql, schema, 'fleet'))) return null;
  const columns = `version, environment, partner_id, rate, ${mismatchOf('f', `${quote(schema)}.tracked`)} as mismatch`;
  return (await sql.run(`select ${columns} from ${quote(schema)}.fleet f`))[0] ?? null;
}

/** Reads the version of the tables. Null if they are missing. */
export async function readVersion(sql: Sql, schema: string): Promise<number | null> {
  const found = await readFleet(sql, schema);
  return found && Number(found.version);
}

/**
 * Returns the statements of each step that leads to the newest tables. Each step runs in its own transaction. The table
 * of the replay guard has no version, because a guard can have a schema of its own.
 *
 * @param from - The version of the tables of trackers. Null if they are missing.
 */
export async function planTables(sql: Sql, schema: string, from: number | null) {
  const name = quote(schema);
  const guard = await planGuard(sql, schema);
  if (from !== null) {
    const rest = changes.slice(from - 1);
    const steps = rest.map((change, at) => [...change(name), `update ${name}.fleet set version = ${from + at + 1}`]);
    return guard.length > 0 ? [guard, ...steps] : steps;
  }
  const create = [
    ...createTables(name),
    ...guard,
    ...changes.flatMap((change) => change(name)),
    `insert into ${name}.fleet (version, rate) values (${newestVersion}, ${defaultRate})`,
  ];
  return [create];
}

/** Runs the next step of the plan of the tables. Resolves with false if there is none. */
export async function changeTables(sql: TransactionalSql, schema: string): Promise<boolean> {
  return changeSchema(sql, schema, async (inside) => {
    const [step] = await planTables(inside, schema, await readVersion(inside, schema));
    for (const statement of step ?? []) await inside.run(statement, [], longStatementMs);
    return step !== undefined;
  });
}

/**
 * Runs `work` in a transaction, in a schema that it creates if it is missing. Of several processes that do this at the
 * same time, one goes after another.
 */
export async function changeSchema<T>(
  sql: TransactionalSql,
  schema: string,
  work: (inside: Sql) => Promise<T>,
): Promise<T> {
  try {
    return await sql.transaction(async (inside) => {
      await inside.run(`set local lock_timeout = '${turnMs}ms'`);
      // The lock ends with the transaction, so no connection keeps it.
      await inside.run('select pg_advisory_xact_lock(hashtext($1))', [`hosted-client/tracking/${schema}`]);
      await inside.run(`set local lock_timeout = '${lockMs}ms'`);
      // `create schema if not exists` requires rights on the database even if the schema exists.
      const [namespace] = await inside.run('select 1 as is_there from pg_namespace where nspname = $1', [schema]);
      if (!namespace) await inside.run(`create schema ${quote(schema)}`);
      return work(inside);
    });
  } catch (error) {
    if (!(error instanceof HostedStorageError && codeOf(error.cause) === '42501')) throw error;
    const how = 'run "npx hosted-client tracking migrate" with a role that may';
    throw notMigrated(`this role may not create or change the tables of schema "${schema}" (42501)`, how);
  }
}
