/**
 * The dialects of the wire: the protocol's tables say one thing, its samples another, and
 * deployments a third.
 *
 * @module
 */

import type { Random } from './random.js';
import type { MockServiceOptions } from './types.js';

/**
 * Chooses among spellings of one member: the table's, the sample's, and others that were seen.
 * `undefined` leaves the member out.
 */
export type Say = <T>(table: T, sample: T, ...alsoSeen: T[]) => T;

/** The field tables' dialect, whatever the service speaks. */
export const sayTable: Say = (table) => table;

const saySample: Say = (_table, sample) => sample;

/** The `Say` of a spelling. */
export function createSay(spelling: NonNullable<MockServiceOptions['spelling']>, random: Random): Say {
  if (spelling === 'table') return sayTable;
  if (spelling === 'sample') return saySample;
  return (table, sample, ...alsoSeen) => random.pick([table, sample, ...alsoSeen]);
}

/** A time as the service writes it. */
export function wireTime(ms: number): string {
  return new Date(ms).toISOString();
}
