/**
 * The reports of a client about its running calls: events for metrics and traces, and log lines with the same facts. No
 * report names a person, a job, a link or a key.
 *
 * @module
 */

import type { HostedErrorCode } from './errors/client-errors.js';
import type { Outcome } from './errors/hosted-error.js';
import type { JobStatus } from './jobs/types.js';
import type { OperationName } from './protocol/routes.js';
import { silentLogger, warningLogger } from './runtime/console-log.js';

/**
 * Receives log lines. `console` and winston's loggers work as they are. A logger that takes the details before the
 * message, such as pino, needs an adapter of a few lines. Errors of the logger are ignored.
 */
export interface Logger {
  /**
   * Receives a line for every request, response and poll, for the end of every call, and for every delivered callback.
   *
   * @param message - What happened.
   * @param details - The event: see {@link HostedEvent}.
   */
  debug(message: string, details?: object): void;
  /**
   * Receives a line for each retry.
   *
   * @param message - What happened.
   * @param details - The event: see {@link HostedEvent}.
   */
  info(message: string, details?: object): void;
  /**
   * Receives warnings about things that work but are probably mistakes, and a line for each callback that failed. It
   * also receives at most one line a minute with the number of rejected callbacks.
   *
   * @param message - What happened.
   * @param details - This version of the client never passes details.
   */
  warn(message: string, details?: object): void;
  /**
   * Receives a line for each call that failed.
   *
   * @param message - What happened.
   * @param details - The event: see {@link HostedEvent}.
   */
  error(message: string, details?: object): void;
}

/**
 * An event during a call, or about a delivered callback; `type` says what happened. No event names a person, a job or a
 * link. No event has a body, a key or a signature. Minor versions may add properties and types.
 */
export type HostedEvent =
  | {
      /** A request is about to be sent. */
      type: 'request';
      /** The number of the call; each client counts from 1. It is the same in all events of the call. */
      callId: number;
      /** What was called. */
      operation: OperationName;
      /** The number of the attempt in its call, from 1. */
      attempt: number;
    }
  | {
      /** A response with any status was received. */
      type: 'response';
      /** The number of the call. */
      callId: number;
      /** What was called. */
      operation: OperationName;
      /** The number of the attempt in its call, from 1. */
      attempt: number;
      /** The HTTP status. */
      status: number;
      /** The id that the service gave the request; null if it gave none. */
      requestId: string | null;
      /** Milliseconds that the attempt took, from signing the request to the end of the body. */
      durationMs: number;
    }
  | {
      /** An attempt failed and will be retried. */
      type: 'retry';
      /** The number of the call. */
      callId: number;
      /** What was called. */
      operation: OperationName;
      /** The number of the failed attempt, from 1. */
      attempt: number;
      /** Milliseconds until the next attempt. */
      delayMs: number;
      /** The `code` of the error with which the attempt failed. */
      reason: string;
    }
  | {
      /** The status of a job was polled during a wait. */
      type: 'poll';
      /** The number of the wait, the same in all its polls. The request of each poll has a call id of its own. */
      callId: number;
      /** The number of the poll in its wait, from 1. */
      attempt: number;
      /** Milliseconds since the wait began. */
      elapsedMs: number;
      /** Milliseconds until the next poll; null when this was the last one. */
      nextDelayMs: number | null;
      /** The state of the job; `'error'` if the poll failed. */
      state: JobStatus['state'] | 'error';
    }
  | {
      /**
       * A call failed. There is no `'error'` event for a call that the caller aborted, or for a wait that reached its
       * deadline.
       */
      type: 'error';
      /** The number of the call. */
      callId: number;
      /** What was called. */
      operation: OperationName;
      /** The `code` of the error. */
      code: HostedErrorCode;
      /** How many attempts were made. */
      attempts: number;
    }
  | {
      /**
       * A call has ended. This is the last event of every call. Each poll of a wait and each page of a list is a call,
       * too.
       */
      type: 'call';
      /** The number of the call. */
      callId: number;
      /** What was called. */
      operation: OperationName;
      /**
       * `'ok'` after a success; `'aborted'` if the caller's signal ended the call; otherwise the `outcome` of the
       * error.
       */
      outcome: 'ok' | Outcome | 'aborted';
      /** How many attempts were made; 0 if the call could not begin. */
      attempts: number;
      /** Milliseconds that the call took, including the pauses between its attempts. */
      durationMs: number;
    }
  | {
      /** A handler responded to a callback. */
      type: 'callback';
      /**
       * `'accepted'`: 200, and a change was passed to `onEvent`, or a tracker stored the callback. `'repeat'`: 200,
       * and nothing is new: what the status says was passed to `onEvent` before, or the pending job has no result yet.
       * `'refused'`: the response was a 4xx. `'failed'`: the response was a 5xx.
       */
      result: 'accepted' | 'repeat' | 'refused' | 'failed';
      /** A short code that says why the callback was rejected or failed; null otherwise. */
      reason: string | null;
      /** The HTTP status of our response. */
      status: number;
      /** Milliseconds from the request to the response, including `onEvent`. */
      durationMs: number;
    };

/** Reports an event. */
export type Report = (event: HostedEvent) => void;

/** Reports events, and counts calls. */
export interface Telemetry {
  /** Reports an event. Null if there is neither a listener nor a logger. Then no event is created. */
  readonly report: Report | null;
  /** Writes a log line about something that works but is likely a mistake. */
  readonly warn: (message: string) => void;
  /** The number of calls and waits so far. It is also the id of the latest call or wait. */
  calls: number;
}

/** Creates a client's {@link Telemetry}. */
export function createTelemetry(listener: Report | undefined, logger: Logger | undefined): Telemetry {
  const own = logger === silentLogger || logger === warningLogger ? undefined : logger;
  // Errors of a listener or a logger are ignored, because a report must not change the result of the call.
  const report: Report = (event) => {
    if (listener) ignoreErrors(() => listener(event));
    if (own) ignoreErrors(() => own[levelOf(event)](`hosted-client ${event.type}`, { ...event }));
  };
  return {
    calls: 0,
    report: listener || own ? report : null,
    warn: (message) => ignoreErrors(() => (logger ?? warningLogger).warn(`hosted-client: ${message}`)),
  };
}

/** Runs a caller's function and ignores its errors, also asynchronous errors. */
export function ignoreErrors(run: () => unknown): void {
  try {
    Promise.resolve(run()).catch(() => undefined);
  } catch {}
}

function levelOf({ type }: HostedEvent): 'debug' | 'info' | 'error' {
  if (type === 'error') return 'error';
  return type === 'retry' ? 'info' : 'debug';
}
