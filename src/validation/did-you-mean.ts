/**
 * What a caller may have meant by a name that is not known.
 *
 * @module
 */

/**
 * Finds the known name that is like an unknown one: the same but for case and underscores (`callback_url`), changed by
 * one or two letters in one place (`fecth`), or one of two that is a part of the other (`timeout`). Null if none is.
 */
export function findSimilarName(name: string, known: readonly string[]): string | null {
  const given = plain(name);
  const changes = known.map((each) => countChanged(given, plain(each)));
  const fewest = Math.min(...changes);
  // Of a short name, nearly nothing would be left.
  return fewest <= Math.min(2, given.length / 2.5) ? (known[changes.indexOf(fewest)] ?? null) : null;
}

function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

// What stands between the letters that are the same at both ends; a part of four letters or more counts as one change.
function countChanged(one: string, other: string): number {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  let start = 0;
  while (start < short.length && short[start] === long[start]) start += 1;
  let end = 0;
  while (end < short.length - start && short.at(-1 - end) === long.at(-1 - end)) end += 1;
  const changed = long.length - start - end;
  return short.length >= 4 && long.includes(short) ? Math.min(1, changed) : changed;
}
