/**
 * The statements that hand over completions, and store the results of deliveries. Each end of a job has an id, which is
 * also the id of its message. A statement changes a row only if the row still has the end of the message: the job may
 * have been untracked, and have ended again. Apart from the success of a handler, a result also counts only under the
 * lease of its message, because after the lease another process may have begun.
 *
 * @module
 */

import type { StoredSettings } from '../options.js';
import { batchSize, kinds, maxDebtSeconds, outcomes, queue, states, steps } from '../rules.js';
import { type Expressions, interval, keysOf, milliseconds } from './expressions.js';

/** Creates the statements. */
export function createDeliveryStatements(
  { minDelayMs, deadlineMs, maxAttempts }: StoredSettings,
  { schema, tracked, fleet, refilled, firstProvenDue, firstToldDue, isFree, set, ids, identity }: Expressions,
) {
  const messages = `${schema}_boss.job`;
  // True if the lease of the message has not ended: pg-boss increases `retry_count` when the message is fetched again.
  const isHeld = `n.retry_count = (select m.retry_count from ${messages} m
    where m.name = '${queue}' and m.id = n.end_id and m.state = 'active')`;
  const isCurrent = (keys: string) =>
    `t.key = n.key and t.key = ${keysOf(keys)} and t.end_id = n.end_id and t.state = ${states.handingOver} and ${isHeld}`;
  const begin = (rows: string, keys: string) => `update ${tracked} t set attempts = least(t.attempts + 1, n.attempt)
from json_to_recordset(${rows}::text::json) as n(key uuid, end_id uuid, attempt integer, retry_count integer)
where ${isCurrent(keys)}
returning t.end_id, n.retry_count, t.attempts, t.context::text as context`;

  return {
    /**
     * Reads the rows of completions that will be delivered. Takes one token from the token bucket for each request that
     * the deliveries need. The result has the number of `tokens` that are left. If this number is below zero, the
     * requests must wait until it has risen to zero. No token is taken during a pause, during a problem that affects
     * all jobs, or if the deficit would exceed the limit of `maxDebtSeconds`. In these cases, `tokens` is null. If
     * `is_spent` is true, a process died during the last attempt: the completion is not delivered again. Parameters:
     * $1 keys, $2 ids of the ends. `begin` returns the contexts, because PostgreSQL keeps the lock of the row of `fleet`
     * until it has sent all rows.
     */
    deliver: `with r as materialized (
  select ${ids}, t.end_id, t.outcome, t.attempts, t.attempts >= ${maxAttempts} as is_spent, t.missing, t.last_error, t.told_trace,
    coalesce(t.trace, (select l.trace from ${tracked} l where l.link_ref_id = t.link_ref_id and l.kind = ${kinds.link} limit 1)) as trace
  from ${tracked} t
  where t.key = ${keysOf('$1')} and t.end_id = ${keysOf('$2')} and t.state = ${states.handingOver}
), charged as (
  update ${fleet} f set tokens = ${refilled} - n.requests, refilled_at = clock_timestamp(),
    requests_sent = f.requests_sent + n.requests
  from (select count(*)::integer as requests from r where outcome = ${outcomes.completed} and not is_spent) n
  where ${isFree} and f.problem_code is null and n.requests > 0
    and ${refilled} - n.requests >= -f.rate * ${maxDebtSeconds}
  returning f.tokens
)
select r.*, c.tokens, s.rate, coalesce(${firstProvenDue} <= now(), false) as has_due,
  coalesce(${firstToldDue} <= now(), false) as has_told_due
from r cross join ${fleet} s left join charged c on true`,

    /**
     * Stores that handlers begin, and returns the numbers of their attempts, and the contexts. If a process sends the same row again, it
     * counts once. Parameters: $1 JSON of rows, $2 keys.
     */
    begin: begin('$1', '$2'),

    /**
     * Takes back that handlers begin, because it was too late for them. Before the transaction ends, their messages must
     * be given back: so if a process sends the same row again, it counts once. Parameters: $1 JSON of rows, $2 keys.
     */
    unbegin: `update ${tracked} t set attempts = t.attempts - 1
from json_to_recordset($1::text::json) as n(key uuid, end_id uuid, retry_count integer)
where ${isCurrent('$2')}`,

    /**
     * Marks completions as handled. A completion may have become a dead letter in the meantime, if its handler took
     * longer than the lease of its message. The statement also stores that other handlers begin, like `begin`.
     * Parameters: $1 keys, $2 ids of the ends, $3 and $4 the parameters of `begin`.
     */
    settle: `with done as (
  update ${tracked} set ${set(steps.handle)}
  where key = ${keysOf('$1')} and end_id = ${keysOf('$2')} and state in (${states.handingOver}, ${states.dead})
), begun as (
${begin('$3', '$4')}
)
select * from begun`,

    /** Follows a job again if its status could not be fetched for a delivery. Parameters: $1 JSON of rows, $2 keys. */
    followAgain: `update ${tracked} t set ${set(steps.followAgain)},
  due = now() + ${interval(minDelayMs)} * (0.5 + random() / 2),
  deadline = greatest(t.deadline, now() + ${interval(deadlineMs)})
from json_to_recordset($1::text::json) as n(key uuid, end_id uuid, retry_count integer)
where ${isCurrent('$2')}`,

    /**
     * Turns completions into dead letters after their last attempt, and returns them. Parameters: $1 JSON of rows,
     * $2 keys.
     */
    bury: `update ${tracked} t set ${set(steps.bury)}, failure_name = n.name, failure_code = n.code
from json_to_recordset($1::text::json) as n(key uuid, end_id uuid, retry_count integer, name text, code text)
where ${isCurrent('$2')} and t.attempts >= ${maxAttempts}
returning t.end_id, t.attempts`,

    /**
     * Lists dead letters. If the key in $2 does not belong to a dead letter any more, the list begins with the oldest
     * dead letter. Parameters: $1 largest number of dead letters, $2 key after which the list begins, or null.
     */
    deadLetters: `select ${identity}, t.attempts, ${milliseconds('t.ended_at')} as failed_at, t.failure_name, t.failure_code
from ${tracked} t
where t.state = ${states.dead} and t.ended_at is not null and coalesce((t.ended_at, t.key) >
  ((select a.ended_at from ${tracked} a where a.key = $2::uuid and a.state = ${states.dead}), $2::uuid), true)
order by t.ended_at, t.key limit $1::integer`,

    /** Lists the keys of all dead letters, oldest first. */
    deadKeys: `select t.key from ${tracked} t where t.state = ${states.dead} and t.ended_at is not null
order by t.ended_at, t.key`,

    /**
     * Turns a batch of dead letters into completions that are handed over again, and gives them new ends. If a handler
     * of the old end still runs, its result changes nothing. Parameter: $1 keys.
     */
    revive: `update ${tracked} set ${set(steps.revive)}
where key = ${keysOf('$1')} and state = ${states.dead}
returning key, end_id`,

    /**
     * Makes PostgreSQL read the batches of `findLost` in the order of an index. Without statistics, it would sort all
     * completions for each batch.
     */
    readInOrder: 'set local enable_bitmapscan = off',

    /**
     * Checks the messages of a batch of completions, oldest first. This is a safeguard. Messages are not expected to be
     * removed early, but a completion without a message would never be handed over. Each message is looked up by its
     * id. Messages that pg-boss will not deliver any more are removed, so that they can be sent again. Parameters: $1
     * end date and $2 key after which the batch begins, or null.
     */
    findLost: `with batch as materialized (
  select t.key, t.end_id, t.ended_at from ${tracked} t
  where t.state = ${states.handingOver} and t.ended_at is not null and (t.ended_at, t.key) >
    (coalesce($1::timestamptz, '-infinity'), coalesce($2::uuid, '00000000-0000-0000-0000-000000000000'))
  order by t.ended_at, t.key limit ${batchSize}
), checked as materialized (
  select b.*, coalesce((select m.state < 'completed' from ${messages} m
    where m.name = '${queue}' and m.id = b.end_id), false) as is_sent
  from batch b
), removed as (
  delete from ${messages} m
  where m.name = '${queue}' and m.id = any(array(select end_id from checked where not is_sent)) and m.state >= 'completed'
)
select c.key, c.end_id, c.is_sent, c.ended_at::text as at from checked c order by c.ended_at, c.key`,
  };
}
