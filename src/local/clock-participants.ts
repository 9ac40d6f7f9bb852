/**
 * Code that works on a test clock and knows when it is idle, so that the clock need not find out.
 *
 * @module
 */

import type { Clock } from '../runtime/clock.js';

/** Code that works when its sleeps end. */
export interface Participant {
  /** Says whether all its work waits for the clock. */
  isIdle(): boolean;
  /** Says whether it has called functions of a caller since it was last asked. */
  hasCalled(): boolean;
}

/** Gives a participant a clock of its own. Only its sleeps use this clock. */
type Join = (participant: Participant) => Clock;

const joins = new WeakMap<Clock, Join>();

/** Records how participants join a clock. */
export function acceptParticipants(clock: Clock, join: Join): void {
  joins.set(clock, join);
}

/** Joins a clock. Returns the clock itself if it needs no participants. */
export function joinClock(clock: Clock, participant: Participant): Clock {
  return joins.get(clock)?.(participant) ?? clock;
}
