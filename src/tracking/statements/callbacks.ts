/**
 * The statement that stores a callback.
 *
 * @module
 */

import type { TrackerSettings } from '../options.js';
import { kinds, states } from '../schema.js';
import { type Expressions, interval } from './expressions.js';

/**
 * The tracker keeps at most this many jobs that only callbacks have mentioned. The oldest of these jobs are deleted
 * first. Jobs that the service knows are not counted.
 */
export const maxToldJobs = 10_000;

/** Creates the statement. */
export function createCallbackStatements(
  { minDelayMs, deadlineMs }: TrackerSettings,
  { tracked, ownerOf }: Expressions,
) {
  // What a callback changes for its job: `isAdopted` says whether the job is followed from now on. `soonest` is the
  // earliest date of the next poll. `isBrought` says whether the next poll is moved to this date.
  const isAdopted = `(t.state = ${states.heard} and excluded.state = ${states.tracking})`;
  const soonest = `greatest(now(), coalesce(t.forced_at, '-infinity') + ${interval(minDelayMs)})`;
  const isBrought = `(${isAdopted} or (t.state = ${states.tracking} and t.due > ${soonest}))`;
  // A callback may name a link for a job that is tracked without a link. The job then counts as a known job of this
  // link (`jobsOf`), but it does not get the link's context.
  const toldLink = `case when t.link_ref_id is null then coalesce(t.told_link_ref_id, excluded.link_ref_id)
    else t.told_link_ref_id end`;

  return {
    /**
     * Stores a callback. The next poll of the job becomes due at once. But if a callback caused a poll less than
     * `minDelayMs` ago, the next poll becomes due `minDelayMs` after that poll. If nothing would change, nothing is
     * written. If there are more than `maxToldJobs` jobs that only callbacks have mentioned, the oldest of these jobs
     * are deleted. The returned row says whether the job had already ended. Parameters: $1 key, $2 user id, $3 job id,
     * $4 ref id of the job's link or null, $5 key of this link or null.
     */
    hear: `with before as (
  select 1 from ${tracked} where key = $1::uuid and ended_at is not null and state <> ${states.untracked}
), dropped as (
  delete from ${tracked} where key = any(array(
    select key from ${tracked} where not is_proven order by told_at desc offset ${maxToldJobs - 1} limit 10)) and key <> $1::uuid
), written as (
insert into ${tracked} as t
  (key, kind, state, user_id, job_id, link_ref_id, context, due, deadline, told_at, forced_at, is_proven)
select $1::uuid, ${kinds.job}, case when o.follows then ${states.tracking} else ${states.heard} end,
  $2::text, $3::text, $4::text, o.context, case when o.follows then now() end,
  case when o.follows then now() + ${interval(deadlineMs)} end, now(), now(), false
from ${ownerOf('$5')} o
on conflict (key) do update set
  due = case when ${isBrought} then ${soonest} else t.due end,
  forced_at = case when ${isBrought} then ${soonest} else t.forced_at end,
  step = case when ${isBrought} then 0 else t.step end,
  state = case when ${isAdopted} then ${states.tracking} else t.state end,
  context = case when ${isAdopted} then excluded.context else t.context end,
  link_ref_id = case when ${isAdopted} then excluded.link_ref_id else t.link_ref_id end,
  deadline = coalesce(t.deadline, excluded.deadline),
  told_link_ref_id = ${toldLink}
where ${isBrought} or t.told_link_ref_id is distinct from ${toldLink}
)
select exists (select from before) as has_ended`,
  };
}
