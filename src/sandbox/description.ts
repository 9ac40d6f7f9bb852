/**
 * The OpenAPI description that comes with the package.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Reads the description; null where it is not installed. */
export function readDescription(): string | null {
  // The source and what it is built into lie at different depths below the package.
  for (let folder = dirname(fileURLToPath(import.meta.url)); dirname(folder) !== folder; folder = dirname(folder)) {
    const text = readText(join(folder, 'docs', 'openapi.yaml'));
    if (text !== null || readText(join(folder, 'package.json')) !== null) return text;
  }
  return null;
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
