/** Measures walks with prefetch from a service that delays responses, and a walk over a million links in memory. */

import { eachFigure, type Row, roundsOf, valueIn } from '../row.ts';
import { median, rounded, spread } from '../statistics.ts';
import { type Outcome, takeTurns } from '../turns.ts';
import { type Context, participantsOf, withServer } from './context.ts';

const pages = { ahead: 1_000, oneByOne: 150 };

export async function walkRows(context: Context): Promise<readonly Row[]> {
  const participants = participantsOf(['bare', 'ky', 'ours'], context);
  const outcomes = await withServer({ latencyMs: 5, totalPages: pages.ahead }, (url) =>
    takeTurns({ block: 'walk', participants, settings: () => ({ url, pages, prefetch: 8 }), rounds: 3 }),
  );
  const figures = eachFigure(outcomes, ({ oneByOne = [], ahead = [] }) => {
    const rounds = oneByOne.map((ms, round) => ms / (ahead[round] ?? Number.NaN));
    return { value: median(oneByOne) / median(ahead), spread: spread(rounds), rounds };
  });
  const ms = (variant: string) =>
    ['oneByOne', 'ahead'].map((name) => rounded(median(roundsOf(outcomes[variant], name)))).join(' and ');
  return [
    {
      what: `${pages.ahead.toLocaleString('en')} pages with 5 ms of latency, 8 prefetched, elapsed time`,
      unit: '× as fast as without prefetch',
      better: 'higher',
      figures,
      aims: [{ bound: 0.85 * valueIn(figures.bare), of: '0.85 × bare with the same prefetch' }],
      beyond: { bound: 0.95 * valueIn(figures.bare) },
      note: `ms for a page, without and with prefetch: bare ${ms('bare')}, ours ${ms('ours')}`,
    },
  ];
}

export async function longWalkRows(context: Context): Promise<readonly Row[]> {
  const participants = participantsOf(['bare', 'ours'], context);
  const outcomes = await takeTurns({ block: 'long-walk', participants, settings: () => ({}), rounds: 10 });
  return [
    {
      what: 'walk of a million links in memory: CPU time of a page in the last tenth',
      unit: '× a page in the first tenth',
      figures: eachFigure(outcomes, ({ cpu = [] }) => ({ value: (cpu.at(-1) ?? Number.NaN) / (cpu[0] ?? Number.NaN) })),
      note: `µs for a page in the first and in the last tenth, and growth of the heap: ${formatTenths(outcomes)}`,
    },
  ];
}

/** Example: `bare 820, 790, 0.1 MB; ours …` */
function formatTenths(outcomes: Readonly<Record<string, Outcome>>): string {
  const told = Object.entries(outcomes).map(([variant, outcome]) => {
    const [cpu, heap] = [roundsOf(outcome, 'cpu'), roundsOf(outcome, 'heap')];
    const grown = ((heap.at(-1) ?? Number.NaN) - (heap[0] ?? Number.NaN)) / 2 ** 20;
    return `${variant} ${rounded(cpu[0] ?? Number.NaN)}, ${rounded(cpu.at(-1) ?? Number.NaN)}, ${grown.toFixed(1)} MB`;
  });
  return told.join('; ');
}
