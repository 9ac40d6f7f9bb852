import { defineConfig } from 'vitest/config';
import { keptThread, sequencer } from './support/kept-thread.js';
import { alias, tags } from './vitest.config.js';

/**
 * The tests that judge a mutant: not those that read the source as text, or prove other things on real sockets. Most of
 * those of `slow/` take so long that each mutant that survives would take a minute.
 */
export default defineConfig({
  plugins: [keptThread],
  resolve: { alias },
  test: {
    tags,
    sequence: { sequencer },
    // Instrumented, everything is slower.
    testTimeout: 30_000,
    include: [
      'test/{call,callbacks,jobs,links,protocol,runtime,signing,validation}/**/*.test.ts',
      'test/errors/*.test.ts',
      'test/node/{lambda,node}-handler.test.ts',
      'test/slow/{long-lists,properties-spellings}.test.ts',
      'test/testing/{callbacks,clock,jobs,service,web-crypto}.test.ts',
      'test/from-env.test.ts',
      'test/{aborts,iterations,mistakes}.test.ts',
    ],
    setupFiles: ['test/support/given-random.ts'],
  },
});
