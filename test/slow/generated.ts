/** Generated values that several properties share, and how often a property is tried: seeded. */

import fc from 'fast-check';

export type Of<Values> = Values extends fc.Arbitrary<infer Value> ? Value : never;

export const runs = (numRuns: number) => ({ seed: 1, numRuns });

/** Text as people write it, of any script; with something in it. */
export const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((text) => text.trim() !== '');
export const httpUrls = fc.webUrl({ validSchemes: ['http', 'https'], withQueryParameters: true });
