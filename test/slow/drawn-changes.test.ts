// Histories of one job, drawn at random: each change is handed over once, in order, and the table of the recipes ends with
// the service's last word.

import { expect, test } from 'vitest';
import { lost, playDrawnJob } from './drawn-job.js';

const draws = Number(process.env.DRAWS ?? 500);

test(`a handler keeps its promises in ${draws} drawn histories of a job`, { timeout: 3_600_000 }, async () => {
  const broken: { readonly seed: number; readonly promises: readonly string[] }[] = [];
  const lostUnderLag: number[] = [];
  for (let seed = 1; seed <= draws; seed++) {
    const { promises, setting } = await playDrawnJob(seed);
    if (promises.length === 1 && promises[0] === lost && setting.lagMs > 0) lostUnderLag.push(seed);
    else if (promises.length > 0) broken.push({ seed, promises });
  }

  expect(broken, await writeShortest(broken.map(({ seed }) => seed))).toEqual([]);
  const most = Math.floor(draws / 10_000);
  expect(lostUnderLag.length, await writeShortest(lostUnderLag)).toBeLessThanOrEqual(most);
});

/** What happens in the shortest of these histories. */
async function writeShortest(seeds: readonly number[]): Promise<string> {
  const played = await Promise.all(seeds.slice(0, 50).map((seed) => playDrawnJob(seed, { isTraced: true })));
  const [shortest] = played.map(({ trace }) => trace).sort((one, other) => one.length - other.length);
  return shortest?.join('\n') ?? '';
}
