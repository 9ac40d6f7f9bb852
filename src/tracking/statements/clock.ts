/**
 * The statements that correct stored dates after the database's clock has gone back.
 *
 * @module
 */

import type { StoredSettings } from '../options.js';
import { queue } from '../rules.js';
import { clockSlackMs, type Expressions, interval, microseconds } from './expressions.js';

/** The largest number of rows that one statement reads or corrects. */
export const clockBatch = 1_000;

/** Creates the statements. */
export function createClockStatements(
  { minRetryMs, maxRetryMs }: StoredSettings,
  { schema, tracked, fleet, isTold, longestWait, randomWait, lateMs }: Expressions,
) {
  const messages = `${schema}_boss.job`;
  // The claim has already raised `step`. The wait after the deadline does not depend on it.
  const longest = `(case when t.deadline <= now() or t.late_since is not null then ${lateMs}
    else ${longestWait('greatest(t.step - 1, 0)')} end)`;
  // Another program may have sent a message without the key of a completion.
  const keyOf = `(case when m.data ->> 'key' ~ '^[0-9a-f-]{36}$' then (m.data ->> 'key')::uuid end)`;
  // A message waits only after an attempt that failed. The wait doubles with each attempt.
  const longestRetry = `(case when m.state = 'created' then 0
    else least(${maxRetryMs}, ${minRetryMs} * power(2::double precision, least(30, coalesce((select t.attempts from ${tracked} t
      where t.key = ${keyOf} and t.end_id = m.id), 0)))) end)`;

  // The conditions are those of the indexes on the dates.
  const correctDues = (which: string) => `with batch as materialized (
  select t.key, t.due from ${tracked} t
  where t.due > now() and ${which} and (t.due, t.key) > (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::uuid)
  order by t.due, t.key limit ${clockBatch}
), wrong as materialized (
  select t.key from ${tracked} t
  where t.key = any(array(select key from batch)) and t.due > now() + ${interval(longest)} + ${interval(clockSlackMs)}
), free as materialized (
  select t.key from ${tracked} t where t.key = any(array(select key from wrong)) for update skip locked
), corrected as (
  update ${tracked} t set due = least(now() + ${randomWait(longest)}, case when t.deadline > now() then t.deadline end)
  where t.key = any(array(select key from free))
)
select ${microseconds('due')} as due_us, key,
  (select count(*) from wrong) - (select count(*) from free) as locked
from batch order by due desc, key desc limit 1`;

  return {
    /**
     * Shortens the waits of a batch of jobs and links that are longer than they can be. Returns the position of the last
     * row of the batch, and the number of rows that other transactions have locked. Parameters: $1 and $2 the position of
     * the last row of the previous batch: its date in microseconds since the epoch, and its key.
     */
    correctDues: correctDues('t.is_proven'),

    /** Does the same as `correctDues` for jobs that are told of. */
    correctToldDues: correctDues(isTold('t')),

    /** Shortens the waits of a batch of messages that are longer than they can be. */
    correctMessages: `update ${messages} m
set start_after = now() + ${randomWait(longestRetry)}, created_on = least(m.created_on, now())
where m.name = '${queue}' and m.id = any(array(
  select m.id from ${messages} m
  where m.name = '${queue}' and m.state < 'active' and m.start_after > now() + ${interval(clockSlackMs)}
    and m.start_after > now() + ${interval(longestRetry)} + ${interval(clockSlackMs)}
  limit ${clockBatch} for update skip locked)) returning 1 as corrected`,

    /** Begins the leases of a batch of messages again. */
    correctLeases: `update ${messages} m set started_on = now()
where m.name = '${queue}' and m.id = any(array(
  select m.id from ${messages} m
  where m.name = '${queue}' and m.state = 'active' and m.started_on > now() + ${interval(clockSlackMs)}
  limit ${clockBatch} for update skip locked)) returning 1 as corrected`,

    /** Corrects the dates at which pg-boss last looked for messages of dead workers, and for old messages. */
    correctQueues: `update ${schema}_boss.queue set monitor_on = least(monitor_on, now()),
  monitor_claim_on = least(monitor_claim_on, now()), maintain_on = least(maintain_on, now())
where greatest(monitor_on, monitor_claim_on, maintain_on) > now() + ${interval(clockSlackMs)}`,

    /**
     * Stores the time, because all dates are correct. If the clock has gone back again in the meantime, or if another
     * process has stored the time, nothing is stored. Parameters: $1 the time at which the correction began, in ms since
     * the epoch, $2 the stored time, in microseconds.
     */
    acceptClock: `update ${fleet} set clock_at = clock_timestamp()
where clock_timestamp() >= to_timestamp($1::double precision / 1000) and ${microseconds('clock_at')} = $2::bigint`,
  };
}
