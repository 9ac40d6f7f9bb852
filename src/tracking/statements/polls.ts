/**
 * The statements that take due jobs and links, and store the results of their polls.
 *
 * @module
 */

import type { StoredSettings } from '../options.js';
import {
  floorSlackMs,
  kinds,
  lastPollMs,
  maxCredit,
  maxHoldMs,
  maxUnknownPolls,
  minLateMs,
  outcomes,
  states,
  steps,
} from '../rules.js';
import { type Expressions, interval, keysOf, milliseconds } from './expressions.js';

/** Creates the statements. */
export function createPollStatements(settings: StoredSettings, shared: Expressions) {
  const { tracked, fleet, isNewest, set, signedAt, floorOf } = shared;
  const { minDelayMs, maxDelayMs, backoffFactor } = settings;
  // True if the row's link needs no proof: the caller tracks the job, or a verified status has named this link. The body
  // of a callback is not signed, so it may name the link of another person.
  const isLinkProven = '(t.mentioned_at is null or (t.is_proven and t.link_ref_id is not null))';
  const hasNoProof = `not ${isLinkProven}`;
  // Takes the link of a callback, and its context, from a job. The job still counts as a known job of this link. Without
  // the condition, the job gets `context`.
  const withoutLink = (condition: string, context = 't.context') => `
  mentioned_link_ref_id = case when ${condition} then coalesce(t.mentioned_link_ref_id, t.link_ref_id) else t.mentioned_link_ref_id end,
  link_ref_id = case when ${condition} then null else t.link_ref_id end,
  context = case when ${condition} then null else ${context} end`;
  // A link may be tracked only after the job is followed.
  const lateContext = `case when t.context is null and t.mentioned_at is not null then (select l.context from ${tracked} l
    where l.link_ref_id = e.link_ref_id and l.kind = ${kinds.link} and l.state in (${states.tracking}, ${states.done}))
    else t.context end`;
  const isLate = `(t.state = ${states.tracking} and t.deadline <= now())`;
  // True if failed polls after the deadline are counted. If the row has got another deadline since, or the database's
  // clock has gone back, the count begins again.
  const isLateCounted = 'coalesce(t.late_since between t.deadline and now(), false)';
  const lateMs = `case when ${isLateCounted} then ${milliseconds('now() - t.late_since')} else 0 end`;
  const lateWait = interval(`least(${maxDelayMs}, greatest(${minLateMs}, (${lateMs})::bigint / 8))`);
  const longestWait = `least(${maxDelayMs}, ${minDelayMs} * power(${backoffFactor}::double precision, t.step))`;
  const raised = (first: string, floor: string) =>
    `coalesce(least(f.${first}, now()) - ${interval(floorSlackMs)}, fleet.${floor})`;
  // Only polls that fail with the same error count.
  const isSameLate = `(${isLateCounted} and t.last_error is not distinct from n.last_error)`;

  return {
    /**
     * Takes due rows, takes one token for each row from the token bucket, and sets the dates of the next polls. A
     * process that dies after this statement leaves no lock behind. The rows have no context, because PostgreSQL keeps the
     * lock of the row of `fleet` until it has sent all rows. The result is one row. Parameters: $1 the largest number of rows, $2 whether
     * the requests of this process succeed.
     *
     * Anyone who has seen a callback can name any number of jobs. So while proven rows are due, at most a quarter of
     * the tokens are for jobs that only callbacks have mentioned. `mentioned_credit` has the part of a token that is
     * left of the quarters of earlier batches. The order of `mentioned_turn` takes one job of each signed time after
     * another, the newest signed time first. So a genuine callback, which is new, does not wait behind captured ones.
     * The condition of `mentioned` is not `isMentioned`, because PostgreSQL could then read another index and sort all
     * rows.
     *
     * While the tables do not fit this process, no row is taken, and `mismatch` says why.
     */
    claim: `with f as materialized (
  select f.problem_code, f.problem_polls, f.rate, ${shared.refilled} as tokens, ${shared.burst} as burst, f.mentioned_credit,
    ${floorOf('f.due_floor')} as floor, ${shared.firstProvenDue('f')} as first_due,
    ${floorOf('f.mentioned_floor')} as mentioned_floor, ${shared.firstMentionedDue('f')} as first_mentioned
  from ${fleet} f
  where ${isNewest('f')} and ${shared.isFree}
    and ${shared.mismatch('f')} is null and ${shared.firstDue('f')} <= now()
  for update
), room as materialized (
  select r.rows, least(ceil(r.rows / 4.0), floor(r.mentioned_credit + r.rows / 4.0))::integer as share from (
    select f.mentioned_credit, least($1::integer,
      case when f.tokens < 1 then 0 when f.problem_code is null then floor(f.tokens)::integer else 1 end) as rows
    from f
  ) r
), mentioned as materialized (
  select key, mentioned_turn, callback_signed_at from (
    select key, mentioned_turn, callback_signed_at from ${tracked}
    where due between (select mentioned_floor from f) and now() and not is_proven
    order by mentioned_turn, callback_signed_at desc limit $1::integer for update skip locked
  ) waiting
  limit coalesce((select rows from room, f where f.first_mentioned <= now()), 0)
), proven as materialized (
  select key from (
    select key from ${tracked} where due between (select floor from f) and now() and is_proven
      order by due limit $1::integer for update skip locked
  ) waiting
  limit coalesce((select rows - least(share, (select count(*) from mentioned)) from room), 0)
), chosen as materialized (
  select key, false as is_mentioned from proven
  union all (
    select key, true from mentioned order by mentioned_turn, callback_signed_at desc
    limit coalesce((select rows - (select count(*) from proven) from room), 0))
), before as materialized (
  select key, due from ${tracked} where key = any(array(select key from chosen))
), taken as (
  update ${tracked} t set polls = polls + 1, step = least(step + 1, 300),
    mentioned_turn = t.mentioned_turn + (t.mentioned_polls > 0)::integer,
    mentioned_polls = t.mentioned_polls + (t.mentioned_polls between 1 and 99)::integer,
    due = case when ${isLate} then now() + ${lateWait}
      when not t.is_proven and t.mentioned_polls >= ${maxUnknownPolls - 1} then now() + ${interval(lastPollMs)}
      else least(now() + ${shared.randomWait(longestWait)}, case when t.state = ${states.tracking} then deadline end) end
  where key = any(array(select key from chosen))
  returning ${shared.ids}, t.last_error, t.is_proven, ${isLinkProven} as is_link_proven, t.mentioned_polls, t.missing,
    t.missing_seen, t.missing_mentioned, ${isLate} as is_late, t.revision, t.version, ${milliseconds('t.signed_at')} as signed_ms,
    case when ${isLateCounted} then t.late_polls else 0 end as late_polls,
    ${lateMs} as late_ms
), charged as (
  update ${fleet} fleet set tokens = f.tokens - n.taken, refilled_at = clock_timestamp(),
    requests_sent = fleet.requests_sent + n.taken, polled_at = clock_timestamp(),
    due_floor = ${raised('first_due', 'due_floor')}, mentioned_floor = ${raised('first_mentioned', 'mentioned_floor')},
    well_at = case when $2::boolean then clock_timestamp() else fleet.well_at end,
    mentioned_credit = least(1, greatest(0, f.mentioned_credit + n.taken / 4.0 - n.mentioned)),
    delivery_credit = least(greatest(${maxCredit}, f.burst), fleet.delivery_credit + n.taken + 2 * n.mentioned),
    problem_polls = case when f.problem_code is null then 0 else least(f.problem_polls + 1, 20) end,
    hold_until = case when f.problem_code is null then null
      else clock_timestamp() + ${interval(`least(${maxHoldMs}, 1000 * power(2, least(f.problem_polls, 6)))`)} end
  from f, (select count(*)::integer as taken, count(*) filter (where is_mentioned) as mentioned from chosen) n
  where n.taken > 0 and ${isNewest('fleet')}
)
select (select json_agg(taken.*) from taken)::text as taken, s.problem_code, s.rate, (select f.tokens from f) as tokens,
  ${milliseconds(`${shared.heldUntil('s')} - clock_timestamp()`)} as hold_ms,
  ${milliseconds('(select min(due) from before) - now()')} as first_ms,
  ${milliseconds(`${shared.firstDue('s')} - now()`)} as next_ms,
  ${milliseconds(`${shared.heldByService('s')} - clock_timestamp()`)} as asked_ms,
  (${shared.firstDue('s')} > now() + ${interval('(greatest(s.longest_delay_ms, 1) + 60000)')})::text as is_impossible,
  ${shared.mismatch('s')} as mismatch
from ${fleet} s where ${isNewest('s')}`,

    /**
     * Counts the known jobs of links, and says whether a link has jobs that callbacks have mentioned and that are not
     * followed yet. Jobs that the service does not know are not counted: a callback may have invented them, and they
     * would hide missing jobs. A link may have many jobs. So this statement is not a part of `claim`, which locks the row
     * of the table `fleet`. Parameter: $1 keys.
     */
    countJobs: `select l.key, j.known + n.known as known, j.has_mentioned
from ${tracked} l cross join lateral (
  select count(*) filter (where not ${shared.isUnknown('j')})::integer as known,
    coalesce(bool_or(j.state = ${states.heard} and not ${shared.isUnknown('j')}), false)::text as has_mentioned
  from ${tracked} j where j.link_ref_id = l.link_ref_id and j.kind = ${kinds.job}
) j cross join lateral (
  select count(*)::integer as known from ${tracked} j where j.mentioned_link_ref_id = l.link_ref_id and j.link_ref_id is null
) n
where l.key = ${keysOf('$1')}`,

    /**
     * Stores the results of polls, if the polled job or link has not ended. If a verified status names no link, the job
     * loses the link that a callback named. Counts the first polls that show that the service does not know a job: several
     * of them may run at the same time. Counts the polls that fail after the deadline. Parameters: $1 JSON of rows,
     * $2 keys.
     */
    note: `update ${tracked} t set last_error = n.last_error,
  mentioned_turn = t.mentioned_turn + (n.first_answers > 0 and t.mentioned_polls = 0)::integer,
  mentioned_polls = case when n.first_answers = 0 then t.mentioned_polls else least(t.mentioned_polls + n.first_answers, 99) end,
  is_proven = t.is_proven or (n.is_proven and (n.link_ref_id is null or t.link_ref_id is not distinct from n.link_ref_id)),${withoutLink(
    `n.has_status and n.link_ref_id is null and ${hasNoProof}`,
  )},
  missing_seen = coalesce(n.missing_seen, t.missing_seen), missing_mentioned = coalesce(n.missing_mentioned, t.missing_mentioned),
  due = least(t.due, now() + ${interval('n.soon_ms')}),
  late_polls = case when not n.is_late then t.late_polls when ${isSameLate} then least(t.late_polls + 1, 30000) else 1 end,
  late_since = case when n.is_late and not ${isSameLate} then now() else t.late_since end
from json_to_recordset($1::text::json) as n(key uuid, last_error text, has_status boolean, is_proven boolean, link_ref_id text,
  missing_seen integer, missing_mentioned integer, soon_ms double precision, is_late boolean, first_answers integer)
where t.key = n.key and t.key = ${keysOf('$2')} and t.state = ${states.tracking}`,

    /**
     * Stops following jobs that only callbacks have mentioned and that the service does not know. Parameter: $1 keys.
     */
    giveUp: `update ${tracked} set ${set(steps.keepMentioned)}, context = null, last_error = 'not_found',
  mentioned_polls = greatest(mentioned_polls, 1)
where key = ${keysOf('$1')} and state = ${states.tracking} and not is_proven`,

    /**
     * Gives a job the link that a verified status names, if its callback named another link or none. The job gets the
     * context of this link. If this link is not tracked, the option `unknownJobs` applies to the job. Parameters: $1 key,
     * $2 ref id of the link or null, $3 key of the link or null.
     */
    relink: `update ${tracked} t set link_ref_id = $2::text, is_proven = o.follows, context = o.context,
  state = case when o.follows then t.state else ${states.heard} end,
  due = case when o.follows then t.due end, deadline = case when o.follows then t.deadline end
from ${shared.ownerOf('$3')} o
where t.key = $1::uuid and t.state = ${states.tracking} and ${hasNoProof}
returning t.state`,

    /**
     * Ends jobs that are followed, gives each end its own id, and stores the error of the last poll of a job that
     * expires. If no verified status has named the link of a job, the job ends without this link and its context. A job
     * without a context gets the one of its proven link. If the link of a job has changed since the poll, the job is not
     * ended, because its context may have changed too. A job does not expire if it has got a new deadline since the poll.
     * Parameters: $1 JSON of rows, $2 keys.
     */
    end: `update ${tracked} t set ${set(steps.end)}, outcome = e.outcome,
  last_error = case when e.outcome = ${outcomes.expired} then e.last_error else t.last_error end,${withoutLink(`e.link_ref_id is null and ${hasNoProof}`, lateContext)}
from json_to_recordset($1::text::json) as e(key uuid, outcome smallint, link_ref_id text, last_error text)
where t.key = e.key and t.key = ${keysOf('$2')} and t.state = ${states.tracking}
  and (${isLinkProven} or e.link_ref_id is null or t.link_ref_id = e.link_ref_id)
  and (e.outcome <> ${outcomes.expired} or t.deadline <= now())
returning t.outcome`,

    /**
     * Ends jobs again whose verdicts have changed since they were handed over, if no other end has been handed over since
     * the poll. Until the handler of the new end begins, `state_before` keeps the state. Parameters: $1 JSON of rows, $2 keys.
     */
    endAgain: `update ${tracked} t set state_before = t.state, ${set(steps.end)}
from json_to_recordset($1::text::json) as e(key uuid, revision integer)
where t.key = e.key and t.key = ${keysOf('$2')} and t.state in (${states.done}, ${states.dead}) and t.revision = e.revision
returning ${outcomes.completed} as outcome`,

    /**
     * Leaves ended jobs as they are whose verdicts have not changed. They are polled once more if a callback was signed
     * shortly before the status, or after it. If the status could not be fetched, they keep the date of their next poll, up
     * to `maxUnknownPolls` polls. Parameters: $1 JSON of rows, $2 keys.
     */
    keepEnd: `update ${tracked} t set last_error = null, signed_at = case when n.is_same then ${signedAt} else t.signed_at end,
  due = case when n.signed_ms is null and t.step < ${maxUnknownPolls} then t.due when t.step <= 1 and n.signed_ms is not null then ${shared.recheckAgain} end
from json_to_recordset($1::text::json) as n(key uuid, revision integer, is_same boolean, signed_ms double precision)
where t.key = n.key and t.key = ${keysOf('$2')} and t.state in (${states.done}, ${states.dead}) and t.revision = n.revision`,

    /** Makes rows due at once whose polls were broken off, because their process stops. Parameter: $1 keys. */
    giveBack: `update ${tracked} set due = now() where key = ${keysOf('$1')} and due > now()`,

    /** Ends links whose deadline has passed, so that they are not polled any more. Parameter: $1 keys. */
    endLinks: `update ${tracked} set ${set(steps.endLink)}
where key = ${keysOf('$1')} and kind = ${kinds.link} and state = ${states.tracking} and deadline <= now()`,

    /**
     * Adds a gap: the row of a completion with the outcome `unheard`. Parameters: $1 key, $2 key of the link, $3 number
     * of jobs to report as missing, $4 how many of these jobs callbacks have mentioned since an earlier report.
     */
    addGap: `with reported as (
  update ${tracked} set missing = $3::integer, missing_seen = $3::integer - $4::integer, missing_mentioned = $4::integer where key = $2::uuid and missing < $3::integer
  returning link_ref_id, context
)
insert into ${tracked} (key, kind, state, outcome, link_ref_id, context, missing, ended_at, end_id, deliver_at)
select $1::uuid, ${kinds.gap}, ${states.handingOver}, ${outcomes.unheard}, link_ref_id, context, $3::integer, now(), gen_random_uuid(), now()
from reported
on conflict (key) do nothing
returning key`,
  };
}
