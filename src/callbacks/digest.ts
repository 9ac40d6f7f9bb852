/**
 * Digests that identify callbacks, results and jobs.
 *
 * @module
 */

import type { JobRef, JobResult } from '../jobs/types.js';
import { sha256Hex } from '../runtime/sha256.js';
import type { Properties } from '../runtime/untrusted-objects.js';
import { pairNames } from './scan-body.js';

const namesOfPair: ReadonlySet<string> = new Set(pairNames);

/**
 * The digest of a callback: of the timestamp as it was signed, and of all properties except `timestamp` and the
 * signatures. The digest stays the same if the properties have another order, if there are other blanks between them,
 * or if another key made the signature.
 */
export function bodyDigestOf(properties: Properties, timestamp: string): Promise<string> {
  return sha256Hex(JSON.stringify(timestamp) + writeProperties(properties, (name) => !namesOfPair.has(name)));
}

/** The id of a result. If the result is sent again, its id stays the same, even if its `resultText` is different. */
export function resultId({ userId, jobId }: JobRef, result: JobResult): Promise<string> {
  const { hostedJobId, resultCode, resultType, isFinal } = result;
  return digestOf([userId, jobId, hostedJobId, resultCode, resultType, isFinal]);
}

/** The digest of a list: SHA-256 of its JSON, in hexadecimal digits. */
export function digestOf(values: readonly (string | boolean | null)[]): Promise<string> {
  return sha256Hex(write(values));
}

// Writes own properties only, in order of their names. Reading runs no code, because parsed JSON has no getters.
function writeProperties(properties: Properties, isWanted: (name: string) => boolean): string {
  const names = Object.keys(properties).filter(isWanted).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${write(properties[name])}`).join()}}`;
}

// `toJSON` is never called, so it does not matter whether other code has put one on all objects or arrays.
function write(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(write).join()}]`;
  if (typeof value === 'object' && value !== null) return writeProperties(value as Properties, () => true);
  // Parsed JSON can contain Infinity (from `1e999`). JSON.stringify() would write it as null.
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}
