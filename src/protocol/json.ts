/**
 * Parses the JSON of responses, within limits.
 *
 * @module
 */

import { detachFromPrototype } from '../runtime/untrusted-objects.js';

/** How many levels of objects and lists a response may have. Real responses have fewer than ten. */
const maxDepth = 64;

/**
 * How many properties an object may have. Real objects have fewer than a hundred. Copying a million properties takes
 * seconds.
 */
const maxProperties = 10_000;

/**
 * Parses JSON; undefined if the string is not JSON, nests too deeply, or has an object with too many properties. The
 * value inherits nothing that other code has put on `Object.prototype`.
 */
export function parseJson(text: string): unknown {
  try {
    // The value is detached first. Otherwise `isTooLarge` would count properties that other code put on
    // `Object.prototype`.
    const value: unknown = detachFromPrototype(JSON.parse(text));
    return typeof value === 'object' && value !== null && isTooLarge(value, maxDepth) ? undefined : value;
  } catch {
    // Not JSON.
  }
  return undefined;
}

/** The properties of a JSON object. */
export type Properties = Readonly<Record<string, unknown>>;

/** Whether a value is an object, and not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// Visits every value of a response. It creates no arrays (as `Object.values` would), because creating them takes about
// as long as parsing.
function isTooLarge(value: object, levels: number): boolean {
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const entry: unknown = value[at];
      if (typeof entry === 'object' && entry !== null && isTooLarge(entry, levels - 1)) return true;
    }
    return false;
  }
  let properties = 0;
  for (const name in value) {
    properties += 1;
    if (properties > maxProperties) return true;
    const property: unknown = value[name as never];
    if (typeof property === 'object' && property !== null && isTooLarge(property, levels - 1)) return true;
  }
  return false;
}
