/**
 * Distinguishes problems of one job from problems of all jobs. A wrong key, an outage, or responses that cannot be
 * verified affect all jobs. During such a problem, all processes together poll only one job at a time, with longer and
 * longer waits, until a request succeeds.
 *
 * @module
 */

import type { AnyHostedError, HostedErrorCode } from '../errors/errors.js';
import { readProperty } from '../runtime/untrusted-objects.js';
import type { Context } from './context.js';

/** Watches the requests of this process. */
export interface Health {
  /** Records that a request has succeeded. */
  succeeded(): void;
  /** Records that a request has failed. */
  failed(error: AnyHostedError): void;
  /**
   * Copies the problem that is stored in the database, because another process may have found or solved it. Null means
   * that no problem is stored. `holdMs` is the rest of the stored pause, which may have ended early.
   */
  learn(problem: string | null, holdMs: number): void;
  /** Says whether a request has succeeded lately, and no problem of all jobs is known. */
  isWell(): boolean;
}

/** If no request has succeeded for `silenceMs`, this number of consecutive failures counts as a problem of all jobs. */
const failuresInRow = 3;
/**
 * Failures are a problem of all jobs only if the last success is at least this long ago, in ms. Otherwise a short fault
 * would also count, because it can make several requests fail at the same time.
 */
const silenceMs = 1_000;
/** A success shows for this long, in ms, that the service and this process's key are well. */
const wellMs = 600_000;
/** The longest pause of all processes, in ms, after a response with `Retry-After`: a day. */
const maxAskedMs = 86_400_000;
/** The pause of all processes, in ms, after a 429 without `Retry-After`. */
const defaultAskedMs = 1_000;

/**
 * Errors whose cause does not go away by itself. If no request has succeeded yet, a single error of this kind counts as
 * a problem of all jobs.
 */
const lasting: ReadonlySet<HostedErrorCode> = new Set(['authentication', 'signature', 'config']);

/** Creates the object that watches the requests of this process. */
export function createHealth({ database, statements, report, log, clock }: Context): Health {
  let inRow = 0;
  let succeededAt: number | null = null;
  let problem: string | null = null;
  let heldUntil = 0;

  let writing = 0;

  // A write that fails is not tried again here, because a later request leads to the same write.
  function write(text: string, values: readonly unknown[]): void {
    writing += 1;
    void database
      .run(text, values)
      .catch(() => undefined)
      .finally(() => {
        writing -= 1;
      });
  }

  function hold(error: AnyHostedError): void {
    const asked = Number(readProperty(error, 'retryAfterMs') ?? 0);
    const ms = Math.min(asked || (error.code === 'rate_limit' ? defaultAskedMs : 0), maxAskedMs);
    const until = clock.elapsed() + ms;
    // Many responses may request the same pause, but it is written only once.
    if (ms === 0 || until <= heldUntil + 100) return;
    heldUntil = until;
    write(statements.hold, [ms]);
  }

  function isNoAccident(error: AnyHostedError): boolean {
    if (succeededAt === null && lasting.has(error.code)) return true;
    return inRow >= failuresInRow && clock.elapsed() - (succeededAt ?? Number.NEGATIVE_INFINITY) >= silenceMs;
  }

  return {
    succeeded() {
      inRow = 0;
      succeededAt = clock.elapsed();
      if (problem === null) return;
      problem = null;
      write(statements.recovered, []);
      log('info', 'the problem is over: all due jobs are polled again');
    },
    failed(error) {
      if (!isOfTheFleet(error)) return;
      hold(error);
      inRow += 1;
      if (problem !== null || !isNoAccident(error)) return;
      problem = error.code;
      write(statements.problem, [error.code]);
      report({ type: 'problem', code: error.code });
      log('warn', `only one job at a time is polled until this problem is over (${error.code}): ${error.message}`);
    },
    isWell: () => problem === null && succeededAt !== null && clock.elapsed() - succeededAt < wellMs,
    learn(known, holdMs) {
      // While a write is running, the database does not have the new value yet.
      if (writing > 0) return;
      problem = known;
      heldUntil = Math.min(heldUntil, clock.elapsed() + Math.max(0, holdMs));
    },
  };
}

/** Says whether requests for other jobs might fail in the same way. */
export function isOfTheFleet(error: AnyHostedError): boolean {
  switch (error.code) {
    case 'not_found':
    case 'api':
    case 'validation':
      return false;
    // The 429 for a blocked ID number is not retryable, and affects only one job.
    case 'rate_limit':
      return error.retryable;
    // For example, a gateway may respond to every request with an HTML page and status 200.
    case 'response':
      return error.reason === 'malformed' || error.reason === 'redirect';
    default:
      return true;
  }
}
