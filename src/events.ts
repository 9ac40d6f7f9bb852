/**
 * What a client tells about its calls while they run: events for metrics and traces, and the same
 * facts as log lines. Nothing here names a person, a job, a link or a key.
 *
 * @module
 */

import type { HostedErrorCode } from './errors.js';
import type { JobStatus } from './jobs/types.js';
import type { OperationName } from './routes.js';

/** Where log lines go. `console` is one; so are pino's and winston's loggers. */
export interface Logger {
  /** Receives every request and response. */
  debug(message: string, details?: object): void;
  /** Receives retries. */
  info(message: string, details?: object): void;
  /** Receives what works but is likely a mistake. */
  warn(message: string, details?: object): void;
  /** Receives calls that failed. */
  error(message: string, details?: object): void;
}

/** Something that happened during a call. `callId` ties the events of one call together. */
export type HostedEvent =
  | { type: 'request'; callId: number; operation: OperationName; attempt: number }
  | {
      type: 'response';
      callId: number;
      operation: OperationName;
      attempt: number;
      status: number;
      requestId: string | null;
      durationMs: number;
    }
  | {
      type: 'retry';
      callId: number;
      operation: OperationName;
      attempt: number;
      delayMs: number;
      reason: string;
    }
  | {
      type: 'poll';
      callId: number;
      attempt: number;
      elapsedMs: number;
      nextDelayMs: number | null;
      state: JobStatus['state'] | 'error';
    }
  | {
      type: 'error';
      callId: number;
      operation: OperationName;
      code: HostedErrorCode;
      attempts: number;
    };

/** Passes an event on. */
export type Report = (event: HostedEvent) => void;

// What listener and logger throw is ignored: telling about a call must not change how it ends.
function reporter(listener: Report | undefined, logger: Logger | undefined): Report {
  if (!listener && !logger) return () => undefined;
  return (event) => {
    if (listener) quietly(() => listener(event));
    if (logger) quietly(() => logger[levels[event.type]](`hosted-client ${event.type}`, { ...event }));
  };
}

/** What ties events together and passes them on. */
export interface Telemetry {
  readonly report: Report;
  readonly nextCallId: () => number;
}

/** Makes a client's {@link Telemetry}. */
export function createTelemetry(listener: Report | undefined, logger: Logger | undefined): Telemetry {
  let calls = 0;
  return {
    report: reporter(listener, logger),
    nextCallId: () => {
      calls += 1;
      return calls;
    },
  };
}

/** Runs what belongs to the user; an asynchronous failure is ignored as well. */
export function quietly(run: () => unknown): void {
  try {
    Promise.resolve(run()).catch(() => undefined);
  } catch {}
}

const levels = { request: 'debug', response: 'debug', retry: 'info', poll: 'debug', error: 'error' } as const;
