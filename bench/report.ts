/** What a bench found, as rows: printed where it is run alone, handed to `run.ts` where that runs it. */

/** One thing that was measured. */
export interface Row {
  readonly what: string;
  /** What the figures are: "times bare fetch", "ms", "KB". */
  readonly unit: string;
  readonly ours: number;
  /** What is aimed at; a figure at most this is reached. Faster walks aim higher: there, at least this. */
  readonly aim?: number;
  readonly better?: 'lower' | 'higher';
  /** The others, by name. */
  readonly others?: Readonly<Record<string, number>>;
  /** What one of these costs in absolute terms, for those who read figures. */
  readonly note?: string;
}

export function report(rows: readonly Row[]): void {
  if (process.send) process.send(rows);
  else for (const row of rows) console.log(lineOf(row));
}

/** `job status, in memory: 4.1 times bare fetch (aim 4.8, reached) | ky 3.7 | …` */
export function lineOf({ what, unit, ours, aim, others = {}, note, better }: Row): string {
  const verdict = aim === undefined ? '' : ` (aim ${aim}: ${isReached({ ours, aim, better }) ? 'reached' : 'missed'})`;
  const beside = Object.entries(others).map(([name, figure]) => `${name} ${figure}`);
  return [`${what}: ${ours} ${unit}${verdict}`, ...beside, ...(note ? [note] : [])].join(' | ');
}

export function isReached({
  ours,
  aim = ours,
  better,
}: Pick<Row, 'ours' | 'aim'> & { better?: Row['better'] }): boolean {
  return better === 'higher' ? ours >= aim : ours <= aim;
}

export function rounded(figure: number): number {
  return figure >= 100 ? Math.round(figure) : Number(figure.toPrecision(3));
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
