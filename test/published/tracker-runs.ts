/** What the runs of trackers share: databases, the service on this machine, their processes, and what they say in the end. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { stdout } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TrackerOptions } from 'hosted-client/tracking';
import { isRequired, programs, startCluster } from '../tracking/databases.ts';

/** A logger that writes nothing. */
export const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** Ends the process where no PostgreSQL is installed: with an error where one has to be. */
export function requirePostgresql(): void {
  if (programs !== null) return;
  if (isRequired) throw new Error('PostgreSQL is not installed');
  stdout.write('skipped: no PostgreSQL is installed (apt-get install postgresql)\n');
  process.exit();
}

/** Says what is wrong in the end, if anything is. */
export function endRun(problems: Iterable<string>): void {
  const all = [...new Set(problems)];
  if (all.length === 0) return;
  stdout.write(`FAILED: ${all.join('; ')}\n`);
  process.exitCode = 1;
}

/** Where a run has its trackers: each run has tables of its own. */
export interface Place {
  readonly name: string;
  /** How many processes would work there. */
  readonly workers: number;
  open(run: number): Pick<TrackerOptions, 'connectionString' | 'folder' | 'schema'>;
  close(): Promise<void>;
}

/** A folder, and a PostgreSQL where one is installed. */
export async function openPlaces(): Promise<readonly Place[]> {
  const folder = mkdtempSync(join(tmpdir(), 'run-'));
  const lite: Place = {
    name: 'PGlite',
    workers: 1,
    open: (run) => ({ folder: join(folder, `run-${run}`) }),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
  if (programs === null) {
    if (isRequired) throw new Error('PostgreSQL is not installed');
    return [lite];
  }
  const { connectionString, close } = await startCluster();
  const open = (run: number) => ({ connectionString, schema: `run_${run}` });
  return [lite, { name: 'PostgreSQL', workers: 2, open, close }];
}

/** Posts, again and again where there is no response or one with 503, as the service does; gives the text of the response. */
export async function postUntilTaken(
  url: string,
  body: string,
  { signal, onRepeat = () => {} }: { readonly signal?: AbortSignal; readonly onRepeat?: () => void } = {},
): Promise<string> {
  for (;;) {
    const response = await fetch(url, { method: 'POST', body, ...(signal && { signal }) }).catch(() => null);
    if (response?.ok) return response.text();
    if (response && response.status !== 503) throw new Error(`the web server responded with ${response.status}`);
    onRepeat();
    await sleep(500, undefined, { ...(signal && { signal }) });
  }
}

/** The most requests in any second, of times in their order. */
export function busiestSecond(times: readonly number[]): number {
  let most = 0;
  let from = 0;
  for (const [to, time] of times.entries()) {
    while (time - (times[from] ?? 0) >= 1_000) from += 1;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
