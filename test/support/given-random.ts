/**
 * Every test draws the same random numbers in every run, from the first one on: back-off and jitter can be
 * no other than they were, where a test tells sleeps apart by their length.
 */

import { beforeEach } from 'vitest';
import { randomFrom } from './random.js';

let draw = randomFrom(1);

// A client keeps the function that it is created with.
Math.random = () => draw();

beforeEach(() => {
  draw = randomFrom(1);
});
