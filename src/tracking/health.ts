/**
 * Tells a job that cannot be looked at from a service that cannot be asked. What is wrong with all of them (a key, an
 * outage, responses that cannot be verified) holds the whole fleet, which then asks for one job at a time, ever more
 * slowly, until a response is good again.
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
  /** What the database says of the fleet: another process may have found the problem. */
  learn(problem: string | null): void;
}

/** So many failures in a row are no accident, where requests have succeeded before, and none has for a while. */
const failuresInRow = 3;
/** How long that while is, in ms: of many requests at once, several may break together. */
const silenceMs = 1_000;
/** How long, in ms, `Retry-After` may hold the fleet. */
const maxHoldMs = 3_600_000;
/** How long a 429 without `Retry-After` holds it. */
const defaultHoldMs = 1_000;

/** Waiting mends none of these: where no request has succeeded yet, one is enough. */
const lasting: ReadonlySet<HostedErrorCode> = new Set(['authentication', 'signature', 'config']);

/** Creates the watch. */
export function createHealth({ database, statements, report, log }: Context): Health {
  let inRow = 0;
  let succeededAt: number | null = null;
  let problem: string | null = null;
  let heldUntil = 0;

  let writing = 0;

  // What cannot be written now is found again by the next failure.
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
    // A burst of refused requests asks for the same.
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
      log('warn', `jobs are asked for one at a time until this is mended (${error.code}): ${error.message}`);
    },
    learn(known) {
      // The database does not know yet what is being written.
      if (writing === 0) problem = known;
    },
  };
}

/** Whether other jobs would fail in the same way. */
function isOfTheFleet(error: AnyHostedError): boolean {
  switch (error.code) {
    case 'not_found':
    case 'api':
    case 'validation':
      return false;
    // An ID number that is blocked: waiting does not help.
    case 'rate_limit':
      return error.retryable;
    // For example a gateway's HTML page with status 200.
    case 'response':
      return error.reason === 'malformed' || error.reason === 'redirect';
    default:
      return true;
  }
}
