/**
 * The statements that hand over completions, and store the results of deliveries. Each end of a job has an id, because
 * the job may have been untracked, and have ended again: a result counts only for the end that was delivered. A delivery
 * has a lease of its completion: after the lease, the completion is due again. Apart from the success of a handler, a
 * result also counts only under its lease, because after the lease another process may have begun.
 *
 * @module
 */

import type { StoredSettings } from '../options.js';
import { floorSlackMs, kinds, leaseMsOf, outcomes, states, steps, unusedSeconds } from '../rules.js';
import { type Expressions, interval, keysOf, milliseconds } from './expressions.js';

/** Creates the statements. */
export function createDeliveryStatements(settings: StoredSettings, shared: Expressions) {
  const { tracked, fleet, isNewest, set, signedAt, floorOf, mismatch, burst } = shared;
  const { minDelayMs, deadlineMs, maxAttempts } = settings;
  const firstOf = (row: string, which: string) => `(select t.deliver_at from ${tracked} t
    where t.deliver_at is not null and ${which} and t.deliver_at >= ${floorOf(`${row}.deliver_floor`)} order by t.deliver_at limit 1)`;
  const firstDelivery = (row: string) => `least(${firstOf(row, 'not t.is_retry')}, ${firstOf(row, 't.is_retry')})`;
  const due = (which: string) => `select key from ${tracked}
    where deliver_at between (select floor from f) and now() and ${which} order by deliver_at limit $1::integer for update skip locked`;
  const isCurrent = (keys: string) =>
    `t.key = n.key and t.key = ${keysOf(keys)} and t.lease_id = n.lease_id and t.state = ${states.handingOver}`;
  const isDeadOf = (keys: string) => `end_key = ${keysOf(keys)} and state = ${states.dead}`;
  const begin = (rows: string, keys: string) => `update ${tracked} t set attempts = least(t.attempts + 1, n.attempt),
  revision = n.revision, version = n.version, signed_at = ${signedAt}, end_key = n.end_key,
  outcome = case when n.version is null then t.outcome else ${outcomes.completed} end,
  state_before = null
from json_to_recordset(${rows}::text::json) as n(key uuid, lease_id uuid, attempt integer, revision integer, version text,
  signed_ms double precision, end_key uuid)
where ${isCurrent(keys)} and t.key not in (select key from done)
returning t.lease_id, t.attempts, t.context::text as context`;

  return {
    /**
     * Takes completions that are due, those before others whose handler has failed, and gives each delivery a lease. Takes
     * one token from the token bucket for each request that the deliveries need. The result is one row. Its `tokens` are
     * those that are left. If this number is below zero, the requests must wait until it has risen to zero.
     *
     * While polls are due, deliveries take at most as many tokens as polls have taken before (`delivery_credit`), so that
     * both get half of them. Of polls of jobs that only callbacks have mentioned, each counts as three. If no process has used
     * the tokens for a while, deliveries take them. During a pause, or a problem that affects all jobs, no token is taken,
     * and `tokens` is null. If `is_spent` is true, a process died during the last attempt: the completion is not delivered
     * again. `begin` returns the contexts, because PostgreSQL keeps the lock of the row of `fleet` until it has sent all
     * rows. While the tables do not fit this process, nothing is taken. Parameter: $1 the largest number of completions.
     */
    deliver: `with f as materialized (
  select ${mismatch('f')} as mismatch, ${shared.isFree} and f.problem_code is null as is_free, ${shared.refilled} as tokens, ${burst} as burst,
    f.delivery_credit as credit, ${shared.unused} >= ${burst} + f.rate * ${unusedSeconds} as is_unused,
    coalesce(${shared.firstDue('f')} <= now(), false) as has_due,
    ${floorOf('f.deliver_floor')} as floor, ${firstDelivery('f')} as first_at
  from ${fleet} f where ${isNewest('f')} and ${firstDelivery('f')} <= now() for update
), room as materialized (
  select case when mismatch is not null then 0 when not is_free then $1::integer
    else greatest(0, least($1::integer, floor(tokens + burst), case when has_due and not is_unused then floor(credit) end)) end::integer as rows
  from f
), first as materialized (
  select key from (${due('not is_retry')}) waiting limit coalesce((select rows from room), 0)
), chosen as materialized (
  select key from first
  union all (select key from (${due('is_retry')}) waiting
    limit coalesce((select rows - (select count(*) from first) from room), 0))
), taken as (
  update ${tracked} t set deliver_at = now() + ${interval(leaseMsOf(settings))}, lease_id = gen_random_uuid()
  where key = any(array(select key from chosen))
  returning ${shared.ids}, t.end_id, t.lease_id, t.outcome, t.attempts, t.attempts >= ${maxAttempts} and t.state_before is null as is_spent, t.missing,
    t.state_before, t.revision, t.version, ${milliseconds('t.signed_at')} as signed_ms, t.end_key,
    t.last_error, t.callback_trace,
    coalesce(t.trace, (select l.trace from ${tracked} l where l.link_ref_id = t.link_ref_id and l.kind = ${kinds.link} limit 1)) as trace
), charged as (
  update ${fleet} fleet set tokens = f.tokens - n.requests, refilled_at = clock_timestamp(),
    requests_sent = fleet.requests_sent + n.requests, delivery_credit = greatest(0, f.credit - n.requests),
    deliver_floor = f.first_at - ${interval(floorSlackMs)}
  from f, (select count(*)::integer as taken,
      (count(*) filter (where (outcome = ${outcomes.completed} or state_before is not null) and not is_spent and (select is_free from f)))::integer as requests
    from taken) n
  where n.taken > 0 and ${isNewest('fleet')}
  returning case when n.requests > 0 then fleet.tokens end as tokens
)
select (select json_agg(taken.*) from taken)::text as taken, (select tokens from charged) as tokens, s.rate,
  ${milliseconds(`${firstDelivery('s')} - now()`)} as next_ms, ${mismatch('s')} as mismatch
from ${fleet} s where ${isNewest('s')}`,

    /**
     * Marks completions as handled. A completion may have become a dead letter in the meantime, if its handler took
     * longer than its lease. The statement also stores that handlers begin, with what identifies the end that they
     * receive, and returns the numbers of their attempts, and the contexts: if a process sends the same row again, it
     * counts once. One statement writes a row only once. So if an earlier handler of a completion has succeeded, no
     * other begins. Parameters: $1 JSON of rows and $2 keys of those that were handled, $3 and $4 the same of those that
     * begin.
     */
    storeProgress: `with done as (
  update ${tracked} t set ${set(steps.handle)}
  from json_to_recordset($1::text::json) as n(key uuid, end_id uuid, revision integer)
  where t.key = n.key and t.key = ${keysOf('$2')} and t.end_id = n.end_id and t.revision = n.revision
    and t.state_before is null
    and t.state in (${states.handingOver}, ${states.dead}, ${states.tracking})
  returning t.key
), begun as (
${begin('$3', '$4')}
)
select * from begun`,

    /**
     * Follows a job again if its status could not be fetched for a delivery. Parameters: $1 JSON of rows, $2 keys.
     */
    followAgain: `update ${tracked} t set ${set(steps.followAgain)},
  due = now() + ${shared.randomWait(minDelayMs)},
  deadline = greatest(t.deadline, now() + ${interval(deadlineMs)})
from json_to_recordset($1::text::json) as n(key uuid, lease_id uuid)
where ${isCurrent('$2')} and t.state_before is null`,

    /**
     * Leaves a job as it had ended before, if its status could not be fetched for the delivery of a further end, or is the
     * one that was handed over before. In the first case, the job is polled again. Parameters: $1 JSON of rows, $2 keys.
     */
    restore: `update ${tracked} t set ${set(steps.restore)},
  signed_at = case when n.is_same then ${signedAt} else t.signed_at end,
  due = case when not n.is_same then now() + ${shared.randomWait(minDelayMs)}
    else ${shared.recheckAgain} end
from json_to_recordset($1::text::json) as n(key uuid, lease_id uuid, is_same boolean, signed_ms double precision)
where ${isCurrent('$2')} and t.state_before is not null`,

    /**
     * Turns completions into dead letters after their last attempt, and returns them. Parameters: $1 JSON of rows,
     * $2 keys.
     */
    bury: `update ${tracked} t set ${set(steps.bury)}, failure_name = n.name, failure_code = n.code
from json_to_recordset($1::text::json) as n(key uuid, lease_id uuid, name text, code text)
where ${isCurrent('$2')} and t.attempts >= ${maxAttempts}
returning n.lease_id, t.attempts`,

    /** Gives completions back, which are due again after `wait_ms`. Parameters: $1 JSON of rows, $2 keys. */
    giveUpLease: `update ${tracked} t set deliver_at = now() + ${interval('n.wait_ms')}, lease_id = null, is_retry = t.is_retry or n.wait_ms > 0
from json_to_recordset($1::text::json) as n(key uuid, lease_id uuid, wait_ms double precision)
where ${isCurrent('$2')}`,

    /**
     * Gives completions back whose handlers did not begin in time, as they were before the statement `begin`: neither an
     * attempt nor a revision counts. Parameters: $1 JSON of the rows that were taken, $2 keys.
     */
    giveBackUnbegun: `update ${tracked} t set deliver_at = now(), lease_id = null, attempts = n.attempts, revision = n.revision,
  version = n.version, signed_at = to_timestamp(n.signed_ms / 1000), end_key = n.end_key, outcome = n.outcome, state_before = n.state_before
from json_to_recordset($1::text::json) as n(key uuid, lease_id uuid, attempts integer, revision integer, version text,
  signed_ms double precision, end_key uuid, outcome smallint, state_before smallint)
where ${isCurrent('$2')}`,

    /**
     * Lists dead letters. If the key of the end in $2 does not belong to a dead letter any more, the list begins with the oldest
     * dead letter. Parameters: $1 largest number of dead letters, $2 key after which the list begins, or null.
     */
    deadLetters: `select ${shared.identity}, t.end_key, t.attempts, ${milliseconds('t.ended_at')} as failed_at, t.failure_name, t.failure_code
from ${tracked} t
where t.state = ${states.dead} and t.ended_at is not null and coalesce((t.ended_at, t.key) >
  (select a.ended_at, a.key from ${tracked} a where a.end_key = $2::uuid and a.state = ${states.dead} limit 1), true)
order by t.ended_at, t.key limit $1::integer`,

    /** Lists the keys of the ends of all dead letters, oldest first. */
    deadKeys: `select t.end_key as key from ${tracked} t where t.state = ${states.dead} and t.ended_at is not null
order by t.ended_at, t.key`,

    /**
     * Turns a batch of dead letters into completions that are handed over again, and gives them new ends. If a handler
     * of the old end still runs, its result changes nothing. An expired job may have ended since, so it is polled again.
     * Parameter: $1 keys of ends.
     */
    revive: `with polled as (
  update ${tracked} set ${set(steps.pollAgain)} where ${isDeadOf('$1')} and outcome = ${outcomes.expired} returning key
), revived as (
  update ${tracked} set ${set(steps.revive)} where ${isDeadOf('$1')} and outcome <> ${outcomes.expired} returning key
)
select key from polled union all select key from revived`,
  };
}
