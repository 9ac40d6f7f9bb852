import { defineConfig } from 'vitest/config';
import { alias } from './vitest.config.js';

/** The tests that judge a mutant: not those that read the source as text, or prove other things on real sockets. */
export default defineConfig({
  resolve: { alias },
  test: {
    // Instrumented, everything is slower.
    testTimeout: 30_000,
    include: [
      'test/{api-promise,believing,body,date-time,input,issues,json,messages,ordinary-page,outage,paging,polling,request-id,retrying,signing,signing-arithmetic,strict-ed25519,structure,waiting-for-many}.test.ts',
      'test/normalising-*.test.ts',
      'test/callbacks-*.test.ts',
      'test/real-payloads.test.ts',
      'test/call/{clock-skew,reflection,retry-after,signing-times}.test.ts',
      'test/runtime/{clock,due-queue}.test.ts',
      'test/signing/*.test.ts',
      'test/validation/*.test.ts',
    ],
  },
});
