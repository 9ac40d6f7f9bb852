/**
 * The dialects of the wire: the protocol's tables say one thing, its samples another, and
 * deployments a third.
 *
 * @module
 */

import type { Random } from './random.js';
import type { MockServiceOptions } from './types.js';

/**
 * Chooses among the spellings of a property: the table's, the sample's, and others that were seen.
 * `undefined` leaves the property out.
 */
export type Spell = <T>(table: T, sample: T, ...alsoSeen: T[]) => T;

/** Spells as the field tables do, whatever the service's spelling. */
export const spellTable: Spell = (table) => table;

const spellSample: Spell = (_table, sample) => sample;

/** Creates the function that chooses for the option `spelling`. */
export function createSpell(spelling: NonNullable<MockServiceOptions['spelling']>, random: Random): Spell {
  if (spelling === 'table') return spellTable;
  if (spelling === 'sample') return spellSample;
  return (table, sample, ...alsoSeen) => random.pick([table, sample, ...alsoSeen]);
}

/** Writes a time as the service does. */
export function writeTime(ms: number): string {
  return new Date(ms).toISOString();
}
