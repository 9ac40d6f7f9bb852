/**
 * Distinguishes problems of one job from problems of all jobs. A wrong key, an outage, or responses that cannot be
 * verified affect all jobs. During such a problem, all processes together poll only one job at a time, with longer and
 * longer waits, until a request succeeds.
 *
 * @module
 */

import type { AnyHostedError, HostedErrorCode } from '../../errors/client-errors.js';
import { readProperty } from '../../runtime/untrusted-objects.js';
import type { Context } from '../context.js';
import { maxHoldMs } from '../rules.js';
import type { Row } from '../sql.js';

/** If no request has succeeded for `silenceMs`, this number of consecutive failures counts as a problem of all jobs. */
const failuresInRow = 3;
/**
 * Failures are a problem of all jobs only if the last success is at least this long ago, in ms. Otherwise a short fault
 * would also count, because it can make several requests fail at the same time.
 */
const silenceMs = 1_000;
/** A success shows for this long, in ms, that the service and this process's key are well. */
const wellMs = 600_000;
/**
 * The longest pause of all processes, in ms, after a response with `Retry-After`: 15 minutes. The response may not be
 * signed, so others must not stop the processes for longer.
 */
const maxAskedMs = 900_000;
/** The pause of all processes, in ms, after a 429 without `Retry-After`. */
const defaultAskedMs = 1_000;

/**
 * Errors whose cause does not go away by itself. If no request has succeeded yet, a single error of this kind counts as
 * a problem of all jobs.
 */
const lasting: ReadonlySet<HostedErrorCode> = new Set(['authentication', 'signature', 'config']);

/** Watches the requests of this process. */
export type Health = ReturnType<typeof createHealth>;

/** Creates the object that watches the requests of this process. */
export function createHealth({ database, statements, report, log, clock }: Context) {
  let inRow = 0;
  let succeededAt: number | null = null;
  let problem: string | null = null;
  let heldUntil = 0;
  /** Until when this process waits, because only its own requests fail, and how often it has done so. */
  let ownUntil = 0;
  let ownWaits = 0;

  let writing = 0;

  // A write that fails is not tried again here, because a later request leads to the same write.
  function write(text: string, values: readonly unknown[], stored: (rows: readonly Row[]) => void = () => {}): void {
    writing += 1;
    void database
      .run(text, values)
      .then(stored, () => undefined)
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
    if (heldUntil <= clock.elapsed())
      log('warn', `the service asks for a pause: no request for ${Math.ceil(ms / 1_000)} s`);
    heldUntil = until;
    write(statements.hold, [ms]);
  }

  function isNoAccident(error: AnyHostedError): boolean {
    if (succeededAt === null && lasting.has(error.code)) return true;
    return inRow >= failuresInRow && clock.elapsed() - (succeededAt ?? Number.NEGATIVE_INFINITY) >= silenceMs;
  }

  return {
    /** Records that a request has succeeded. */
    succeeded(): void {
      inRow = 0;
      ownWaits = 0;
      succeededAt = clock.elapsed();
      if (problem === null) return;
      problem = null;
      write(statements.recovered, []);
      log('info', 'the problem is over: all due jobs are polled again');
    },
    /** Records that a request has failed. */
    failed(error: AnyHostedError): void {
      if (!concernsAllJobs(error)) return;
      hold(error);
      inRow += 1;
      if (problem !== null || !isNoAccident(error)) return;
      problem = error.code;
      write(statements.problem, [error.code, succeededAt === null], (rows) => {
        if (rows.length > 0) return;
        // The requests of others succeed, so this process alone waits.
        problem = null;
        ownWaits += 1;
        ownUntil = clock.elapsed() + Math.min(maxHoldMs, 1_000 * 2 ** ownWaits);
      });
      if (ownWaits > 0) return;
      report({ type: 'problem', code: error.code });
      log('warn', `only one job at a time is polled until this problem is over (${error.code}): ${error.message}`);
    },
    /** Says whether a request has succeeded lately, and no problem of all jobs is known. */
    isWell: () => problem === null && succeededAt !== null && clock.elapsed() - succeededAt < wellMs,
    /**
     * Copies the problem that is stored in the database, because another process may have found or solved it. Null means
     * that no problem is stored. `pauseMs` is the rest of the stored pause that the service has requested.
     */
    learn(known: string | null, pauseMs: number): void {
      // While a write is running, the database does not have the new value yet.
      if (writing > 0) return;
      problem = known;
      heldUntil = clock.elapsed() + Math.max(0, pauseMs);
    },
    /** How long, in ms, this process waits, because only its own requests fail. */
    aloneMs: () => Math.max(0, ownUntil - clock.elapsed()),
    /** How long, in ms, this process must not send requests: during a pause, or while it alone has a problem. */
    heldMs: () => Math.max(0, heldUntil - clock.elapsed(), ownUntil - clock.elapsed()),
  };
}

/** Says whether requests for other jobs might fail in the same way. */
export function concernsAllJobs(error: AnyHostedError): boolean {
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
    case 'authentication':
    case 'config':
    case 'connection':
    case 'poll_timeout':
    case 'server':
    case 'signature':
    case 'timeout':
      return true;
  }
}
