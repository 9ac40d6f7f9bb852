/**
 * The code that waits for jobs. It is loaded with the first wait.
 *
 * @module
 */

export { waitForEach } from './wait-for-all.js';
export { watchJob } from './watch.js';
