/**
 * Decides what happens to a job or link whose poll fails after its deadline. The cause may be an outage or a wrong key,
 * so the job or link is polled again until it is certain that the cause is not one of these.
 *
 * @module
 */

import { type AnyHostedError, isHostedError } from '../errors/errors.js';
import type { CallOptions } from '../options.js';
import { createPlatformClock } from '../runtime/clock.js';
import { type Context, numberOf, textOf } from './context.js';
import { type Health, isOfTheFleet } from './health.js';
import { kinds } from './schema.js';

/** A job or link that was taken to be polled. */
interface LateRow {
  readonly key: string;
  readonly isLate: boolean;
  readonly isLink: boolean;
  readonly lateLooks: number;
  readonly lateMs: number;
  readonly lastError: string | null;
}

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
/** The shortest wait, in ms, after a failure whose cause may be over soon. */
const minWaitMs = 30_000;

/** Says whether enough polls have failed, for long enough. */
export function isFailingForLong({ isLate, lateLooks, lateMs }: LateRow): boolean {
  return isLate && lateLooks + 1 >= minFailures && lateMs >= minFailingMs;
}

/**
 * Polls a job or link again, because its last poll failed with an error that may be about all jobs. This process also
 * makes requests about others, before and after the poll. If these succeed and the poll does not, `isOver` is true: the
 * service and this process's key are well, and the cause is the job or link itself. Without the requests after the poll,
 * an outage that begins would end the job. Without the poll after requests, an outage that ends would.
 *
 * @throws the signal's reason when the signal aborts.
 */
export async function pollAgain<T>(
  row: LateRow,
  error: AnyHostedError,
  poll: () => Promise<T>,
  requests: Requests,
): Promise<{ readonly found: T } | { readonly error: AnyHostedError; readonly isOver: boolean }> {
  // The second request pays for the poll, too. With two requests, a service that seldom responds does not seem well.
  for (const tokens of [1, 2]) {
    if (!(await isAnotherAnswered(row, tokens, requests))) return { error, isOver: false };
  }
  try {
    return { found: await poll() };
  } catch (thrown) {
    const again = readFailure(thrown, requests);
    return { error: again, isOver: !isOfTheFleet(again) || (await isAnotherAnswered(row, 1, requests)) };
  }
}

async function isAnotherAnswered(row: LateRow, tokens: number, requests: Requests): Promise<boolean> {
  const { settings, database, statements } = requests.context;
  const { jobs, links } = settings.client;
  const kind = row.isLink ? kinds.link : kinds.job;
  const [other] = await database.run(statements.control, [row.key, kind, tokens]);
  if (!other) return false;
  try {
    await createPlatformClock().sleep(numberOf(other, 'wait_ms'), requests.options.signal);
    if (row.isLink) await links.get(textOf(other, 'link_ref_id') ?? '', requests.options);
    else {
      const query = { userId: textOf(other, 'user_id') ?? '', jobId: textOf(other, 'job_id') ?? '' };
      await jobs.status(query, requests.options);
    }
    requests.health.succeeded();
    return true;
  } catch (thrown) {
    readFailure(thrown, requests);
    return false;
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
export function waitOf({ lastError, lateMs }: LateRow, error: AnyHostedError): number | null {
  return isOfTheFleet(error) || lastError !== error.code ? Math.max(minWaitMs, lateMs / 10) : null;
}
