/**
 * `hosted-client/testing`: a complete service for tests, and a clock that moves only when told.
 * On web standards alone: Node, Bun, Deno, Workers.
 *
 * @module hosted-client/testing
 */

export { createTestClock } from './clock.js';
export { createMockService } from './service.js';
export type { MockClientOptions, MockEnvironment, MockFault, MockService, MockServiceOptions } from './types.js';
