/**
 * Chance that takes the same course each time: ids, and the mixture of spellings.
 *
 * @module
 */

/** A course of chance. */
export interface Random {
  /** One of `choices`. */
  pick<T>(choices: readonly [T, ...T[]]): T;
  /** `length` hexadecimal digits. */
  hex(length: number): string;
  /** A random UUID by its looks (RFC 9562, version 4). */
  uuid(): string;
}

/** Begins a course; each `stream` of one seed is a course of its own. */
export function createRandom(seed: number, stream: string): Random {
  const next = sfc32(wordsOf(`${seed}/${stream}`));
  const hex = (length: number): string => {
    let digits = '';
    while (digits.length < length) digits += next().toString(16).padStart(8, '0');
    return digits.slice(0, length);
  };
  return {
    pick: (choices) => choices[next() % choices.length] ?? choices[0],
    hex,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
  };
}

/** FNV-1a over the text, from four different beginnings. */
function wordsOf(text: string): [number, number, number, number] {
  const word = (salt: number): number => {
    let hash = 0x811c9dc5 ^ salt;
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
    return hash >>> 0;
  };
  return [word(0), word(0x9e3779b9), word(0x3c6ef372), word(1)];
}

/** Chris Doty-Humphrey's "small fast counting" generator of PractRand, 32 bits wide. */
function sfc32(words: [number, number, number, number]): () => number {
  let [a, b, c, counter] = words;
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  };
  // The first numbers still resemble the seed.
  for (let round = 0; round < 15; round++) next();
  return next;
}
