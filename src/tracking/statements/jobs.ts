/**
 * The statements of the methods that callers use for jobs and links.
 *
 * @module
 */

import type { StoredSettings } from '../options.js';
import { kinds, states, steps } from '../rules.js';
import { type Expressions, interval, keysOf, milliseconds } from './expressions.js';

/** Creates the statements. */
export function createJobStatements(
  { deadlineMs, maxDelayMs }: StoredSettings,
  { tracked, isUnknown, set, identity }: Expressions,
) {
  const ended = `${states.done}, ${states.dead}`;
  const isChanged = `(t.state in (${states.heard}, ${states.untracked}) or (t.state = ${states.tracking} and t.mentioned_at is not null))`;
  return {
    /**
     * Tracks any number of jobs. A job that is already tracked is not changed. If it has ended, it is polled once more,
     * but at most once each `maxDelayMs`, because its verdict may have changed. A callback can have moved `forced_at` ahead
     * of the clock, but not so far. If only callbacks have mentioned a
     * job, the given context and link replace those from the callbacks. The link in a callback is not signed, so the
     * context of that link could belong to another person. A row that is not changed is not locked either, because the
     * caller's transaction may stay open for long. Parameters: $1 JSON of rows, $2 trace context,
     * $3 keys.
     */
    track: `with kept as materialized (
  select t.key, t.state, greatest(t.ended_at, t.forced_at) as asked_at from ${tracked} t
  where t.key = ${keysOf('$3')} and not ${isChanged}
), rechecked as (
  update ${tracked} t set ${set(steps.recheck)}
  where t.key = any(array(select key from kept
      where state in (${ended}) and asked_at not between now() - ${interval(maxDelayMs)} and now() + ${interval(maxDelayMs)}))
    and t.state in (${ended})
)
insert into ${tracked} as t (key, kind, state, user_id, job_id, link_ref_id, context, due, deadline, trace)
select j.key, ${kinds.job}, ${states.tracking}, j.user_id, j.job_id, j.link_ref_id, j.context::json, now(),
  coalesce(to_timestamp(j.deadline / 1000), now() + ${interval(deadlineMs)}), $2::text
from json_to_recordset($1::text::json)
  as j(key uuid, user_id text, job_id text, link_ref_id text, context text, deadline double precision)
where j.key not in (select key from kept)
order by j.key
on conflict (key) do update set ${set(steps.track)}, attempts = case when t.state = ${states.tracking} then t.attempts else 0 end,
  deadline = excluded.deadline, context = excluded.context,
  trace = excluded.trace, link_ref_id = excluded.link_ref_id, mentioned_link_ref_id = coalesce(t.mentioned_link_ref_id, t.link_ref_id)
where ${isChanged}`,

    /**
     * Tracks a link, and follows the jobs of this link that callbacks have already mentioned, with the context that the
     * link has from now on. Parameters: $1 key, $2 ref id, $3 context, $4 deadline, $5 trace context.
     */
    trackLink: `with link as (
  insert into ${tracked} as t (key, kind, state, link_ref_id, context, due, deadline, trace)
  select $1::uuid, ${kinds.link}, ${states.tracking}, $2::text, $3::text::json, now(),
    coalesce(to_timestamp($4::double precision / 1000), now() + ${interval(deadlineMs)}), $5::text
  where not exists (select from ${tracked} l where l.key = $1::uuid and l.state = ${states.tracking})
  on conflict (key) do update set ${set(steps.trackLink)}, context = excluded.context, trace = excluded.trace,
    deadline = excluded.deadline
  where t.state = ${states.done}
  returning t.context
)
update ${tracked} t set ${set(steps.follow)}, context = (
    select context from link union all
    select l.context from ${tracked} l where l.key = $1::uuid and not exists (select from link))
where t.link_ref_id = $2::text and t.kind = ${kinds.job} and t.state = ${states.heard}`,

    /**
     * Follows jobs that `trackLink` missed, because their callbacks were stored while it was running. Parameter: $1 key
     * of the link.
     */
    adopt: `update ${tracked} t set ${set(steps.follow)}, context = l.context
from ${tracked} l
where l.key = $1::uuid and t.link_ref_id = l.link_ref_id and t.kind = ${kinds.job} and t.state = ${states.heard}
  and not ${isUnknown('t')}`,

    /**
     * Stops tracking a job. Its row is kept, because otherwise the job would count as a missing job of its link.
     * Parameter: $1 key.
     */
    untrack: `update ${tracked} set ${set(steps.untrack)}
where key = $1::uuid and kind = ${kinds.job} and state in (${states.heard}, ${states.tracking}, ${states.handingOver}, ${states.dead})
returning key`,

    get: `select ${identity}, t.polls, t.last_error, ${milliseconds('t.due')} as due, ${milliseconds('t.deadline')} as deadline
from ${tracked} t where t.key = $1::uuid and t.kind = ${kinds.job} and t.state <> ${states.untracked}`,
  };
}
