/**
 * Chooses how properties are spelled in responses. The protocol's tables, its samples and deployments spell them
 * differently.
 *
 * @module
 */

import type { Random } from './random.js';
import type { MockServiceOptions } from './types.js';

/**
 * Chooses the spelling of a property: as in the field table, as in the sample, or as seen in deployments. `undefined`
 * leaves the property out.
 */
export type Spell = <T>(table: T, sample: T, ...alsoSeen: T[]) => T;

/** Always uses the spelling of the field tables. */
export const spellTable: Spell = (table) => table;

const spellSample: Spell = (_table, sample) => sample;

/** Creates the function that chooses spellings, for the option `spelling`. */
export function createSpell(spelling: NonNullable<MockServiceOptions['spelling']>, random: Random): Spell {
  if (spelling === 'table') return spellTable;
  if (spelling === 'sample') return spellSample;
  return (table, sample, ...alsoSeen) => random.pick([table, sample, ...alsoSeen]);
}

/** Writes null, or leaves the property out. */
export function spellNull(spell: Spell): null | undefined {
  return spell<null | undefined>(null, null, undefined);
}

export function spellBoolean(value: boolean, spell: Spell): boolean | string {
  return spell<boolean | string>(value, value, String(value), String(value).toUpperCase());
}

/** Writes a time as the service does. */
export function writeTime(ms: number): string {
  return new Date(ms).toISOString();
}
