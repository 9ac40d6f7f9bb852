/** Random numbers from 0 to 1 that are the same in every run of a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Creates a client, or whatever else keeps `Math.random` as it is created, with random numbers of its own. */
export function createWithRandom<T>(random: () => number, create: () => T): T {
  const { random: before } = Math;
  Math.random = random;
  try {
    return create();
  } finally {
    Math.random = before;
  }
}
