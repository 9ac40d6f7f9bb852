/**
 * The OpenAPI description that comes with the package.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Reads the text of docs/openapi.yaml; null if the file is not installed. */
export function readDescription(): string | null {
  // The source and the build are at different depths in the package, so this searches every folder above.
  for (let folder = dirname(fileURLToPath(import.meta.url)); dirname(folder) !== folder; folder = dirname(folder)) {
    const file = join(folder, 'docs', 'openapi.yaml');
    if (existsSync(file)) return readFileSync(file, 'utf8');
    if (existsSync(join(folder, 'package.json'))) return null;
  }
  return null;
}
