// A property over generated input, seeded: sequences of operations.

import fc from 'fast-check';
import { test } from 'vitest';
import { runs } from './generated.js';
import { live, setups, steps } from './model-world.js';

test('any sequence of operations keeps what the service promises, in every spelling and page base', async () => {
  await fc.assert(fc.asyncProperty(setups, steps, live), runs(120));
}, 60_000);
