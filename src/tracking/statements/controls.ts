/**
 * The statement for a request about another job, which shows whether the service and this process's key are well.
 *
 * @module
 */

import { maxDebtSeconds, outcomes, states } from '../rules.js';
import type { Expressions } from './expressions.js';

/** Creates the statement. */
export function createControlStatements({ tracked, fleet, refilled, isFreeOfService }: Expressions) {
  const asked = 't.key, t.kind, t.user_id, t.job_id, t.link_ref_id, t.outcome, t.last_error, t.polls';

  return {
    /**
     * Chooses another job or link at random, and takes tokens for a request about it. Prefers one that the service has
     * responded about, and then one that was not polled yet. Returns no row if there is none. `wait_ms` is null if no request may be sent. A problem that affects
     * all jobs does not prevent the request. Parameters: $1 key of the job or link that is not chosen, $2 kind,
     * $3 number of tokens.
     */
    control: `with other as materialized (
  select o.* from (
    (select ${asked} from ${tracked} t where t.due is not null and t.is_proven order by t.due limit 20)
    union all
    (select ${asked} from ${tracked} t where t.due is not null and t.is_proven order by t.due desc limit 20)
    union all
    select ended.* from unnest(array[${states.handingOver}, ${states.done}, ${states.dead}]) s(state) cross join lateral (
      select ${asked} from ${tracked} t
      where t.state = s.state and t.ended_at is not null order by t.ended_at desc limit 20) ended
  ) o
  where o.key <> $1::uuid and o.kind = $2::smallint and coalesce(o.outcome, ${outcomes.completed}) = ${outcomes.completed}
  order by o.outcome is null and (o.last_error is not null or o.polls = 0), o.outcome is null and o.last_error is not null,
    random() limit 1
), charged as (
  update ${fleet} f set tokens = ${refilled} - $3::integer, refilled_at = clock_timestamp(),
    requests_sent = f.requests_sent + $3::integer
  from other
  where ${isFreeOfService} and ${refilled} - $3::integer >= -f.rate * ${maxDebtSeconds}
  returning greatest(0, -f.tokens / f.rate * 1000) as wait_ms
)
select o.user_id, o.job_id, o.link_ref_id, c.wait_ms from other o left join charged c on true`,
  };
}
