/**
 * The statements about all processes together: problems, pauses, counts and housekeeping.
 *
 * @module
 */

import type { StoredSettings } from '../options.js';
import { endSilent } from '../places/pool-sql.js';
import { kinds, lastPollMs, leaseMsOf, ownProblemMs, states } from '../rules.js';
import { clockSlackMs, type Expressions, interval, milliseconds } from './expressions.js';

/** Creates the statements. */
export function createFleetStatements(
  settings: StoredSettings,
  { tracked, fleet, firstDue, heldByProblem, heldByService, isMentioned, mismatch }: Expressions,
) {
  const { place, schema, deadlineMs, retentionMs, maxDelayMs, maxRetryMs } = settings;
  const longest = { due: Math.max(maxDelayMs, lastPollMs), deliver_at: Math.max(maxRetryMs, leaseMsOf(settings)) };
  const declared = { due: 'longest_delay_ms', deliver_at: 'longest_lease_ms' } as const;
  // No wait of any process is longer. A date further in the future shows that the clock has gone back.
  const pullForward = (
    date: keyof typeof longest,
    which: string,
  ) => `update ${tracked} set ${date} = now() where key = any(array(
  select t.key from ${tracked} t
  where ${which} and t.${date} > now() + (select ${interval(`(greatest(f.${declared[date]}, ${longest[date]}) + ${clockSlackMs})`)} from ${fleet} f)
  order by t.${date} desc limit 500 for update skip locked)) returning 1 as pulled`;
  const problems = `f.problem_code, ${milliseconds('f.problem_since')} as problem_since, ${mismatch('f')} as mismatch,
  case when ${heldByService('f')} > clock_timestamp() then ${milliseconds('f.asked_at')} end as paused_since,
  case when ${heldByService('f')} > clock_timestamp() then ${milliseconds('f.asked_until')} end as paused_until`;
  const lowestBelow = (date: 'due' | 'deliver_at', floor: string, which: string) => `(select t.${date} from ${tracked} t
    where t.${date} < f.${floor} and ${which} order by t.${date} limit 1)`;
  // PGlite has no autovacuum, so no statistics know more about a folder.
  const countedRows = 'folder' in place ? 10_000 : 500;
  const endedIn = (state: number) => `t.state = ${state} and t.ended_at is not null order by t.ended_at`;
  // Without the order of an index, PostgreSQL might read the whole table.
  const countFirst = (rows: string) =>
    `(select count(*) from (select from ${tracked} t where ${rows} limit ${countedRows}) counted)`;
  const counts = [
    [states.heard, countFirst(`${isMentioned('t')} and t.state = ${states.heard} order by t.callback_signed_at`)],
    [
      states.tracking,
      `${countFirst(`t.due is not null and t.is_proven and t.state = ${states.tracking} order by t.due`)}
    + ${countFirst(`t.due is not null and ${isMentioned('t')} order by t.due`)}`,
    ],
    ...[states.handingOver, states.done, states.dead].map((state) => [state, countFirst(endedIn(state))] as const),
  ] as const;
  // A handler has begun, and none has succeeded.
  const isFailing = `t.state = ${states.handingOver} and t.attempts > 0 and t.state_before is null`;
  const askedUntil = `clock_timestamp() + ${interval('$1::double precision')}`;

  return {
    /**
     * Stores a problem that affects all jobs, and returns a row. If only this process has the problem, nothing is stored.
     * Parameters: $1 code of the error, $2 whether no request of this process has ever succeeded.
     */
    problem: `update ${fleet} f set problem_code = $1::text, problem_since = coalesce(problem_since, now()),
  hold_until = greatest(${heldByProblem('f')}, clock_timestamp() + ${interval(1_000)})
where not ($2::boolean and f.problem_code is null
  and coalesce(f.well_at between now() - ${interval(ownProblemMs)} and now() + ${interval(clockSlackMs)}, false))
returning 1 as stored`,

    /**
     * Removes the problem. If the service has requested a pause that is not over yet, all processes continue after this
     * pause. Otherwise, they continue at once.
     */
    recovered: `update ${fleet} set problem_code = null, problem_since = null, problem_polls = 0, hold_until = null
where problem_code is not null`,

    /**
     * Stores a pause that the service has requested. It applies to all processes. Parameter: $1 length of the pause in
     * ms.
     */
    hold: `update ${fleet} f set asked_until = greatest(${heldByService('f')}, ${askedUntil}),
  asked_at = case when ${heldByService('f')} > ${askedUntil} then asked_at else clock_timestamp() end`,

    /** Says whether the tracker's tables fit this process. */
    compare: `select ${mismatch('f')} as mismatch from ${fleet} f`,

    /** Declares the longest waits of this process, so that no other process takes them for those of a clock that went back. */
    declare: `update ${fleet} f set longest_delay_ms = greatest(f.longest_delay_ms, ${longest.due}),
  longest_lease_ms = greatest(f.longest_lease_ms, ${longest.deliver_at})
where f.longest_delay_ms < ${longest.due} or f.longest_lease_ms < ${longest.deliver_at}`,

    /**
     * Ends connections whose last messages never arrived, because their machine has vanished in the middle of a
     * statement. The server would keep their locks for hours.
     */
    endSilent: endSilent,

    stats: `select f.requests_sent::double precision as requests_sent, ${milliseconds('f.polled_at')} as polled_at, ${problems}, c.*
from ${fleet} f, (select
  count(*) filter (where t.kind = ${kinds.job} and t.state = ${states.heard})::double precision as heard,
  count(*) filter (where t.kind = ${kinds.job} and t.state = ${states.tracking})::double precision as tracking,
  count(*) filter (where t.kind = ${kinds.link} and t.state = ${states.tracking})::double precision as links,
  (count(*) filter (where t.due < now()) + count(*) filter (where t.deliver_at < now()))::double precision as overdue,
  coalesce(${milliseconds('now() - least(min(t.due) filter (where t.due < now()), min(t.deliver_at) filter (where t.deliver_at < now()))')}, 0) as oldest_ms,
  count(*) filter (where ${isFailing})::double precision as failing,
  coalesce(${milliseconds(`now() - min(t.ended_at) filter (where ${isFailing})`)}, 0) as failing_ms,
  count(*) filter (where t.state = ${states.handingOver})::double precision as handing_over,
  count(*) filter (where t.state = ${states.dead})::double precision as dead
  from ${tracked} t) c`,

    /**
     * Reads what is measured often. It reads at most 500 rows of each state, in the order of an index. If a
     * state has more rows, their number comes from PostgreSQL's own statistics, which autovacuum renews.
     */
    gauges: `with counted (state, rows) as materialized (
  values ${counts.map(([state, count]) => `(${state}, ${count})`).join(',\n  ')}
), estimated as materialized (
  select e.state, c.reltuples * e.share as rows
  from pg_class c cross join pg_stats s
    cross join unnest(s.most_common_vals::text::smallint[], s.most_common_freqs) as e(state, share)
  where c.oid = '${tracked}'::regclass and s.schemaname = '${schema}' and s.tablename = 'tracked' and s.attname = 'state'
)
select ${problems},
  ${milliseconds(`now() - ${firstDue('f')}`)} as overdue_ms,
  ${milliseconds(`now() - (select t.ended_at from ${tracked} t where ${endedIn(states.handingOver)} limit 1)`)} as waiting_ms,
  (select json_object_agg(c.state, case when c.rows < ${countedRows} then c.rows else greatest(c.rows, round(e.rows)) end)
    from counted c left join estimated e using (state))::text as jobs
from ${fleet} f`,

    /** Returns a row if this process must do the housekeeping now. Each minute, only one process does it. */
    keepHouse: `update ${fleet} set kept_at = now() where kept_at not between now() - interval '1 minute' and now() + ${interval(clockSlackMs)} returning 1 as yes`,

    /**
     * Lowers the floors of the scans, if a date is below one: its transaction was open for long. The table is read before
     * the row of `fleet` is locked.
     */
    lowerFloors: `with below as materialized (
  select ${lowestBelow('due', 'due_floor', 't.is_proven')} as due, ${lowestBelow('due', 'mentioned_floor', isMentioned('t'))} as mentioned,
    least(${['t.is_retry', 'not t.is_retry'].map((which) => lowestBelow('deliver_at', 'deliver_floor', which)).join()}) as deliver_at
  from ${fleet} f
)
update ${fleet} f set due_floor = least(f.due_floor, b.due), mentioned_floor = least(f.mentioned_floor, b.mentioned),
  deliver_floor = least(f.deliver_floor, b.deliver_at)
from below b where b.due < f.due_floor or b.mentioned < f.mentioned_floor or b.deliver_at < f.deliver_floor`,

    /** Makes a batch due whose dates the clock of the database has left behind, because it has gone back. */
    pullDues: pullForward('due', 't.is_proven'),
    pullMentionedDues: pullForward('due', isMentioned('t')),
    pullDeliveries: pullForward('deliver_at', 't.deliver_at is not null'),

    /**
     * Removes a batch of jobs and links that ended long ago. If a link is still followed, its jobs are not removed,
     * because the link counts them as known jobs.
     */
    forget: `delete from ${tracked} where key = any(array(
  select t.key from ${tracked} t
  where t.state in (${states.done}, ${states.untracked}) and t.ended_at < now() - ${interval(retentionMs)}
    and not exists (select from ${tracked} l
      where l.link_ref_id = coalesce(t.link_ref_id, t.mentioned_link_ref_id) and l.kind = ${kinds.link} and l.state = ${states.tracking})
  order by t.ended_at limit 500 for update skip locked)) returning 1 as gone`,

    /** Removes a batch of jobs that callbacks mentioned more than `deadlineMs` ago, and that are not followed. */
    forgetMentioned: `delete from ${tracked} where key = any(array(
  select t.key from ${tracked} t
  where ${isMentioned('t')} and t.state = ${states.heard} and t.mentioned_at < now() - ${interval(deadlineMs)}
  order by t.callback_signed_at limit 500 for update skip locked)) returning 1 as gone`,
  };
}
