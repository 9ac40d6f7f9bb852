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
  // The source and the build are at different depths in the package, so this searches for the folder of the package.
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder);
  const file = join(folder, 'docs', 'openapi.yaml');
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}
