/** Rows of the benches that stand apart, one line each. */

/** One thing that was measured, against what is aimed at. */
export interface Line {
  readonly what: string;
  readonly unit: string;
  readonly ours: number;
  /** At most this. */
  readonly aim: number;
  readonly note?: string;
}

/** Prints what was measured, and whether it reaches its aim. */
export function printLines(lines: readonly Line[]): void {
  for (const { what, unit, ours, aim, note } of lines) {
    const verdict = ours <= aim ? 'reached' : 'missed';
    console.log([`${what}: ${ours} ${unit} (aim ${aim}: ${verdict})`, ...(note ? [note] : [])].join(' | '));
  }
}
