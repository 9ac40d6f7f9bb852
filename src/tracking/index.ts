/**
 * Durable tracking of jobs, over processes and machines.
 *
 * @module hosted-client/tracking
 */

export type { TrackerOptions } from './options.js';
export { HostedStorageError } from './storage-error.js';
export { createTracker, type Tracker } from './tracker.js';
export type {
  Completion,
  DeadLetter,
  JobToTrack,
  Json,
  SqlPool,
  SqlRunner,
  TrackedJob,
  TrackerEvent,
  TrackerStats,
} from './types.js';
