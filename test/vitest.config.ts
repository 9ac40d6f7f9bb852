import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string) => fileURLToPath(new URL(`../src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^hosted-client$/, replacement: source('index.ts') },
      { find: /^hosted-client\/testing$/, replacement: source('testing/index.ts') },
      { find: /^hosted-client\/testing\/msw$/, replacement: source('testing/msw.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
  },
});
