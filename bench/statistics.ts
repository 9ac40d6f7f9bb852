/** Statistics over many rounds. */

/** Returns the median, or NaN if there are no values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Returns half the range of the middle half of the values, as the usual distance from the median. */
export function spread(values: readonly number[]): number {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / 2;
}

/** Returns the value below which a share (0 to 1) of the values lies, interpolated between two values if needed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place % 1);
}

/** Rounds to three digits, because further digits differ from run to run. */
export function rounded(figure: number): number {
  return Math.abs(figure) >= 100 ? Math.round(figure) : Number(figure.toPrecision(3));
}
