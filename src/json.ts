/**
 * Reads a response's JSON, as far as it can be read safely.
 *
 * @module
 */

import { detachFromPrototype } from './runtime/prototype.js';

/** How deep a response may nest. Real ones stay below ten. */
const maxDepth = 64;

/**
 * Parses JSON; undefined where the text is none, or nests deeper than anything honest. Nothing is read of it
 * that other code has put on `Object.prototype`.
 */
export function parseJson(text: string): unknown {
  try {
    // First, as what other code has put on all objects would be looked at in each of them.
    const value: unknown = detachFromPrototype(JSON.parse(text));
    return typeof value === 'object' && value !== null && isDeeper(value, maxDepth) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Whether a value is an object with members, and no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// Every value of a large response is looked at here: by place, without a list of them, as parsing took
// hardly longer.
function isDeeper(value: object, levels: number): boolean {
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const entry: unknown = value[at];
      if (typeof entry === 'object' && entry !== null && isDeeper(entry, levels - 1)) return true;
    }
    return false;
  }
  for (const name in value) {
    const property: unknown = value[name as never];
    if (typeof property === 'object' && property !== null && isDeeper(property, levels - 1)) return true;
  }
  return false;
}
