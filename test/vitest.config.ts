import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';

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

export default defineConfig({
  resolve: { alias },
  test: {
    globalSetup: ['test/support/end-of-run.ts'],
    // Many tests wait for a database or a server. By itself, a machine of two cores would use one.
    maxWorkers: Math.max(2, availableParallelism()),
    // No test waits for a time to pass, so this limit only ends one that hangs, however busy the machine is.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'all',
          include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'test/browser/**'],
          setupFiles: ['test/support/given-random.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/*.test.ts'],
          setupFiles: ['test/support/given-random.ts'],
          // A browser that shares the machine may take long, and no test waits for a time to pass.
          testTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
      {
        extends: true,
        test: {
          name: 'portable',
          include: ['test/signing/{signer,vectors}.test.ts', 'test/protocol/real-payloads.test.ts'],
          setupFiles: ['test/support/given-random.ts', 'test/support/without-platform-crypto.ts'],
        },
      },
    ],
  },
});
