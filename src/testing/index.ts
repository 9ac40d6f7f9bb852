/**
 * `hosted-client/testing`: a complete service for tests, a clock that moves only when a test advances it, and a tracker
 * on this clock. They need web standards only, and run in Node, Bun, Deno and Workers.
 *
 * @module hosted-client/testing
 */

export type { TestTrackerOptions } from '../tracking/options.js';
export { createTestTracker, type TestTracker } from '../tracking/test-tracker.js';
export { createTestClock } from './clock.js';
export { createMockService } from './service.js';
export type { MockClientOptions, MockEnvironment, MockFault, MockService, MockServiceOptions } from './types.js';
