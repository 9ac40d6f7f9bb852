/** What many rounds say together. */

/** The middle value; NaN where there is none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** Half of the range that holds the middle half of the values: how far a round usually is from the median. */
export function spread(values: readonly number[]): number {
  return (quantile(values, 0.75) - quantile(values, 0.25)) / 2;
}

/** The value that a share of the others lies below, between two of them where it must. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place % 1);
}

/** Three digits are as many as a bench can tell. */
export function rounded(figure: number): number {
  return Math.abs(figure) >= 100 ? Math.round(figure) : Number(figure.toPrecision(3));
}
