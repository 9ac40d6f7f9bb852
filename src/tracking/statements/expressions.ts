/**
 * The expressions of SQL that several statements share.
 *
 * @module
 */

import type { StoredSettings } from '../options.js';
import { burstSeconds, kinds, lagMs, maxHoldMs, type Step, states } from '../rules.js';
import { quote } from '../schema/schema.js';
import { mismatchOf } from '../schema/versions.js';

/** A date may be this far in the future, in ms, without the clock having gone back. */
export const clockSlackMs = 1_000;

/** The expressions that the statements on one schema share. */
export type Expressions = ReturnType<typeof createExpressions>;

/** Converts a date to milliseconds since the epoch. */
export const milliseconds = (time: string) => `(extract(epoch from ${time}) * 1000)::double precision`;
/** Converts milliseconds to an interval. */
export const interval = (ms: number | string) => `(${ms} * interval '1 millisecond')`;
/** Reads a parameter that is a JSON list of keys. */
export const keysOf = (parameter: string) =>
  `any(array(select jsonb_array_elements_text(${parameter}::text::jsonb)::uuid))`;

/** Creates the expressions for one schema. */
export function createExpressions({ schema, unknownJobs, deadlineMs }: StoredSettings) {
  const tracked = `${quote(schema)}.tracked`;
  const fleet = `${quote(schema)}.fleet`;
  // True of the one row of `fleet`. While another transaction stays open, PostgreSQL keeps all of its versions. An index
  // of a date that changes once a minute leads past them, and no other update of the row changes the index.
  const isNewest = (row: string) => `${row}.kept_at >= (select max(kept_at) from ${fleet})`;
  // If the database's clock goes back, for example after a failover, the difference counts as time that has
  // passed. Otherwise no request could be sent until the clock reaches its old time again.
  const burst = `greatest(1, f.rate * ${burstSeconds})`;
  const unused = `(f.tokens + abs(extract(epoch from clock_timestamp() - f.refilled_at))::double precision * f.rate)`;
  const refilled = `least(${burst}, ${unused})`;
  // A date counts only while the clock is between the time at which the date was set and the date itself. Otherwise the
  // clock has gone back, and a wait would take much too long. A problem never sets a wait of more than a minute.
  const now = `(clock_timestamp() + ${interval(clockSlackMs)})`;
  const heldByProblem = (row: string) =>
    `case when ${row}.hold_until <= ${now} + ${interval(maxHoldMs)} then ${row}.hold_until end`;
  const heldByService = (row: string) => `case when ${row}.asked_at <= ${now} then ${row}.asked_until end`;
  const heldUntil = (row: string) => `greatest(${heldByProblem(row)}, ${heldByService(row)})`;
  // A row is proven unless only callbacks have mentioned its job. If PostgreSQL expects many due rows,
  // it may search the whole table for one of them. These subqueries make it read the first row of an index instead.
  // Scans begin at a floor. If the clock has gone back, it does not count.
  const floorOf = (floor: string) => `case when ${floor} <= now() then ${floor} else '-infinity' end`;
  const isMentioned = (row: string) => `(not ${row}.is_proven and ${row}.mentioned_at is not null)`;
  const firstAbove = (floor: string, which: string) => `(select t.due from ${tracked} t
    where t.due is not null and ${which} and t.due >= ${floorOf(floor)} order by t.due limit 1)`;
  const firstProvenDue = (row: string) => firstAbove(`${row}.due_floor`, 't.is_proven');
  const firstMentionedDue = (row: string) => firstAbove(`${row}.mentioned_floor`, isMentioned('t'));
  const firstDue = (row: string) => `least(${firstProvenDue(row)}, ${firstMentionedDue(row)})`;
  const isFree = `coalesce(${heldUntil('f')} <= clock_timestamp(), true)`;
  // Half of a wait is random, so that jobs that were tracked at the same time are polled at different times.
  const randomWait = (longest: number | string) => interval(`${longest} * (0.5 + random() / 2)`);
  // True if the service does not know the job and only callbacks have mentioned it.
  const isUnknown = (row: string) => `(not ${row}.is_proven and ${row}.last_error is not distinct from 'not_found')`;
  // Says whether a job that only callbacks have mentioned is followed, and with which context.
  const ownerOf = (linkKey: string) => `(select l.context, l.key is not null or ${unknownJobs === 'track'} as follows
    from (select 1) one left join ${tracked} l
      on l.key = ${linkKey}::uuid and l.kind = ${kinds.link} and l.state in (${states.tracking}, ${states.done}))`;
  // The date of a further poll of a job that has ended. A callback that was signed since the status was, or shortly
  // before it, may be about a newer result. A poll that was made for a callback needs no other if its status was signed
  // `lagMs` after the callback.
  const recheckIf = (isAfter: '>=' | '>', signedAt: string) =>
    `case when t.callback_signed_at ${isAfter} coalesce(${signedAt}, '-infinity') - ${interval(lagMs)} then now() + ${interval(lagMs)} end`;
  // Several polls of a job may run at the same time, so a status may be stored after one that was signed later.
  const signedAt = 'greatest(t.signed_at, to_timestamp(n.signed_ms / 1000))';
  const late: Step = {
    now: 'now()',
    deadline: `now() + ${interval(deadlineMs)}`,
    id: 'gen_random_uuid()',
    state_before: 't.state_before',
    recheck: recheckIf('>=', 't.signed_at'),
  };
  const recheckAgain = recheckIf('>', signedAt);
  const set = (step: Step) =>
    Object.entries(step)
      .map(([column, value]) => `${column} = ${late[String(value)] ?? value}`)
      .join(', ');
  const ids = 't.key, t.kind, t.state, t.user_id, t.job_id, t.link_ref_id';
  const identity = `${ids}, t.context::text as context`;
  return {
    tracked,
    fleet,
    isNewest,
    burst,
    unused,
    refilled,
    heldByProblem,
    heldByService,
    heldUntil,
    firstProvenDue,
    firstMentionedDue,
    floorOf,
    firstDue,
    isMentioned,
    isFree,
    mismatch: (row: string) => mismatchOf(row, tracked),
    isUnknown,
    ownerOf,
    recheckAgain,
    signedAt,
    set,
    ids,
    identity,
    randomWait,
  };
}
