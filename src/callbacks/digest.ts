/**
 * Digests that identify callbacks and results.
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
 * The digest of a callback: over its signed time and its other parsed properties, whatever their order and the
 * blanks between them. It stays the same when another key signs the same time.
 */
export function digestOf(properties: Readonly<Record<string, unknown>>, timestamp: string): Promise<string> {
  return sha256Hex(JSON.stringify(timestamp) + writeProperties(properties, (name) => !namesOfPair.has(name)));
}

/** The id of a result: the same however often it is sent, and with whatever text. */
export function resultId({ userId, jobId }: JobRef, result: JobResult): Promise<string> {
  const { hostedJobId, resultCode, resultType, isFinal } = result;
  return sha256Hex(writeJson([userId, jobId, hostedJobId, resultCode, resultType, isFinal]));
}

// Properties in order of their names: own properties only, and parsed JSON has no getters.
function writeProperties(properties: Readonly<Record<string, unknown>>, isWanted: (name: string) => boolean): string {
  const names = Object.keys(properties).filter(isWanted).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${write(properties[name])}`).join()}}`;
}

function write(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(write).join()}]`;
  if (isRecord(value)) return writeProperties(value, () => true);
  // JSON.stringify() would write null for Infinity, which parsed JSON can contain.
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}
