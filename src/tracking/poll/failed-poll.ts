/**
 * Decides what happens to a job or link whose poll fails after its deadline. The cause may be an outage or a wrong key,
 * so the job or link is polled again until it is certain that the cause is not one of these.
 *
 * @module
 */

import { type AnyHostedError, isHostedError } from '../../errors/client-errors.js';
import type { TakenRow } from '../rows.js';
import type { Health } from './health.js';

/** At least this many polls must fail after the deadline, over at least this time, in ms: a day. */
const minFailures = 3;
const minFailingMs = 86_400_000;

/**
 * Says whether a job or link is not polled any more, because its polls have failed with the same error for a day. This
 * counts only while other requests of this process succeed.
 */
export function isOver({ isLate, latePolls, lateMs, lastError }: TakenRow, error: AnyHostedError, health: Health) {
  const isLong = isLate && latePolls + 1 >= minFailures && lateMs >= minFailingMs && lastError === error.code;
  return isLong && health.isWell();
}

/**
 * Reports the error of a request, and returns it.
 *
 * @throws the signal's reason when the signal aborts, and what is no error of the client.
 */
export function readFailure(thrown: unknown, health: Health, signal: AbortSignal): AnyHostedError {
  signal.throwIfAborted();
  if (!isHostedError(thrown)) throw thrown;
  health.failed(thrown);
  return thrown;
}
