/**
 * Reads an answer's JSON, as far as it can be read safely.
 *
 * @module
 */

/** How deep an answer may nest. Real ones stay below ten. */
const maxDepth = 64;

/** Parsed JSON; undefined where the text is none, or nests deeper than anything honest. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isDeeper(value, maxDepth) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Whether a value is an object with members, and no list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  for (const member of members) {
    // Asked here, not one call further: most members are texts.
    if (typeof member === 'object' && isDeeper(member, levels - 1)) return true;
  }
  return false;
}
