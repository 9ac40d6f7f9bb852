/** A rejection that nobody looks at fails the test that left it. */

import { afterEach, beforeEach, expect } from 'vitest';

/** Watches every test of the file that calls this. */
export function failOnStrayRejections(): void {
  const stray: unknown[] = [];
  const note = (error: unknown) => stray.push(error);

  beforeEach(() => {
    stray.length = 0;
    process.on('unhandledRejection', note);
  });

  afterEach(async () => {
    // What is left behind shows a turn or two later.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(stray).toEqual([]);
  });
}
