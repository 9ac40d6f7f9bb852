/**
 * The SQL statements of the tracker. They use only the clock of the database, so the clocks of processes may differ.
 * Times are passed as milliseconds, because drivers read dates in different ways. Lists are passed as JSON, because
 * every driver sends JSON unchanged. Updates find their rows by `key = any(array)`. With only a join on the list,
 * PostgreSQL might read the whole table.
 *
 * @module
 */

import type { TrackerSettings } from './options.js';
import { kinds, outcomes, quote, states } from './schema.js';

/**
 * The tracker keeps at most this many jobs that only callbacks have mentioned. The oldest of these jobs are deleted
 * first. Jobs that the service knows are not counted.
 */
export const maxToldJobs = 10_000;

/**
 * Deliveries may take more tokens than the token bucket has. The deficit is at most the number of tokens that the
 * bucket gets in this many seconds. Beyond this limit, a completion is not delivered, and its job is followed again.
 */
export const maxDebtSeconds = 5;

/** The SQL of all statements on a schema. */
export type Statements = ReturnType<typeof createStatements>;

const milliseconds = (time: string) => `(extract(epoch from ${time}) * 1000)::double precision`;
const interval = (ms: number | string) => `(${ms} * interval '1 millisecond')`;
const keysOf = (parameter: string) => `any(array(select jsonb_array_elements_text(${parameter}::text::jsonb)::uuid))`;

/** Creates the SQL of all statements on a schema. */
export function createStatements(settings: TrackerSettings) {
  const { schema, minDelayMs, maxDelayMs, backoffFactor, deadlineMs, unknownJobs, retentionMs } = settings;
  const tracked = `${quote(schema)}.tracked`;
  const fleet = `${quote(schema)}.fleet`;
  // The token bucket has at most the tokens of a tenth of a second, so the requests of one second exceed the rate only
  // slightly. If the database's clock goes back, for example after a failover, the difference counts as time that has
  // passed. Otherwise no request could be sent until the clock reaches its old time again.
  const burst = 'greatest(1, f.rate / 10)';
  const refilled = `least(${burst}, f.tokens
      + abs(extract(epoch from clock_timestamp() - f.refilled_at))::double precision * f.rate)`;
  const heldUntil = (row: string) => `greatest(${row}.hold_until, ${row}.asked_until)`;
  // If PostgreSQL expects many due rows, it may search the whole table for one of them. This subquery makes it read the
  // first row of the index `tracked_due` instead.
  const firstDue = `(select t.due from ${tracked} t where t.due is not null order by t.due limit 1)`;
  const isFree = `coalesce(${heldUntil('f')} <= clock_timestamp(), true)`;
  // Half of the delay is random, so that jobs that were tracked at the same time are polled at different times.
  const delay = `${interval(`least(${maxDelayMs}, ${minDelayMs} * power(${backoffFactor}::double precision, t.step)) * (0.5 + random() / 2)`)}`;
  // What a callback changes for its job: `isAdopted` says whether the job is followed from now on. `soonest` is the
  // earliest date of the next poll. `isBrought` says whether the next poll is moved to this date.
  const isAdopted = `(t.state = ${states.heard} and excluded.state = ${states.tracking})`;
  const soonest = `greatest(now(), coalesce(t.forced_at, '-infinity') + ${interval(minDelayMs)})`;
  const isBrought = `(${isAdopted} or (t.state = ${states.tracking} and t.due > ${soonest}))`;
  // True if the service does not know the job and only callbacks have mentioned it.
  const isUnknown = (row: string) => `(not ${row}.is_proven and ${row}.last_error is not distinct from 'not_found')`;
  // A callback may name a link for a job that is tracked without a link. The job then counts as a known job of this
  // link (`jobsOf`), but it does not get the link's context.
  const toldLink = `case when t.link_ref_id is null then coalesce(t.told_link_ref_id, excluded.link_ref_id)
    else t.told_link_ref_id end`;
  // Counts the known jobs of a link. Jobs that the service does not know are not counted: a callback may have invented
  // them, and they would hide missing jobs.
  const jobsOf = (link: string) => `(select count(*) from ${tracked} j
      where j.link_ref_id = ${link} and j.kind = ${kinds.job} and not ${isUnknown('j')})::integer
      + (select count(*) from ${tracked} j where j.told_link_ref_id = ${link} and j.link_ref_id is null)::integer`;
  // Says whether a job that only callbacks have mentioned is followed, and with which context.
  const ownerOf = (linkKey: string) => `(select l.context, l.key is not null or ${unknownJobs === 'track'} as follows
    from (select 1) one left join ${tracked} l
      on l.key = ${linkKey}::uuid and l.kind = ${kinds.link} and l.state in (${states.tracking}, ${states.done}))`;
  const identity = `t.key, t.kind, t.state, t.user_id, t.job_id, t.link_ref_id, t.context::text as context`;

  return {
    /**
     * Tracks any number of jobs. A job that is already tracked is not changed. If only callbacks have mentioned a
     * job, the given context and link replace those from the callbacks. The link in a callback is not signed, so the
     * context of that link could belong to another person.
     */
    track: `insert into ${tracked} as t (key, kind, state, user_id, job_id, link_ref_id, context, due, deadline)
select j.key, ${kinds.job}, ${states.tracking}, j.user_id, j.job_id, j.link_ref_id, j.context::json, now(),
  coalesce(to_timestamp(j.deadline / 1000), now() + ${interval(deadlineMs)})
from json_to_recordset($1::text::json)
  as j(key uuid, user_id text, job_id text, link_ref_id text, context text, deadline double precision)
order by j.key
on conflict (key) do update set state = excluded.state, due = excluded.due, deadline = excluded.deadline,
  context = excluded.context, link_ref_id = excluded.link_ref_id,
  told_link_ref_id = coalesce(t.told_link_ref_id, t.link_ref_id), is_proven = true, told_at = null,
  step = 0, attempts = 0, last_error = null, failure_name = null, failure_code = null, ended_at = null, outcome = null
where t.state in (${states.heard}, ${states.untracked}) or (t.state = ${states.tracking} and t.told_at is not null)`,

    /**
     * Tracks a link, and follows the jobs of this link that callbacks have already mentioned. Parameters: $1 key,
     * $2 ref id, $3 context, $4 deadline.
     */
    trackLink: `with link as (
  insert into ${tracked} as t (key, kind, state, link_ref_id, context, due, deadline)
  values ($1::uuid, ${kinds.link}, ${states.tracking}, $2::text, $3::text::json, now(),
    coalesce(to_timestamp($4::double precision / 1000), now() + ${interval(deadlineMs)}))
  on conflict (key) do update set state = ${states.tracking}, context = excluded.context, due = now(),
    deadline = excluded.deadline, step = 0, ended_at = null
  where t.state = ${states.done}
)
update ${tracked} t set state = ${states.tracking}, context = coalesce(
    (select l.context from ${tracked} l where l.key = $1::uuid), $3::text::json),
  due = now(), deadline = now() + ${interval(deadlineMs)}, step = 0
where t.link_ref_id = $2::text and t.kind = ${kinds.job} and t.state = ${states.heard}`,

    /**
     * Follows jobs that `trackLink` missed, because their callbacks were stored while it was running. Parameter: $1 key
     * of the link.
     */
    adopt: `update ${tracked} t set state = ${states.tracking}, context = l.context, due = now(),
  deadline = now() + ${interval(deadlineMs)}, step = 0
from ${tracked} l
where l.key = $1::uuid and t.link_ref_id = l.link_ref_id and t.kind = ${kinds.job} and t.state = ${states.heard}
  and not ${isUnknown('t')}`,

    /**
     * Stops tracking a job. Its row is kept, because otherwise the job would count as a missing job of its link.
     * Parameter: $1 key.
     */
    untrack: `update ${tracked} set state = ${states.untracked}, due = null, ended_at = now(), context = null, is_proven = true
where key = $1::uuid and kind = ${kinds.job} and state in (${states.heard}, ${states.tracking}, ${states.handingOver}, ${states.dead})
returning key`,

    get: `select ${identity}, t.polls, t.last_error, ${milliseconds('t.due')} as due, ${milliseconds('t.deadline')} as deadline
from ${tracked} t where t.key = $1::uuid and t.kind = ${kinds.job} and t.state <> ${states.untracked}`,

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

    /**
     * Takes due rows, takes one token for each row from the token bucket, and sets the dates of the next polls. A
     * process that dies after this statement leaves no lock behind. The first row of the result describes the token
     * bucket. All other rows of the result are the taken rows. Parameter: $1 the largest number of rows.
     */
    claim: `with f as materialized (
  select f.problem_code, f.problem_looks, f.rate, ${refilled} as tokens, ${burst} as burst
  from ${fleet} f
  where ${isFree}
    and ${firstDue} <= now()
  for update
), chosen as materialized (
  select key from (
    select key from ${tracked} where due <= now() order by due limit $1::integer for update skip locked
  ) waiting
  limit coalesce((select case when tokens < 1 then 0 when problem_code is null then floor(tokens)::integer else 1 end from f), 0)
), before as materialized (
  select key, due from ${tracked} where key = any(array(select key from chosen))
), taken as (
  update ${tracked} t set polls = polls + 1, step = least(step + 1, 300),
    due = case when deadline <= now() then now() + ${interval(Math.max(minDelayMs, 30_000))}
      else least(now() + ${delay}, deadline) end
  where key = any(array(select key from chosen))
  returning ${identity}, t.polls, t.last_error, t.is_proven, t.missing, t.missing_seen, t.missing_told, deadline <= now() as is_last,
    case when t.kind = ${kinds.link} then ${jobsOf('t.link_ref_id')} end as known,
    t.kind = ${kinds.link} and exists (select from ${tracked} j
      where j.link_ref_id = t.link_ref_id and j.kind = ${kinds.job} and j.state = ${states.heard}
        and not ${isUnknown('j')}) as has_heard
), charged as (
  update ${fleet} fleet set tokens = f.tokens - n.taken, refilled_at = clock_timestamp(),
    requests_sent = fleet.requests_sent + n.taken,
    problem_looks = case when f.problem_code is null then 0 else least(f.problem_looks + 1, 20) end,
    hold_until = case when f.problem_code is null then null
      else clock_timestamp() + ${interval(`least(60000, 1000 * power(2, least(f.problem_looks, 6)))`)} end
  from f, (select count(*)::integer as taken from taken) n
  where n.taken > 0
)
select null::uuid as key, ${milliseconds(`${heldUntil('s')} - clock_timestamp()`)} as hold_ms, s.problem_code, s.rate,
  (select f.tokens from f) as tokens,
  ${milliseconds('(select min(due) from before) - now()')} as first_ms,
  ${milliseconds(`${firstDue} - now()`)} as next_ms,
  null as kind, null as state, null as user_id, null as job_id, null as link_ref_id, null as context, null as polls,
  null as last_error, null as is_proven, null as missing, null as missing_seen, null as missing_told, null as is_last, null as known, null as has_heard
from ${fleet} s
union all
select t.key, null, null, null, null, null, null, t.kind, t.state, t.user_id, t.job_id, t.link_ref_id, t.context, t.polls,
  t.last_error, t.is_proven, t.missing, t.missing_seen, t.missing_told, t.is_last, t.known, t.has_heard
from taken t`,

    /** Stores the results of polls, if the polled job or link has not ended. Parameters: $1 JSON of rows, $2 keys. */
    note: `update ${tracked} t set last_error = n.last_error,
  is_proven = t.is_proven or (n.is_proven and t.link_ref_id is not distinct from n.link_ref_id),
  missing_seen = coalesce(n.missing_seen, t.missing_seen), missing_told = coalesce(n.missing_told, t.missing_told),
  due = case when n.is_soon then least(t.due, now() + ${interval(minDelayMs)}) else t.due end
from json_to_recordset($1::text::json)
  as n(key uuid, last_error text, is_proven boolean, link_ref_id text, missing_seen integer, missing_told integer, is_soon boolean)
where t.key = n.key and t.key = ${keysOf('$2')} and t.state = ${states.tracking}`,

    /**
     * Stops following jobs that only callbacks have mentioned and that the service does not know. Parameter: $1 keys.
     */
    giveUp: `update ${tracked} set state = ${states.heard}, due = null, deadline = null, context = null, last_error = 'not_found'
where key = ${keysOf('$1')} and state = ${states.tracking} and not is_proven`,

    /**
     * Changes the link of a job whose callback named a wrong link. The job gets the context of the right link. If the
     * right link is not tracked, the option `unknownJobs` applies to the job. Parameters: $1 key, $2 ref id of the
     * right link or null, $3 key of the right link or null.
     */
    relink: `update ${tracked} t set link_ref_id = $2::text, is_proven = o.follows, context = o.context,
  state = case when o.follows then t.state else ${states.heard} end,
  due = case when o.follows then t.due end, deadline = case when o.follows then t.deadline end
from ${ownerOf('$3')} o
where t.key = $1::uuid and t.state = ${states.tracking} and not t.is_proven
returning t.state`,

    /**
     * Ends jobs that are followed. If the link of a job has changed since the poll, the job is not ended, because its
     * context may have changed too. Parameters: $1 keys, $2 outcome, $3 JSON of rows.
     */
    end: `update ${tracked} t set state = ${states.handingOver}, outcome = $2::smallint, due = null, ended_at = now(),
  is_proven = true
from json_to_recordset($3::text::json) as e(key uuid, link_ref_id text)
where t.key = e.key and t.key = ${keysOf('$1')} and t.state = ${states.tracking}
  and (t.is_proven or t.link_ref_id is not distinct from e.link_ref_id)
returning t.key, t.attempts`,

    /** Stores the error of the last poll for jobs that have expired. Parameters: $1 JSON of rows, $2 keys. */
    endErrors: `update ${tracked} t set last_error = n.last_error
from json_to_recordset($1::text::json) as n(key uuid, last_error text)
where t.key = n.key and t.key = ${keysOf('$2')}`,

    /** Ends links, so that they are not polled any more. Parameter: $1 keys. */
    endLinks: `update ${tracked} set state = ${states.done}, due = null, ended_at = now()
where key = ${keysOf('$1')} and kind = ${kinds.link} and state = ${states.tracking}`,

    /**
     * Adds a gap: the row of a completion with the outcome `unheard`. Parameters: $1 key, $2 key of the link, $3 number
     * of jobs to report as missing, $4 how many of these jobs callbacks have mentioned since an earlier report.
     */
    addGap: `with reported as (
  update ${tracked} set missing = $3::integer, missing_seen = $3::integer - $4::integer, missing_told = $4::integer where key = $2::uuid and missing < $3::integer
  returning link_ref_id, context
)
insert into ${tracked} (key, kind, state, outcome, link_ref_id, context, missing, ended_at)
select $1::uuid, ${kinds.gap}, ${states.handingOver}, ${outcomes.unheard}, link_ref_id, context, $3::integer, now() from reported
on conflict (key) do nothing
returning key, attempts`,

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
select r.*, c.tokens, s.rate, coalesce(${firstDue} <= now(), false) as has_due
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

    /** Stores a problem that affects all jobs. Parameter: $1 code of the error. */
    problem: `update ${fleet} set problem_code = $1::text, problem_since = coalesce(problem_since, now()),
  hold_until = greatest(hold_until, clock_timestamp() + ${interval(1_000)})`,

    /**
     * Removes the problem. If the service has requested a pause that is not over yet, all processes continue after this
     * pause. Otherwise, they continue at once.
     */
    recovered: `update ${fleet} set problem_code = null, problem_since = null, problem_looks = 0, hold_until = null
where problem_code is not null`,

    /**
     * Stores a pause that the service has requested. It applies to all processes. Parameter: $1 length of the pause in
     * ms.
     */
    hold: `update ${fleet} set asked_until = greatest(asked_until, clock_timestamp() + ${interval('$1::double precision')})`,

    stats: `select f.requests_sent::double precision as requests_sent, f.problem_code,
  ${milliseconds('f.problem_since')} as problem_since, c.*
from ${fleet} f, (select
  count(*) filter (where t.kind = ${kinds.job} and t.state = ${states.heard})::double precision as heard,
  count(*) filter (where t.kind = ${kinds.job} and t.state = ${states.tracking})::double precision as tracking,
  count(*) filter (where t.due < now())::double precision as overdue,
  coalesce(${milliseconds('now() - min(t.due) filter (where t.due < now())')}, 0) as oldest_ms,
  count(*) filter (where t.state = ${states.handingOver})::double precision as handing_over,
  count(*) filter (where t.state = ${states.dead})::double precision as dead
  from ${tracked} t) c`,

    /**
     * Returns a row if this process must do the housekeeping now. Each minute, only one process does the housekeeping.
     */
    keepHouse: `update ${fleet} set kept_at = now() where kept_at < now() - interval '1 minute' returning 1 as yes`,

    /**
     * Removes a batch of jobs and links that ended long ago. If a link is still followed, its jobs are not removed,
     * because the link counts them as known jobs.
     */
    forget: `delete from ${tracked} where key = any(array(
  select t.key from ${tracked} t
  where t.state in (${states.done}, ${states.untracked}) and t.ended_at < now() - ${interval(retentionMs)}
    and not exists (select from ${tracked} l
      where l.link_ref_id = coalesce(t.link_ref_id, t.told_link_ref_id) and l.kind = ${kinds.link} and l.state = ${states.tracking})
  order by t.ended_at limit 500 for update skip locked)) returning 1 as gone`,

    /** Removes a batch of jobs that callbacks mentioned more than `deadlineMs` ago, and that are not followed. */
    forgetHeard: `delete from ${tracked} where key = any(array(
  select t.key from ${tracked} t
  where not t.is_proven and t.state = ${states.heard} and t.told_at < now() - ${interval(deadlineMs)}
  order by t.told_at limit 500 for update skip locked)) returning 1 as gone`,
  };
}
