/** Prints the results of `bench:door` and `bench:refusing`, one line for each. */

/** A measured value and its aim. */
export interface Line {
  readonly what: string;
  readonly unit: string;
  readonly ours: number;
  /** The highest value that reaches the aim. */
  readonly aim: number;
  readonly note?: string;
}

/** Prints each value, and whether it reaches its aim. */
export function printLines(lines: readonly Line[]): void {
  for (const { what, unit, ours, aim, note } of lines) {
    const verdict = ours <= aim ? 'reached' : 'missed';
    console.log([`${what}: ${ours} ${unit} (aim ${aim}: ${verdict})`, ...(note ? [note] : [])].join(' | '));
  }
}
