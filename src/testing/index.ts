/**
 * `hosted-client/testing`: a complete service for tests, and a clock that moves only when a test advances it. Both
 * need web standards only, and run in Node, Bun, Deno and Workers.
 *
 * @module hosted-client/testing
 */

export { createTestClock } from './clock.js';
export { createMockService } from './service.js';
export type { MockClientOptions, MockEnvironment, MockFault, MockService, MockServiceOptions } from './types.js';
