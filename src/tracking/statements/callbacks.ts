/**
 * The statement that stores a callback.
 *
 * @module
 */

import type { StoredSettings } from '../options.js';
import { kinds, lagMs, maxDropped, maxMentionedJobs, states } from '../rules.js';
import { type Expressions, interval } from './expressions.js';

/** Creates the statement. */
export function createCallbackStatements(
  { minDelayMs, deadlineMs }: StoredSettings,
  { tracked, isMentioned, ownerOf }: Expressions,
) {
  // What a callback changes for its job: `isAdopted` says whether the job is followed from now on. `soonest` is the
  // earliest date of the next poll. `isBrought` says whether the next poll is moved to this date.
  // If the database's clock has gone back, `forced_at` may be in the future.
  const isAdopted = `(t.state = ${states.heard} and excluded.state = ${states.tracking})`;
  const soonest = `greatest(now(), least(coalesce(t.forced_at, '-infinity'), now()) + ${interval(minDelayMs)})`;
  const isBrought = `(${isAdopted} or (t.state = ${states.tracking} and t.due > ${soonest}))`;
  // The row keeps the signed time of the newest callback. A callback that was signed later takes the job out of the
  // turns of its earlier signed time, in which others may have named the job before.
  const isNewer = `(t.callback_signed_at is null or excluded.callback_signed_at > t.callback_signed_at)`;
  const isTurned = `(not t.is_proven and ${isNewer})`;
  // A job that has ended is polled again if the callback may be about a newer result than the one that was handed over.
  const isRechecked = `(t.state in (${states.done}, ${states.dead}) and ${isNewer}
    and excluded.callback_signed_at >= coalesce(t.signed_at, '-infinity') - ${interval(lagMs)})`;
  const signedAt = `to_timestamp($6::double precision / 1000)`;
  // Jobs that may be deleted, the oldest signed time first.
  const dropped = (which: string) => `select key from (
    select t.key from ${tracked} t where ${isMentioned('t')} and ${which}
    order by t.callback_signed_at limit ${maxDropped} for update of t skip locked) dropped`;
  const linkOf = `select from ${tracked} l
      where l.link_ref_id = t.link_ref_id and l.kind = ${kinds.link} and l.state in (${states.tracking}, ${states.done})`;
  // The first callback of a job that is not followed may name no link.
  const isLinked = `(t.state = ${states.heard} and t.link_ref_id is null and excluded.link_ref_id is not null)`;
  // A callback may name a link for a job that is tracked without a link. The job then counts as a known job of this
  // link (`jobsOf`), but it does not get the link's context.
  const mentionedLink = `case when t.link_ref_id is null and not ${isLinked} then coalesce(t.mentioned_link_ref_id, excluded.link_ref_id)
    else t.mentioned_link_ref_id end`;

  return {
    /**
     * Stores a callback. The next poll of the job becomes due at once. But if a callback caused a poll less than
     * `minDelayMs` ago, the next poll becomes due `minDelayMs` after that poll. If nothing would change, nothing is
     * written.
     *
     * A new job is not stored if `maxJobs` other jobs of its signed time, which only callbacks have mentioned, wait for
     * their first poll. The limit applies to all processes together. If there are already `maxMentionedJobs`
     * such jobs, others are deleted: first those that are not followed and belong to no tracked link, then those that
     * the service does not know. A job that waits for its first poll is never deleted. If there is no other, the new job
     * is not stored.
     *
     * Parameters: $1 key, $2 user id, $3 job id, $4 ref id of the job's link or null, $5 key of this link or null,
     * $6 signed time in ms, $7 `maxJobs`, $8 trace context.
     */
    storeCallback: `with known as materialized (
  select is_proven from ${tracked} where key = $1::uuid
), counted as materialized (
  select n.turn, n.waiting,
    case when exists (select from known) then 0 else (
      select count(*) from (select from ${tracked} t where ${isMentioned('t')}
        order by t.state, t.callback_signed_at offset ${maxMentionedJobs - 1} limit ${maxDropped}) excess)
    end::integer as excess
  from (select count(*)::integer as turn,
      (count(*) filter (where t.polls = 0))::integer as waiting
    from ${tracked} t
    where ${isMentioned('t')} and t.state in (${states.heard}, ${states.tracking}) and t.callback_signed_at = ${signedAt}
      and not exists (select from known where is_proven)) n
), victims as materialized (
  select key from (
    ${dropped(`t.state = ${states.heard} and t.mentioned_polls = 0 and not exists (${linkOf})`)}
    union all ${dropped(`t.state = ${states.heard} and t.mentioned_polls > 0`)}
    union all ${dropped(`t.state = ${states.tracking} and t.mentioned_polls > 0`)}
  ) d
  limit (select case when waiting < $7::integer then excess else 0 end from counted)
), dropped as (
  delete from ${tracked} where key = any(array(select key from victims))
), refused as materialized (
  select case when exists (select from known) then null when waiting >= $7::integer then 'time'
    when excess > 0 and not exists (select from victims) then 'full' end as refusal
  from counted
), written as (
insert into ${tracked} as t
  (key, kind, state, user_id, job_id, link_ref_id, context, due, deadline, mentioned_at, callback_signed_at, mentioned_turn, mentioned_polls,
    forced_at, is_proven, callback_trace)
select $1::uuid, ${kinds.job}, case when o.follows then ${states.tracking} else ${states.heard} end,
  $2::text, $3::text, $4::text, o.context, case when o.follows then now() end,
  case when o.follows then now() + ${interval(deadlineMs)} end, now(), ${signedAt}, counted.turn, 0, now(), false, $8::text
from ${ownerOf('$5')} o cross join counted cross join refused
where refused.refusal is null
on conflict (key) do update set
  due = case when ${isBrought} then ${soonest} when ${isRechecked} then now() + ${interval(lagMs)} else t.due end,
  callback_trace = case when ${isBrought} or ${isRechecked} then excluded.callback_trace else t.callback_trace end,
  forced_at = case when ${isBrought} then ${soonest} when ${isRechecked} then now() else t.forced_at end,
  step = case when ${isBrought} or ${isRechecked} then 0 else t.step end,
  state = case when ${isAdopted} then ${states.tracking} else t.state end,
  context = case when ${isAdopted} then excluded.context else t.context end,
  link_ref_id = case when ${isAdopted} or ${isLinked} then excluded.link_ref_id else t.link_ref_id end,
  deadline = coalesce(t.deadline, excluded.deadline),
  callback_signed_at = case when ${isNewer} then excluded.callback_signed_at else t.callback_signed_at end,
  mentioned_turn = case when ${isTurned} then excluded.mentioned_turn else t.mentioned_turn end,
  mentioned_polls = case when ${isTurned} then 0 else t.mentioned_polls end,
  mentioned_link_ref_id = ${mentionedLink}
where ${isBrought} or ${isNewer} or ${isLinked} or t.mentioned_link_ref_id is distinct from ${mentionedLink}
returning 1
)
select (exists (select from written))::text as is_written, (select refusal from refused) as refusal`,
  };
}
