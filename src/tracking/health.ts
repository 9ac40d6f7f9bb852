/**
 * Distinguishes a job that cannot be looked at from a service that cannot be asked. Some problems affect all jobs: a
 * key, an outage, or responses that cannot be verified. Such a problem holds the whole fleet. The fleet then asks for
 * one job at a time, and waits longer each time, until a response is good again.
 *
 * @module
 */

import type { AnyHostedError, HostedErrorCode } from '../errors/errors.js';
import { readProperty } from '../runtime/prototype.js';
import type { Context } from './context.js';

/** Watches the requests of this process. */
export interface Health {
  /** A request got a good response. */
  succeeded(): void;
  /** A request failed. */
  failed(error: AnyHostedError): void;
  /** Learns the problem that the database has stored, or null. Another process may have found it. */
  learn(problem: string | null): void;
}

/** This number of failures in a row is a problem of the fleet, if no request has succeeded for `silenceMs`. */
const failuresInRow = 3;
/**
 * The shortest time, in ms, since the last request that succeeded. Of many requests that run at the same time, several
 * may fail together.
 */
const silenceMs = 1_000;
/** How long, in ms, `Retry-After` may hold the fleet at most. */
const maxHoldMs = 3_600_000;
/** How long, in ms, a 429 without `Retry-After` holds the fleet. */
const defaultHoldMs = 1_000;

/** Errors that do not end by waiting. If no request has succeeded yet, one such error is enough. */
const lasting: ReadonlySet<HostedErrorCode> = new Set(['authentication', 'signature', 'config']);

/** Creates the watch. */
export function createHealth({ database, statements, report, log }: Context): Health {
  let inRow = 0;
  let succeededAt: number | null = null;
  let problem: string | null = null;
  let heldUntil = 0;

  let writing = 0;

  // If a write fails, the next failure of a request finds the problem again.
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
    const ms = Math.min(asked || (error.code === 'rate_limit' ? defaultHoldMs : 0), maxHoldMs);
    const until = performance.now() + ms;
    // Many rejected requests may ask for the same wait.
    if (ms === 0 || until <= heldUntil + 100) return;
    heldUntil = until;
    write(statements.hold, [ms]);
  }

  function isNoAccident(error: AnyHostedError): boolean {
    if (succeededAt === null && lasting.has(error.code)) return true;
    return inRow >= failuresInRow && performance.now() - (succeededAt ?? Number.NEGATIVE_INFINITY) >= silenceMs;
  }

  return {
    succeeded() {
      inRow = 0;
      succeededAt = performance.now();
      if (problem === null) return;
      problem = null;
      write(statements.recovered, []);
      log('info', 'the service can be asked again');
    },
    failed(error) {
      if (!isOfTheFleet(error)) return;
      hold(error);
      inRow += 1;
      if (problem !== null || !isNoAccident(error)) return;
      problem = error.code;
      write(statements.problem, [error.code]);
      report({ type: 'problem', code: error.code });
      log(
        'warn',
        `the service is asked for one job at a time until this problem is over (${error.code}): ${error.message}`,
      );
    },
    learn(known) {
      // While a write is under way, the database does not have the new value yet.
      if (writing === 0) problem = known;
    },
  };
}

/** Says whether other jobs would fail in the same way. */
function isOfTheFleet(error: AnyHostedError): boolean {
  switch (error.code) {
    case 'not_found':
    case 'api':
    case 'validation':
      return false;
    // A blocked ID number is not retryable, because waiting does not help.
    case 'rate_limit':
      return error.retryable;
    // One example is a gateway's HTML page with status 200.
    case 'response':
      return error.reason === 'malformed' || error.reason === 'redirect';
    default:
      return true;
  }
}
