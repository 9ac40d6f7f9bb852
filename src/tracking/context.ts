/**
 * The objects that all parts of a tracker share.
 *
 * @module
 */

import { ignoreErrors, type Logger } from '../events.js';
import { createPlatformClock, type WaitingClock } from '../runtime/clock.js';
import { createKey, type KeyOf } from './keys.js';
import type { TrackerSettings } from './options.js';
import type { Storage } from './sql.js';
import type { Statements } from './statements.js';
import { createStorageWatch, type StorageWatch } from './storage-watch.js';
import type { TrackerEvent } from './types.js';

/** The objects that all parts of a tracker share. */
export interface Context {
  readonly settings: TrackerSettings;
  readonly database: Storage;
  readonly statements: Statements;
  /** Creates the key of a job, an end or a link of this environment and partner. */
  keyOf(parts: KeyOf): Promise<string>;
  /** The clock of this process, for waits and durations. Dates that are stored come from the database's clock. */
  readonly clock: WaitingClock;
  /** Gives a random number from 0 to 1. */
  readonly random: () => number;
  /** Receives each call of the handler: a promise that resolves or rejects when the call or its time has ended, or the tracker stops. */
  readonly onCall?: (ended: Promise<void>) => void;
  /** Reports an event. If the listener throws an error, the error is ignored. */
  report(event: TrackerEvent): void;
  /** Writes a log line. */
  log(level: 'info' | 'warn', message: string): void;
  /** Watches whether the background work can use the database. */
  readonly storage: StorageWatch;
}

/** Creates the objects that all parts share. */
export function createContext(
  given: Pick<Context, 'settings' | 'database' | 'statements' | 'log' | 'onCall'> &
    Partial<Pick<Context, 'clock' | 'random'>>,
  partnerId: string,
): Context {
  const parts = { clock: createPlatformClock(), random: () => Math.random(), ...given };
  const { onEvent } = parts.settings;
  const report = (event: TrackerEvent) => {
    if (onEvent) ignoreErrors(() => onEvent(event));
  };
  const owner = { environment: parts.settings.client.environment, partnerId };
  const keyOf = (of: KeyOf) => createKey(owner, of);
  return { ...parts, keyOf, report, storage: createStorageWatch(parts.clock, report, parts.log) };
}

/** Creates the function that writes the log lines of a tracker. */
export function createLog(logger: Logger | undefined): Context['log'] {
  return (level, message) => {
    if (logger) ignoreErrors(() => logger[level](`hosted-client: tracking: ${message}`));
  };
}
