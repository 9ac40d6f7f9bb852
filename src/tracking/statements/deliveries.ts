/**
 * The statements that hand over completions, and store the results of deliveries.
 *
 * @module
 */

import type { TrackerSettings } from '../options.js';
import { outcomes, states } from '../schema.js';
import { type Expressions, interval, keysOf, maxDebtSeconds, milliseconds } from './expressions.js';

/** Creates the statements. */
export function createDeliveryStatements(
  { minDelayMs, deadlineMs }: TrackerSettings,
  { schema, tracked, fleet, refilled, firstProvenDue, firstToldDue, isFree, identity }: Expressions,
) {
  return {
    /**
     * Reads the rows of completions that will be delivered. Takes one token from the token bucket for each request that
     * the deliveries need. The result has the number of `tokens` that are left. If this number is below zero, the
     * requests must wait until it has risen to zero. No token is taken during a pause, during a problem that affects
     * all jobs, or if the deficit would exceed the limit of `maxDebtSeconds`. In these cases, `tokens` is null.
     * Parameter: $1 keys.
     */
    deliver: `with r as materialized (
  select ${identity}, t.outcome, t.attempts, t.missing, t.last_error
  from ${tracked} t where t.key = ${keysOf('$1')} and t.state = ${states.handingOver}
), charged as (
  update ${fleet} f set tokens = ${refilled} - n.requests, refilled_at = clock_timestamp(),
    requests_sent = f.requests_sent + n.requests
  from (select count(*)::integer as requests from r where outcome = ${outcomes.completed}) n
  where ${isFree} and f.problem_code is null and n.requests > 0
    and ${refilled} - n.requests >= -f.rate * ${maxDebtSeconds}
  returning f.tokens
)
select r.*, c.tokens, s.rate, coalesce(${firstProvenDue} <= now(), false) as has_due,
  coalesce(${firstToldDue} <= now(), false) as has_told_due
from r cross join ${fleet} s left join charged c on true`,

    /** Marks completions as handled. Parameter: $1 keys. */
    settle: `update ${tracked} set state = ${states.done}, ended_at = now()
where key = ${keysOf('$1')} and state = ${states.handingOver}`,

    /** Follows a job again if its status could not be fetched for a delivery. Parameters: $1 JSON of rows, $2 keys. */
    followAgain: `update ${tracked} t set state = ${states.tracking}, outcome = null, ended_at = null, step = 1,
  attempts = n.attempts, due = now() + ${interval(minDelayMs)} * (0.5 + random() / 2),
  deadline = greatest(t.deadline, now() + ${interval(deadlineMs)})
from json_to_recordset($1::text::json) as n(key uuid, attempts integer)
where t.key = n.key and t.key = ${keysOf('$2')} and t.state = ${states.handingOver}`,

    /** Turns completions into dead letters. Parameters: $1 JSON of rows, $2 keys. */
    bury: `update ${tracked} t set state = ${states.dead}, ended_at = now(), attempts = n.attempts,
  failure_name = n.name, failure_code = n.code
from json_to_recordset($1::text::json) as n(key uuid, attempts integer, name text, code text)
where t.key = n.key and t.key = ${keysOf('$2')} and t.state = ${states.handingOver}`,

    /**
     * Finds completions whose worker died during the last attempt, and turns them into dead letters. Before this
     * statement runs, only pg-boss knows that they failed. A job may be untracked and then tracked again, so it can end
     * twice. If a message is older than the latest end of the job, it belongs to the earlier completion. Such a message
     * is ignored. Parameter: $1 name of the queue.
     */
    findBuried: `update ${tracked} t set state = ${states.dead}, ended_at = now(), failure_name = 'TimeoutError',
  attempts = t.attempts + coalesce(m.source_retry_count, 0) + 1
from ${schema}_boss.job m
where m.name = $1 and m.state = 'created' and t.key = (m.data ->> 'key')::uuid and t.state = ${states.handingOver}
  and m.created_on >= t.ended_at
returning t.attempts`,

    /**
     * Lists dead letters. If the key in $2 does not belong to a dead letter any more, the list begins with the oldest
     * dead letter. Parameters: $1 largest number of dead letters, $2 key after which the list begins, or null.
     */
    deadLetters: `select ${identity}, t.attempts, ${milliseconds('t.ended_at')} as failed_at, t.failure_name, t.failure_code
from ${tracked} t
where t.state = ${states.dead} and t.ended_at is not null and coalesce((t.ended_at, t.key) >
  ((select a.ended_at from ${tracked} a where a.key = $2::uuid and a.state = ${states.dead}), $2::uuid), true)
order by t.ended_at, t.key limit $1::integer`,

    /**
     * Turns dead letters into completions that are handed over again. Parameter: $1 keys, or null for all dead letters.
     */
    revive: `update ${tracked} t set state = ${states.handingOver}, ended_at = now(), attempts = 0,
  failure_name = null, failure_code = null
where t.state = ${states.dead} and t.ended_at is not null and ($1::text is null or t.key = ${keysOf("coalesce($1::text, '[]')")})
returning t.key`,

    /**
     * Finds completions whose message is missing. This is a safeguard. Messages are not expected to be removed early,
     * but a completion without a message would never be handed over. Parameters: $1 name of the queue, $2 minimum age
     * of the completions in ms.
     */
    findOrphans: `select t.key, t.attempts from ${tracked} t
where t.state = ${states.handingOver} and t.ended_at <= now() - ${interval('$2::double precision')} and not exists (
  select from ${schema}_boss.job m
  where m.name = $1 and m.state < 'completed' and (m.data ->> 'key')::uuid = t.key)
order by t.ended_at limit 1000 for update of t skip locked`,
  };
}
