/**
 * What makes two callbacks the same, and two results.
 *
 * @module
 */

import type { JobRef, JobResult } from '../jobs/types.js';
import { isRecord } from '../protocol/json.js';
import { writeJson } from '../runtime/prototype.js';
import { sha256Hex } from '../runtime/sha256.js';
import { pairNames } from './scan-body.js';

const namesOfPair: ReadonlySet<string> = new Set(pairNames);

/**
 * The digest of a callback: of its signed time and of its other parsed properties, whatever their order and
 * the blanks between them. One that is signed anew for the same time, with another key say, is the same.
 */
export function digestOf(properties: Readonly<Record<string, unknown>>, timestamp: string): Promise<string> {
  return sha256Hex(JSON.stringify(timestamp) + writeProperties(properties, (name) => !namesOfPair.has(name)));
}

/** The id of a result: the same however often, and in whatever words, it is sent. */
export function resultId({ userId, jobId }: JobRef, result: JobResult): Promise<string> {
  const { hostedJobId, resultCode, resultType, isFinal } = result;
  return sha256Hex(writeJson([userId, jobId, hostedJobId, resultCode, resultType, isFinal]));
}

// Properties in the order of their names. The names are the object's own, and parsed JSON has no getters.
function writeProperties(properties: Readonly<Record<string, unknown>>, isWanted: (name: string) => boolean): string {
  const names = Object.keys(properties).filter(isWanted).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${write(properties[name])}`).join()}}`;
}

function write(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(write).join()}]`;
  if (isRecord(value)) return writeProperties(value, () => true);
  // JSON would write null for a number that is too large for it.
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}
