/** One thing that must hold of the published package, and how many of them are looked at. */

import { availableParallelism } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { type RunOptions, run } from './project.ts';

export interface Check {
  readonly name: string;
  /** Null when it holds; else what was seen instead, for people. */
  readonly look: () => Promise<string | null>;
}

/** Runs a command; null when it ends well and prints just this. */
export async function printsJust(
  expected: string | RegExp,
  command: string,
  args: readonly string[],
  options?: RunOptions,
): Promise<string | null> {
  const { ok, stdout, output } = await run(command, args, options);
  const printed = stdout.trim();
  const fits = typeof expected === 'string' ? printed === expected : expected.test(printed);
  return ok && fits ? null : output || 'It printed nothing';
}

/** Runs a command; null when it ends well, whatever it prints. */
export function endsWell(command: string, args: readonly string[], options?: RunOptions): Promise<string | null> {
  return printsJust(/(?:)/, command, args, options);
}

/** Null when it is just what is expected. */
export function expectJust(expected: unknown, seen: unknown): string | null {
  if (isDeepStrictEqual(seen, expected)) return null;
  return `Seen was ${JSON.stringify(seen)}, not ${JSON.stringify(expected)}`;
}

/** Looks at everything, two at a time where there is room; prints a line for each as it is known. */
export async function lookAt(checks: readonly Check[]): Promise<{ passed: number; failed: number }> {
  const waiting = checks.values();
  let failed = 0;
  const work = async () => {
    for (const { name, look } of waiting) {
      const problem = await look().catch((error: unknown) => String(error));
      if (problem !== null) failed += 1;
      console.log(problem === null ? `ok ${name}` : `FAILED ${name}\n${problem.replace(/^/gm, '    ')}`);
    }
  };
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work));
  return { passed: checks.length - failed, failed };
}
