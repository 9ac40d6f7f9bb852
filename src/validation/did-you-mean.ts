/**
 * Suggests a known name in place of an unknown one.
 *
 * @module
 */

/**
 * Finds the known name that is similar to an unknown one; null if none is. Names are similar if they differ only in
 * case and underscores (`callback_url`), differ by one or two letters in one place (`fecth`), or if one contains the
 * other (`timeout`).
 */
export function findSimilarName(name: string, known: readonly string[]): string | null {
  const given = plain(name);
  const changes = known.map((each) => countChanged(given, plain(each)));
  const fewest = Math.min(...changes);
  // Names of five letters or more may differ in two, those of three or four in one, and shorter ones in none.
  return fewest <= Math.min(2, given.length / 2.5) ? (known[changes.indexOf(fewest)] ?? null) : null;
}

function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

// Counts the letters between the equal letters at both ends. If one name contains the other, which has four letters or
// more, this counts as one change.
function countChanged(one: string, other: string): number {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  let start = 0;
  while (start < short.length && short[start] === long[start]) start += 1;
  let end = 0;
  while (end < short.length - start && short.at(-1 - end) === long.at(-1 - end)) end += 1;
  const changed = long.length - start - end;
  return short.length >= 4 && long.includes(short) ? Math.min(1, changed) : changed;
}
