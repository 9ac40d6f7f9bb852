// What several files of tests need, and one of them makes: a server, or a snapshot. Each file has a process of its own, so
// they find it in a folder of the run.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

/** Names the folder; set before the first file of tests starts. */
export const variable = 'SHARED_BY_A_RUN';

/**
 * Makes something once in a run. The first caller makes it; others wait for what it wrote down.
 *
 * @returns What was written down; null where there is no run, and nothing was made.
 */
export async function makeOnce(
  name: string,
  make: () => Promise<Uint8Array<ArrayBuffer>>,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const folder = process.env[variable];
  if (!folder) return null;
  const file = join(folder, name);
  if (claim(`${file}.claimed`)) {
    try {
      const made = await make();
      writeFileSync(`${file}.part`, made);
      renameSync(`${file}.part`, file);
      return made;
    } catch (error) {
      mkdirSync(`${file}.failed`);
      throw error;
    }
  }
  while (!existsSync(file)) {
    if (existsSync(`${file}.failed`)) throw new Error(`"${name}" could not be made by another file of tests`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return readFileSync(file);
}

/** The first number that no other file of tests of this run has. */
export function takeNumber(name: string): number {
  const folder = process.env[variable];
  for (let number = 1; ; number++) if (!folder || claim(join(folder, `${name}-${number}`))) return number;
}

// Of several processes that make one folder, one succeeds.
function claim(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
