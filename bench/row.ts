/** One line of the results: what each variant measured, and what is aimed at. */

import { median, quantile, rounded, spread } from './statistics.ts';
import type { Outcome } from './turns.ts';

export interface Row {
  readonly what: string;
  /** What the figures are: `× bare fetch`, `KB`. */
  readonly unit: string;
  /** By the variant's name. */
  readonly figures: Readonly<Record<string, Figure>>;
  readonly better?: 'lower' | 'higher';
  /** What `ours` must reach: all of these. */
  readonly aims?: readonly Aim[];
  /** What would be better than asked for. */
  readonly beyond?: Aim;
  /** What one of these is in absolute terms, or what else is to be known. */
  readonly note?: string;
  /** Whether it has its place in the chart: its figures are multiples of bare fetch. */
  readonly isCharted?: boolean;
}

/** What a variant measured, or why there is nothing. */
export type Figure = Measured | { readonly failed: string };

interface Measured {
  readonly value: number;
  /** How far a round usually is from it. */
  readonly spread?: number;
  /** The value in each round, where rounds were counted. */
  readonly rounds?: readonly number[];
}

/** A bound, and what it is: `1.1 × floor`. */
export interface Aim {
  readonly bound: number;
  readonly of?: string;
}

/** What each variant measured, as multiples of what one of them did in the same round. */
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

/** What each variant measured, as it is. */
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

/** Makes a figure of what each variant measured; one that failed stays failed. */
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

/** What a variant measured round by round; nothing where it failed. */
export function roundsOf(outcome: Outcome | undefined, name: string): readonly number[] {
  return outcome && 'figures' in outcome ? (outcome.figures[name] ?? []) : [];
}

/** The value of a figure; NaN, which reaches no aim, where there is none. */
export function valueIn(figure: Figure | undefined): number {
  return figure && 'value' in figure ? figure.value : Number.NaN;
}

/** Whether `ours` reaches these aims. */
export function reaches({ figures, better }: Row, aims: readonly Aim[]): boolean {
  const ours = valueIn(figures.ours);
  return aims.every(({ bound }) => (better === 'higher' ? ours >= bound : ours <= bound));
}

/** `≤ 4.51 (stripe), ≤ 4.4 (1.1 × floor)` */
export function formatAims({ better }: Row, aims: readonly Aim[]): string {
  const sign = better === 'higher' ? '≥' : '≤';
  return aims.map(({ bound, of }) => `${sign} ${rounded(bound)}${of ? ` (${of})` : ''}`).join(', ');
}

/** `4.52 ± 0.11` */
export function formatFigure(figure: Figure): string {
  if ('failed' in figure) return 'failed';
  const { value, spread: range = 0 } = figure;
  return range > 0 ? `${rounded(value)} ± ${Number(range.toPrecision(1))}` : String(rounded(value));
}

/** How `ours` compares with the build before it: told apart where three rounds of four agree. */
export function formatChange({ figures: { ours, before }, better }: Row): string {
  if (!ours || !before || 'failed' in ours || 'failed' in before) return '';
  const rounds = ours.rounds?.map((value, round) => value / (before.rounds?.[round] ?? Number.NaN)) ?? [];
  const change = ours.value / before.value;
  const [low, high] = rounds.length > 1 ? [quantile(rounds, 0.25), quantile(rounds, 0.75)] : [change, change];
  const verdict = low > 1 ? 'more' : high < 1 ? 'less' : 'not told apart';
  const isWorse = verdict === (better === 'higher' ? 'less' : 'more');
  return `${rounded(change)} × before (${verdict}${isWorse ? ', WORSE' : ''})`;
}

/** All of a row in one line, for the screen. */
export function formatRow(row: Row): string {
  const { what, unit, figures, aims = [], note } = row;
  const verdict = aims.length > 0 ? `aim ${formatAims(row, aims)}: ${reaches(row, aims) ? 'reached' : 'MISSED'}` : '';
  const names = Object.keys(figures).sort((a, b) => Number(b === 'ours') - Number(a === 'ours'));
  const all = names.map((name) => `${name} ${formatFigure(figures[name] as Figure)}`);
  return [`${what}, ${unit}`, ...all, formatChange(row), verdict, note].filter(Boolean).join(' | ');
}
