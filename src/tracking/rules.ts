/**
 * The numbers and limits of tracking, wherever the jobs are stored.
 *
 * @module
 */

/** The kinds of rows. */
export const kinds = { job: 0, link: 1, gap: 2 } as const;

/** The states of a row. */
export const states = { heard: 0, tracking: 1, handingOver: 2, done: 3, dead: 4, untracked: 5 } as const;

/** The ways in which a job can end. */
export const outcomes = { completed: 1, expired: 2, unheard: 3 } as const;

const noFailure = { failure_name: null, failure_code: null } as const;
/** The completion waits for its delivery. No delivery has it. */
const waiting = { deliver_at: 'now', lease_id: null, is_retry: false } as const;
const notDelivered = { deliver_at: null, lease_id: null } as const;

/**
 * What changes in a row with each step, wherever the row is stored. Some values are known only then: `now`, `deadline`
 * (`deadlineMs` later), `id`, a new one, `state_before`, the column of this name, and `recheck`, the date at which a callback
 * has the status compared once more, if there is one.
 */
export const steps = {
  /** A job that only callbacks have mentioned is followed. */
  follow: { state: states.tracking, due: 'now', deadline: 'deadline', step: 0 },
  /** It is not followed, or not any more. */
  keepMentioned: { state: states.heard, due: null, deadline: null },
  /** The caller tracks a job. */
  track: {
    ...{ state: states.tracking, due: 'now', is_proven: true, mentioned_at: null, step: 0, late_since: null },
    ...{ last_error: null, ended_at: null, end_id: null, outcome: null, state_before: null },
    ...{ ...noFailure, ...notDelivered },
  },
  /** The caller tracks a link. */
  trackLink: { state: states.tracking, due: 'now', step: 0, late_since: null, ended_at: null },
  untrack: {
    ...{ state: states.untracked, due: null, ended_at: 'now', context: null, is_proven: true, state_before: null },
    ...notDelivered,
  },
  end: { state: states.handingOver, due: null, ended_at: 'now', end_id: 'id', is_proven: true, ...waiting },
  endLink: { state: states.done, due: null, ended_at: 'now' },
  /** The status of an ended job could not be fetched. */
  followAgain: { state: states.tracking, outcome: null, ended_at: null, step: 1, ...notDelivered },
  /** A verdict of an ended job seemed to have changed, and has not. */
  restore: { state: 'state_before', state_before: null, step: 1, ...notDelivered },
  handle: { state: states.done, ended_at: 'now', due: 'recheck', step: 0, ...noFailure, ...notDelivered },
  bury: { state: states.dead, ended_at: 'now', due: 'recheck', step: 0, ...notDelivered },
  /** A job that has ended is polled once more. */
  recheck: { due: 'now', forced_at: 'now', step: 0 },
  /** The last poll of an expired job is repeated. */
  pollAgain: {
    ...{ state: states.tracking, due: 'now', step: 0, attempts: 0, outcome: null, ended_at: null, end_id: null },
    ...{ ...noFailure, ...notDelivered },
  },
  /** A dead letter is handed over again. */
  revive: {
    ...{ state: states.handingOver, due: null, ended_at: 'now', end_id: 'id', attempts: 0 },
    ...{ ...noFailure, ...waiting },
  },
} as const;

/** What changes in a row with a step. */
export type Step = Readonly<Record<string, number | string | boolean | null>>;

/**
 * How long, in ms, the content of a status may lag behind its signature. A callback that was signed not more than this
 * before the status that was handed over may be about a newer result. So the job is polled again, this much later.
 */
export const lagMs = 2_000;

/** The largest number of dead letters that one statement hands over again. */
export const batchSize = 500;

/** The limit of requests per second, if none was given. */
export const defaultRate = 10;

/**
 * The token bucket has at most the tokens of this many seconds, so that the requests of one second exceed the rate only
 * slightly, and at least one. Deliveries may take as many more than it has.
 */
export const burstSeconds = 0.3;

/**
 * While polls are due, deliveries take as many tokens as polls have taken before. This is how many of them are remembered,
 * if the token bucket does not have more.
 */
export const maxCredit = 3;

/** If the token bucket has been full for so many seconds, polls do not need the tokens. */
export const unusedSeconds = 1;

/** The longest wait, in ms, between two polls during a problem that affects all jobs. */
export const maxHoldMs = 60_000;

/**
 * If only a callback has mentioned a job and the service does not know it, the job is polled at most this many times.
 * With the default waits, these polls take about five minutes. The body of a callback is not signed, so the job may be
 * invented. A job that has ended is polled as often, if polls fail after a callback or `track()`.
 */
export const maxUnknownPolls = 10;

/** How long, in ms, no process polls such a job again while its last poll runs and the result is stored. */
export const lastPollMs = 60_000;

/**
 * The tracker keeps at most this many jobs that only callbacks have mentioned. Jobs that the service knows are not
 * counted.
 */
export const maxMentionedJobs = 10_000;

/** At most this many jobs are deleted for a new one, because callbacks that arrive together may exceed the limit. */
export const maxDropped = 10;

/**
 * The shortest wait, in ms, after a poll after the deadline: the process may stop during the poll, or an outage may be over
 * soon. A longer wait is an eighth of the time for which the polls have failed, up to `maxDelayMs`.
 */
export const minLateMs = 30_000;

/**
 * If a process has never had a response, and requests of others have succeeded within this time, in ms, it alone has a
 * problem.
 */
export const ownProblemMs = 60_000;

/**
 * Scans for due rows begin this long, in ms, before the lowest date that one has found. Below it, the index has only
 * entries of rows that are gone, which vacuum cannot remove while another transaction stays open.
 */
export const floorSlackMs = 60_000;

/** The time, in ms, that one request may take. */
export const requestMs = 20_000;

/**
 * How long, in ms, a delivery may take before its handler begins. This time includes the wait for the token bucket, the
 * delivery's request, and two statements.
 */
export const beforeHandlerMs = 5_000 + requestMs + 5_000;

/** The lease of a delivery, in ms. */
export const leaseMsOf = ({ handlerTimeoutMs }: { readonly handlerTimeoutMs: number }) =>
  handlerTimeoutMs + beforeHandlerMs;
