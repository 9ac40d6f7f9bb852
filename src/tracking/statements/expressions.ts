/**
 * The expressions of SQL that several statements share.
 *
 * @module
 */

import type { TrackerSettings } from '../options.js';
import { kinds, quote, states } from '../schema.js';

/**
 * Deliveries may take more tokens than the token bucket has. The deficit is at most the number of tokens that the
 * bucket gets in this many seconds. Beyond this limit, a completion is not delivered, and its job is followed again.
 */
export const maxDebtSeconds = 5;

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
export function createExpressions({ schema, unknownJobs }: TrackerSettings) {
  const tracked = `${quote(schema)}.tracked`;
  const fleet = `${quote(schema)}.fleet`;
  // The token bucket has at most the tokens of a tenth of a second, so the requests of one second exceed the rate only
  // slightly. If the database's clock goes back, for example after a failover, the difference counts as time that has
  // passed. Otherwise no request could be sent until the clock reaches its old time again.
  const burst = 'greatest(1, f.rate / 10)';
  const refilled = `least(${burst}, f.tokens
      + abs(extract(epoch from clock_timestamp() - f.refilled_at))::double precision * f.rate)`;
  const heldUntil = (row: string) => `greatest(${row}.hold_until, ${row}.asked_until)`;
  // A job is told of if only callbacks have mentioned it. All other rows are proven. If PostgreSQL expects many due rows,
  // it may search the whole table for one of them. These subqueries make it read the first row of an index instead.
  const firstProvenDue = `(select t.due from ${tracked} t where t.due is not null and t.is_proven order by t.due limit 1)`;
  const isTold = (row: string) => `(not ${row}.is_proven and ${row}.told_at is not null)`;
  const firstToldDue = `(select t.due from ${tracked} t where t.due is not null and ${isTold('t')} order by t.due limit 1)`;
  const firstDue = `least(${firstProvenDue}, ${firstToldDue})`;
  const isFree = `coalesce(${heldUntil('f')} <= clock_timestamp(), true)`;
  // True if failed polls after the deadline are counted. If the row has got another deadline since, or the database's
  // clock has gone back, the count begins again.
  const isLateCounted = (row: string) => `coalesce(${row}.late_since between ${row}.deadline and now(), false)`;
  // True if the service does not know the job and only callbacks have mentioned it.
  const isUnknown = (row: string) => `(not ${row}.is_proven and ${row}.last_error is not distinct from 'not_found')`;
  // Says whether a job that only callbacks have mentioned is followed, and with which context.
  const ownerOf = (linkKey: string) => `(select l.context, l.key is not null or ${unknownJobs === 'track'} as follows
    from (select 1) one left join ${tracked} l
      on l.key = ${linkKey}::uuid and l.kind = ${kinds.link} and l.state in (${states.tracking}, ${states.done}))`;
  const identity = `t.key, t.kind, t.state, t.user_id, t.job_id, t.link_ref_id, t.context::text as context`;
  return {
    schema,
    tracked,
    fleet,
    burst,
    refilled,
    heldUntil,
    firstProvenDue,
    firstToldDue,
    firstDue,
    isTold,
    isFree,
    isLateCounted,
    isUnknown,
    ownerOf,
    identity,
  };
}
