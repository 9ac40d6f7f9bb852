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

/** A job or link whose deadline has passed. */
interface LateRow {
  readonly key: string;
  readonly isLink: boolean;
  readonly lateLooks: number;
  readonly lateMs: number;
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
/** This many requests about other jobs must succeed, so that a service that seldom responds does not seem well. */
const controls = 3;
/** The shortest wait, in ms, after a failure whose cause may be over soon. */
const minWaitMs = 30_000;

/**
 * Decides whether the job or link itself is the cause of an error. The decision needs several polls that have failed
 * over a long time. If the cause may affect all jobs, this process also makes requests about others: only if these
 * succeed, its key and the service are well.
 *
 * @throws the signal's reason when the signal aborts.
 */
export async function isItsOwnFault(row: LateRow, error: AnyHostedError, requests: Requests): Promise<boolean> {
  if (row.lateLooks + 1 < minFailures || row.lateMs < minFailingMs) return false;
  if (!isOfTheFleet(error)) return true;
  for (let n = 0; n < controls; n++) {
    if (!(await isAnotherAnswered(row, requests))) return false;
  }
  return true;
}

async function isAnotherAnswered(
  row: LateRow,
  { context: { settings, database, statements }, health, options }: Requests,
): Promise<boolean> {
  const { client } = settings;
  const [other] = await database.run(statements.control, [row.key, row.isLink ? kinds.link : kinds.job]);
  if (!other) return false;
  try {
    await createPlatformClock().sleep(numberOf(other, 'wait_ms'), options.signal);
    if (row.isLink) await client.links.get(textOf(other, 'link_ref_id') ?? '', options);
    else {
      const query = { userId: textOf(other, 'user_id') ?? '', jobId: textOf(other, 'job_id') ?? '' };
      await client.jobs.status(query, options);
    }
    health.succeeded();
    return true;
  } catch (error) {
    options.signal.throwIfAborted();
    if (!isHostedError(error)) throw error;
    health.failed(error);
    return false;
  }
}

/**
 * Calculates the longest wait, in ms, until the next poll after the deadline. An outage may be over soon, so the wait is
 * short at first. It grows with the time for which the polls have failed. Null if the cause is not an outage: then the
 * statement `claim` alone sets the wait.
 */
export function waitOf(row: LateRow, error: AnyHostedError): number | null {
  return isOfTheFleet(error) ? Math.max(minWaitMs, row.lateMs / 10) : null;
}
