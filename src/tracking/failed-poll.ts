/**
 * Decides what happens to a job or link whose poll fails after its deadline. The cause may be an outage or a wrong key,
 * so the job or link is polled again until it is certain that the cause is not one of these.
 *
 * @module
 */

import { type AnyHostedError, isHostedError } from '../errors/errors.js';
import type { CallOptions } from '../options.js';
import { type Context, numberOf, textOf } from './context.js';
import { type Health, isOfTheFleet } from './health.js';
import { jobOf, type TakenRow } from './rows.js';
import { kinds } from './rules.js';

/** What the requests about other jobs need. */
interface Requests {
  readonly context: Context;
  readonly health: Health;
  /** The options of each request. */
  readonly options: CallOptions & { readonly signal: AbortSignal };
}

/** At least this many polls must fail after the deadline. */
const minFailures = 3;
/** The polls that fail after the deadline must span at least this time, in ms. */
const minFailingMs = 600_000;
/** If no request about another job succeeds, an error about the job itself ends the job after this time, in ms: a day. */
const maxFailingMs = 86_400_000;
/**
 * How many times a job is polled again between requests about others. If the service responds to half of all requests, at
 * random, one job in 250,000 would expire at this poll.
 */
const rounds = 8;
/** The shortest wait, in ms, after a failure whose cause may be over soon. */
const minWaitMs = 30_000;

/** Says whether enough polls have failed, for long enough. */
export function isFailingForLong({ isLate, lateLooks, lateMs }: TakenRow): boolean {
  return isLate && lateLooks + 1 >= minFailures && lateMs >= minFailingMs;
}

/**
 * Polls a job or link again, because its last poll failed with an error that may be about all jobs. This process makes a
 * request about another one before each poll, and one after the last poll. If all of these succeed and all polls fail,
 * `isOver` is true: the service and this process's key are well, and the cause is the job or link itself. Without the
 * request after the polls, an outage that begins would end the job. Without a poll after requests, an outage that ends
 * would. If there is no other, an error about the job itself ends the job.
 *
 * @throws the signal's reason when the signal aborts.
 */
export async function pollAgain<T>(
  row: TakenRow,
  error: AnyHostedError,
  poll: () => Promise<T>,
  requests: Requests,
): Promise<{ readonly found: T } | { readonly error: AnyHostedError; readonly isOver: boolean }> {
  const isOwn = !isOfTheFleet(error);
  // After an outage, a gateway may respond with another error for a moment.
  if (isOwn && row.lastError !== error.code) return { error, isOver: false };
  let last = error;
  for (let round = 1; ; round++) {
    const isLastRound = round > rounds;
    // Each request also pays for the poll that follows.
    const other = await askAnother(row, isLastRound ? 1 : 2, requests);
    if (other === 'none') return { error: last, isOver: isOwn };
    if (other === 'failed') return { error: last, isOver: isOwn && row.lateMs >= maxFailingMs };
    if (isLastRound) return { error: last, isOver: true };
    try {
      return { found: await poll() };
    } catch (thrown) {
      last = readFailure(thrown, requests);
    }
  }
}

/** Makes a request about another job or link, if there is one. */
async function askAnother(row: TakenRow, tokens: number, requests: Requests): Promise<'none' | 'answered' | 'failed'> {
  const { settings, database, statements, clock } = requests.context;
  const { jobs, links } = settings.client;
  const kind = row.isLink ? kinds.link : kinds.job;
  const [other] = await database.run(statements.control, [row.key, kind, tokens]);
  if (!other) return 'none';
  if (other.wait_ms === null) return 'failed';
  try {
    await clock.sleep(numberOf(other, 'wait_ms'), requests.options.signal);
    if (row.isLink) await links.get(textOf(other, 'link_ref_id') ?? '', requests.options);
    else {
      await jobs.status(jobOf(other), requests.options);
    }
    requests.health.succeeded();
    return 'answered';
  } catch (thrown) {
    readFailure(thrown, requests);
    return 'failed';
  }
}

/**
 * Reports the error of a request, and returns it.
 *
 * @throws the signal's reason when the signal aborts, and what is no error of the client.
 */
export function readFailure(thrown: unknown, { health, options }: Omit<Requests, 'context'>): AnyHostedError {
  options.signal.throwIfAborted();
  if (!isHostedError(thrown)) throw thrown;
  health.failed(thrown);
  return thrown;
}

/**
 * Calculates the longest wait, in ms, until the next poll after the deadline. An outage may be over soon, so the wait is
 * short at first. It grows with the time for which the polls have failed. Null if the cause is not an outage: then the
 * statement `claim` alone sets the wait.
 */
export function waitOf({ lastError, lateMs }: TakenRow, error: AnyHostedError): number | null {
  return isOfTheFleet(error) || lastError !== error.code ? Math.max(minWaitMs, lateMs / 10) : null;
}
