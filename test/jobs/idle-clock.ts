/**
 * Tests on a fake clock. If a wait never ends, its test would only end with the time limit of tests, and all tests of a
 * broken poller take minutes. So a test fails at once when its clock has nothing left to do.
 */

import { createTestClock as createClock } from 'hosted-client/testing';
import { aroundEach } from 'vitest';
import { isLoading } from '../../src/runtime/lazy.js';

// Chosen before a test replaces it by a fake timer.
const { setImmediate } = globalThis;

/** A clock is read less often than this before its time moves on. */
const mostReadings = 1_000_000;
/** A test clock takes four idle turns of the event loop for a sign that everything has run. */
const idleTurns = 200;

let advancing = 0;

/** A test clock that cannot be read without an end while its time stands still. */
export function createTestClock(startMs?: number): ReturnType<typeof createClock> {
  const clock = createClock(startMs);
  const { now, advance } = clock;
  let readings = 0;
  let lastMs = Number.NaN;
  clock.now = () => {
    const ms = now();
    readings = ms === lastMs ? readings + 1 : 0;
    lastMs = ms;
    if (readings > mostReadings) throw new Error('the clock was read without an end, and its time did not move on');
    return ms;
  };
  clock.advance = async (ms) => {
    advancing += 1;
    try {
      await advance(ms);
    } finally {
      advancing -= 1;
    }
  };
  return clock;
}

async function failWhenIdle(isOver: () => boolean): Promise<void> {
  for (let idle = 0; idle < idleTurns && !isOver(); idle++) {
    // Signatures are computed on other threads.
    await crypto.subtle.digest('SHA-256', new Uint8Array());
    await new Promise((resolve) => setImmediate(resolve));
    if (advancing > 0 || isLoading()) idle = -1;
  }
  if (!isOver()) throw new Error('the clock has nothing left to do, and the test still waits');
}

/** Lets the tests of a file, whose waits end by a fake clock alone, fail as soon as nothing can end them. */
export function failWhenClockIsIdle(): void {
  aroundEach(async (runTest) => {
    let isOver = false;
    const running = runTest().finally(() => {
      isOver = true;
    });
    await Promise.race([running, failWhenIdle(() => isOver)]);
  });
}
