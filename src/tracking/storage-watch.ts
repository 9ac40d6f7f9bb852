/**
 * Watches whether the background work of this process can use the database. Failures go to the log, and to the event
 * `problem`. Polling does not become slower.
 *
 * @module
 */

import type { WaitingClock } from '../runtime/clock.js';
import { HostedStorageError, toStorageError } from './storage-error.js';
import type { TrackerEvent } from './types.js';

/** The same line is logged at most once in this time, in ms. The same applies to the event. */
const logMs = 60_000;
/**
 * How long, in ms, a failure counts if the same step is not tried again. Housekeeping is tried once a minute, and any
 * process may do it.
 */
const failureMs = 120_000;

/** Watches whether the background work of this process can use the database. */
export type StorageWatch = ReturnType<typeof createStorageWatch>;

/** Creates the object that watches the background work. */
export function createStorageWatch(
  clock: Pick<WaitingClock, 'elapsed' | 'now'>,
  report: (event: TrackerEvent) => void,
  log: (level: 'info' | 'warn', message: string) => void,
) {
  /** The times of the latest failures, by their effects. */
  const failing = new Map<string, number>();
  const loggedAt = new Map<string, number>();
  let reportedAt = Number.NEGATIVE_INFINITY;
  let newerSince: Date | null = null;
  let isLogged = false;
  let isStopped = false;

  /** Records that a step has failed. */
  function failed(effect: string, error: unknown): void {
    if (isStopped) return;
    const now = clock.elapsed();
    const isNewer = error instanceof HostedStorageError && error.reason === 'newer';
    const code = isNewer ? 'newer' : 'storage';
    if (isNewer) newerSince ??= new Date(clock.now());
    failing.set(effect, now);
    if (now - reportedAt >= logMs) {
      reportedAt = now;
      report({ type: 'problem', code });
    }
    if (now - (loggedAt.get(effect) ?? Number.NEGATIVE_INFINITY) < logMs) return;
    loggedAt.set(effect, now);
    isLogged = true;
    // The driver's message may contain values of a row, so only its code is logged.
    log('warn', `${effect} until this problem is over (${code}): ${toStorageError(error).message}`);
  }

  /** Records that a step has succeeded. */
  function worked(effect: string): void {
    if (failing.size === 0) return;
    failing.delete(effect);
    const since = clock.elapsed() - failureMs;
    for (const [other, at] of failing) if (at < since) failing.delete(other);
    if (failing.size > 0) return;
    newerSince = null;
    if (isLogged) log('info', 'the database works again');
    isLogged = false;
  }

  return {
    failed,
    worked,
    /**
     * Runs a step of the work, and resolves or rejects as the step does.
     *
     * @param effect - What does not happen if the step fails, for the log line.
     */
    async watch<T>(effect: string, step: () => Promise<T>): Promise<T> {
      try {
        const result = await step();
        worked(effect);
        return result;
      } catch (error) {
        failed(effect, error);
        throw error;
      }
    },
    /** Returns the date since which newer tables stop the work, or null. */
    newerSince: () => newerSince,
    /** Ignores all further failures, because the tracker stops. */
    stop(): void {
      isStopped = true;
    },
  };
}
