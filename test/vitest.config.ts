import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { needed } from './support/needed.js';

const source = (path: string) => fileURLToPath(new URL(`../src/${path}`, import.meta.url));

/** The package's own names stand for its source. */
export const alias = [
  { find: /^hosted-client$/, replacement: source('index.ts') },
  { find: /^hosted-client\/node$/, replacement: source('node/index.ts') },
  { find: /^hosted-client\/opentelemetry$/, replacement: source('opentelemetry/index.ts') },
  { find: /^hosted-client\/tracking$/, replacement: source('tracking/index.ts') },
  { find: /^hosted-client\/sandbox$/, replacement: source('sandbox/index.ts') },
  { find: /^hosted-client\/testing$/, replacement: source('testing/index.ts') },
  { find: /^hosted-client\/testing\/msw$/, replacement: source('testing/msw.ts') },
];

/** Tests that need what this machine lacks are skipped. */
export const tags = needed.map(({ name, missing }) => ({ name, skip: missing !== null }));

const kit = ['test/{cli,opentelemetry,sandbox,testing}/**/*.test.ts', 'examples/**/*.test.ts'];
const tracking = ['test/tracking/**/*.test.ts'];
const slow = ['test/{browser,slow}/**/*.test.ts'];

export default defineConfig({
  resolve: { alias },
  test: {
    globalSetup: ['test/support/end-of-run.ts'],
    tags,
    // Of a green run, only how far it is, what was skipped, and the counts.
    reporters: ['test/support/reporter.ts'],
    silent: 'passed-only',
    setupFiles: ['test/support/given-random.ts', 'test/support/clear-openssl-errors.ts'],
    // Many tests wait for a database or a server. By itself, a machine of two cores would use one.
    maxWorkers: Math.max(2, availableParallelism()),
    // No test waits for a time to pass, so these limits only end one that hangs, however busy the machine is.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'core',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...kit, ...tracking, ...slow],
          pool: 'threads',
          isolate: false,
          // A test that `failWhenClockIsIdle` has given up keeps its place among those that may run at once.
          maxConcurrency: 10_000,
        },
      },
      // In processes, because a thread cannot change its umask.
      { extends: true, test: { name: 'kit', include: kit, pool: 'forks', isolate: false } },
      // Databases, browsers and floods that share the machine may take long.
      { extends: true, test: { name: 'tracking', include: tracking, testTimeout: 300_000 } },
      { extends: true, test: { name: 'slow', include: slow, testTimeout: 300_000 } },
    ],
  },
});
