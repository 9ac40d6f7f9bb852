/**
 * What a client tells about its calls while they run: events for metrics and traces, and the same
 * facts as log lines. Nothing here names a person, a job, a link or a key.
 *
 * @module
 */

import type { HostedErrorCode } from './errors/errors.js';
import type { JobStatus } from './jobs/types.js';
import type { OperationName } from './protocol/routes.js';

/**
 * Where log lines go. `console` is one, and so are winston's loggers; one that wants the details
 * before the message, as pino does, needs a few lines in between. What it throws is ignored.
 */
export interface Logger {
  /**
   * Receives every request, response, poll and delivery of a callback.
   *
   * @param message - What happened.
   * @param details - The event: see {@link HostedEvent}.
   */
  debug(message: string, details?: object): void;
  /**
   * Receives retries.
   *
   * @param message - What happened.
   * @param details - The event: see {@link HostedEvent}.
   */
  info(message: string, details?: object): void;
  /**
   * Receives what works but is likely a mistake; a line for each callback that failed, and at most one a
   * minute that counts those that were refused.
   *
   * @param message - What happened.
   * @param details - Not given so far.
   */
  warn(message: string, details?: object): void;
  /**
   * Receives calls that failed.
   *
   * @param message - What happened.
   * @param details - The event: see {@link HostedEvent}.
   */
  error(message: string, details?: object): void;
}

/**
 * Something that happened during a call, or a callback that was delivered; `type` tells what. No event names a person, a job or a link,
 * and none has a body, a key or a signature. New members and types may come with minor versions.
 */
export type HostedEvent =
  | {
      /** A request is about to leave. */
      type: 'request';
      /** The same in all events of one call; counted from 1 by each client. */
      callId: number;
      /** What was called. */
      operation: OperationName;
      /** Which attempt of the call, from 1. */
      attempt: number;
    }
  | {
      /** An answer came, whatever it says. */
      type: 'response';
      /** The same in all events of one call. */
      callId: number;
      /** What was called. */
      operation: OperationName;
      /** Which attempt of the call, from 1. */
      attempt: number;
      /** The HTTP status. */
      status: number;
      /** The id the service gave the request; null where it gave none. */
      requestId: string | null;
      /** Milliseconds the attempt took, from signing it to the end of the body. */
      durationMs: number;
    }
  | {
      /** An attempt failed, and another one follows. */
      type: 'retry';
      /** The same in all events of one call. */
      callId: number;
      /** What was called. */
      operation: OperationName;
      /** Which attempt failed, from 1. */
      attempt: number;
      /** Milliseconds until the next one. */
      delayMs: number;
      /** The `code` of the error it failed with. */
      reason: string;
    }
  | {
      /** A job that is waited for was asked about. */
      type: 'poll';
      /** The same in all polls of one wait. The request of each poll has a call id of its own. */
      callId: number;
      /** Which poll of the wait, from 1. */
      attempt: number;
      /** Milliseconds since the wait began. */
      elapsedMs: number;
      /** Milliseconds until the next poll; null when this was the last one. */
      nextDelayMs: number | null;
      /** What the service says of the job; `'error'` where the poll failed. */
      state: JobStatus['state'] | 'error';
    }
  | {
      /** A call failed. An abort is no failure, and a wait that ran out of time is no call. */
      type: 'error';
      /** The same in all events of one call. */
      callId: number;
      /** What was called. */
      operation: OperationName;
      /** The `code` of the error. */
      code: HostedErrorCode;
      /** How many attempts were made. */
      attempts: number;
    }
  | {
      /** A callback was delivered to a handler, and answered. */
      type: 'callback';
      /**
       * `'accepted'` it was handed over; `'repeat'` it was handed over before; `'refused'` it was answered
       * with a 4xx; `'failed'` with a 5xx.
       */
      result: 'accepted' | 'repeat' | 'refused' | 'failed';
      /** A short code that says why it was refused, or failed; null where it did not. */
      reason: string | null;
      /** The HTTP status that the service was answered. */
      status: number;
      /** Milliseconds from the request to the answer, `onEvent` included. */
      durationMs: number;
    };

/** Passes an event on. */
export type Report = (event: HostedEvent) => void;

// What listener and logger throw is ignored: reporting a call must not change how it ends.
function createReport(listener: Report | undefined, logger: Logger | undefined): Report | null {
  if (!listener && !logger) return null;
  return (event) => {
    if (listener) ignoreErrors(() => listener(event));
    if (logger) ignoreErrors(() => logger[levels[event.type]](`hosted-client ${event.type}`, { ...event }));
  };
}

/** Passes events on, and gives what ties them together. */
export interface Telemetry {
  /** Null where nothing listens: no event has to be created then. */
  readonly report: Report | null;
  /** Writes a log line about something that works but is likely a mistake. */
  readonly warn: (message: string) => void;
  /** How many calls and waits were begun: the id of the latest. */
  calls: number;
}

/** Makes a client's {@link Telemetry}. */
export function createTelemetry(listener: Report | undefined, logger: Logger | undefined): Telemetry {
  return {
    calls: 0,
    report: createReport(listener, logger),
    warn: (message) => {
      if (logger) ignoreErrors(() => logger.warn(`hosted-client: ${message}`));
    },
  };
}

/** Runs what belongs to the user; an asynchronous failure is ignored as well. */
export function ignoreErrors(run: () => unknown): void {
  try {
    Promise.resolve(run()).catch(() => undefined);
  } catch {}
}

const levels = {
  request: 'debug',
  response: 'debug',
  retry: 'info',
  poll: 'debug',
  error: 'error',
  callback: 'debug',
} as const;
