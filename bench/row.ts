/** A row of the results: the figure of each variant, and the aims. */

import { median, quantile, rounded, spread } from './statistics.ts';
import type { Outcome } from './turns.ts';

export interface Row {
  readonly what: string;
  /** The unit of the figures, for example `× bare fetch` or `KB`. */
  readonly unit: string;
  /** The figures by the names of the variants. */
  readonly figures: Readonly<Record<string, Figure>>;
  readonly better?: 'lower' | 'higher';
  /** `ours` must reach all of these aims. */
  readonly aims?: readonly Aim[];
  /** A stricter aim that `ours` does not have to reach. */
  readonly beyond?: Aim;
  /** An absolute value, or other information about the row. */
  readonly note?: string;
  /** Whether the chart shows this row; its figures must be multiples of bare fetch. */
  readonly isCharted?: boolean;
}

/** The measured value of a variant, or the reason why it failed. */
export type Figure = Measured | { readonly failed: string };

interface Measured {
  readonly value: number;
  /** The usual distance between a round and the value. */
  readonly spread?: number;
  /** The value of each round, if there are several rounds. */
  readonly rounds?: readonly number[];
}

/** A bound, and its source, for example `1.1 × floor`. */
export interface Aim {
  readonly bound: number;
  readonly of?: string;
}

/**
 * Divides the median of each variant by the median of the base variant. The value of a round is the ratio of the two
 * values in this round.
 */
export function ratios(
  outcomes: Readonly<Record<string, Outcome>>,
  name: string,
  base = 'bare',
): Readonly<Record<string, Figure>> {
  return eachFigure(outcomes, (figures) => {
    const own = figures[name] ?? [];
    const other = roundsOf(outcomes[base], name);
    const rounds = own.map((value, round) => value / (other[round] ?? Number.NaN));
    return { value: median(own) / median(other), spread: spread(rounds), rounds };
  });
}

/** Returns the median of each variant, in the given unit. */
export function medians(
  outcomes: Readonly<Record<string, Outcome>>,
  name: string,
  unit = 1,
): Readonly<Record<string, Figure>> {
  return eachFigure(outcomes, (figures) => {
    const rounds = (figures[name] ?? []).map((value) => value / unit);
    return { value: median(rounds), spread: spread(rounds), rounds };
  });
}

/** Makes a figure for each variant. A failed variant stays failed. */
export function eachFigure(
  outcomes: Readonly<Record<string, Outcome>>,
  make: (figures: Readonly<Record<string, readonly number[]>>, variant: string) => Measured,
): Readonly<Record<string, Figure>> {
  return Object.fromEntries(
    Object.entries(outcomes).map(([variant, outcome]) => [
      variant,
      'failed' in outcome ? outcome : make(outcome.figures, variant),
    ]),
  );
}

/** Returns the values of a variant, one for each round, or an empty list if the variant failed. */
export function roundsOf(outcome: Outcome | undefined, name: string): readonly number[] {
  return outcome && 'figures' in outcome ? (outcome.figures[name] ?? []) : [];
}

/** Returns the value of a figure. Without a value it returns NaN, which reaches no aim. */
export function valueIn(figure: Figure | undefined): number {
  return figure && 'value' in figure ? figure.value : Number.NaN;
}

/** Says whether `ours` reaches all of these aims. */
export function reaches({ figures, better }: Row, aims: readonly Aim[]): boolean {
  const ours = valueIn(figures.ours);
  return aims.every(({ bound }) => (better === 'higher' ? ours >= bound : ours <= bound));
}

/** Example: `≤ 4.51 (stripe), ≤ 4.4 (1.1 × floor)` */
export function formatAims({ better }: Row, aims: readonly Aim[]): string {
  const sign = better === 'higher' ? '≥' : '≤';
  return aims.map(({ bound, of }) => `${sign} ${rounded(bound)}${of ? ` (${of})` : ''}`).join(', ');
}

/** Example: `4.52 ± 0.11` */
export function formatFigure(figure: Figure): string {
  if ('failed' in figure) return 'failed';
  const { value, spread: range = 0 } = figure;
  return range > 0 ? `${rounded(value)} ± ${Number(range.toPrecision(1))}` : String(rounded(value));
}

/**
 * Compares `ours` with the build before it. A difference counts if three quarters of the rounds show it. If there is
 * only one value, any difference counts.
 */
export function formatChange({ figures: { ours, before }, better }: Row): string {
  if (!ours || !before || 'failed' in ours || 'failed' in before) return '';
  const rounds = ours.rounds?.map((value, round) => value / (before.rounds?.[round] ?? Number.NaN)) ?? [];
  const change = ours.value / before.value;
  const [low, high] = rounds.length > 1 ? [quantile(rounds, 0.25), quantile(rounds, 0.75)] : [change, change];
  const verdict = low > 1 ? 'more' : high < 1 ? 'less' : 'no clear difference';
  const isWorse = verdict === (better === 'higher' ? 'less' : 'more');
  return `${rounded(change)} × before (${verdict}${isWorse ? ', WORSE' : ''})`;
}

/** Formats a whole row as one line for the screen. */
export function formatRow(row: Row): string {
  const { what, unit, figures, aims = [], note } = row;
  const verdict = aims.length > 0 ? `aim ${formatAims(row, aims)}: ${reaches(row, aims) ? 'reached' : 'MISSED'}` : '';
  const names = Object.keys(figures).sort((a, b) => Number(b === 'ours') - Number(a === 'ours'));
  const all = names.map((name) => `${name} ${formatFigure(figures[name] as Figure)}`);
  return [`${what}, ${unit}`, ...all, formatChange(row), verdict, note].filter(Boolean).join(' | ');
}
