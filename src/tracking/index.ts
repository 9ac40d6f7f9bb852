/**
 * Durable tracking of jobs, over several processes and machines.
 *
 * @module hosted-client/tracking
 */

export { createTracker } from './create-tracker.js';
export type { TrackerOptions } from './options.js';
export { postgresReplayGuard } from './replay-guard.js';
export { type MigrationPlan, migrateTracking } from './schema/migrate.js';
export { HostedStorageError } from './storage-error.js';
export type { Tracker } from './tracker.js';
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
