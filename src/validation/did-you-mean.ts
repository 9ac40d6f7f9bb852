/**
 * Suggests a known name in place of an unknown one.
 *
 * @module
 */

/**
 * Finds the known name that is most similar to an unknown name; null if no known name is similar. Two names are similar
 * in three cases. They differ only in case and underscores (`callback_url` and `callbackUrl`); they differ by one or
 * two letters in one place (`fecth` and `fetch`); or one name contains the other (`timeout` and `timeoutMs`).
 */
export function findSimilarName(name: string, known: readonly string[]): string | null {
  const given = plain(name);
  const changes = known.map((each) => countChanged(given, plain(each)));
  const fewest = Math.min(...changes);
  // Names with at least five letters may differ by two letters. Names with three or four letters may differ by one.
  return fewest <= Math.min(2, given.length / 2.5) ? (known[changes.indexOf(fewest)] ?? null) : null;
}

function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

// Counts the letters of the longer name without the letters that both names share at the start and at the end. If the
// longer name contains the shorter one, and the shorter one has at least four letters, the difference counts as one
// letter.
function countChanged(one: string, other: string): number {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  let start = 0;
  while (start < short.length && short[start] === long[start]) start += 1;
  let end = 0;
  while (end < short.length - start && short.at(-1 - end) === long.at(-1 - end)) end += 1;
  const changed = long.length - start - end;
  return short.length >= 4 && long.includes(short) ? Math.min(1, changed) : changed;
}
