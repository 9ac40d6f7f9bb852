/**
 * Random numbers from a seed, for ids and for the mixture of spellings, and the hash of a text.
 *
 * @module
 */

/** A sequence of random numbers. */
export type Random = ReturnType<typeof createRandom>;

/** Creates a sequence. With the same seed, each `stream` has a different sequence. */
export function createRandom(seed: number, stream: string, position?: number) {
  let state = position ?? hash(`${seed}/${stream}`);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    return mix(state);
  };
  /** `length` hexadecimal digits. */
  const hex = (length: number): string => {
    let digits = '';
    while (digits.length < length) digits += next().toString(16).padStart(8, '0');
    return digits.slice(0, length);
  };
  return {
    /** The position in the sequence. A sequence that is created with this position continues from there. */
    get position() {
      return state;
    },
    /** A number of 0 or more, and less than 1. */
    fraction: () => next() / 2 ** 32,
    /** Picks one of `choices`. */
    pick: <T>(choices: readonly [T, ...T[]]) => choices[next() % choices.length] as T,
    hex,
    /** A version 4 UUID (RFC 9562). */
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}

/** Turns a text into a number of 32 bits. */
export function hash(text: string): number {
  let state = 0;
  for (let index = 0; index < text.length; index++) state = mix(state ^ text.charCodeAt(index));
  return state;
}

/** Mixes 32 bits, as Tommy Ettinger's mulberry32 does. */
function mix(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 15), bits | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return (mixed ^ (mixed >>> 14)) >>> 0;
}
