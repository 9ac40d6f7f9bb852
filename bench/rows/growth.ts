/** Measures the cost of very many waits in one process, and of very many calls in flight. */

import { eachFigure, medians, type Row, roundsOf, valueIn } from '../row.ts';
import { median, rounded, spread } from '../statistics.ts';
import { type Outcome, takeTurns } from '../turns.ts';
import { type Context, participantsOf } from './context.ts';

const many = 1_000_000;
const few = 10_000;
const kilobyte = 1_024;

export async function waitRows(context: Context): Promise<readonly Row[]> {
  const builds = participantsOf(['ours'], context);
  const participants = builds.flatMap((build) =>
    [many, few].map((jobs) => ({ ...build, name: nameOf(build.name, jobs) })),
  );
  const outcomes = await takeTurns({
    block: 'waits',
    participants,
    settings: ({ name }) => ({
      jobs: builds.some((build) => name === nameOf(build.name, many)) ? many : few,
      polls: 5_000,
      measures: 'cpu',
    }),
    rounds: 7,
    warmUps: 2,
  });
  const figures = Object.fromEntries(builds.map(({ name }) => [name, pollRatio(outcomes, name)]));
  const micros = [many, few].map((jobs) => rounded(median(roundsOf(outcomes[nameOf('ours', jobs)], 'cpu'))));
  return [
    {
      what: '1,000,000 waits: CPU time of a poll',
      unit: '× the CPU time with 10,000 waits',
      figures,
      aims: [{ bound: 1.15 }],
      note: `${micros.join(' µs, with 10,000 waits ')} µs`,
    },
    await waitingHeapRow(context),
  ];
}

const nameOf = (build: string, jobs: number) => `${build} ${jobs}`;

function pollRatio(outcomes: Readonly<Record<string, Outcome>>, build: string) {
  const [atMany, atFew] = [outcomes[nameOf(build, many)], outcomes[nameOf(build, few)]];
  for (const outcome of [atMany, atFew]) if (outcome && 'failed' in outcome) return outcome;
  const [own, other] = [roundsOf(atMany, 'cpu'), roundsOf(atFew, 'cpu')];
  const rounds = own.map((cpu, round) => cpu / (other[round] ?? Number.NaN));
  return { value: median(own) / median(other), spread: spread(rounds), rounds };
}

/** Measures the heap after each job was polled once. A waiting job keeps its last status until the next poll. */
async function waitingHeapRow(context: Context): Promise<Row> {
  const outcomes = await takeTurns({
    block: 'waits',
    participants: participantsOf(['ours'], context),
    settings: () => ({ jobs: few, polls: few, measures: 'heap' }),
    rounds: 1,
  });
  return {
    what: 'heap of a waiting job',
    unit: 'KB',
    figures: medians(outcomes, 'heap', kilobyte),
    aims: [{ bound: 0.3 }],
  };
}

export async function inFlightRows(context: Context): Promise<readonly Row[]> {
  const outcomes = await takeTurns({
    block: 'in-flight',
    participants: participantsOf(['bare', 'ky', 'ours'], context),
    settings: () => ({ calls: 10_000 }),
    rounds: 5,
    warmUps: 1,
  });
  const cpu = medians(outcomes, 'cpu');
  return [
    {
      what: '10,000 calls in flight: heap of a call',
      unit: 'KB',
      figures: eachFigure(outcomes, ({ heap = [] }) => ({ value: median(heap) / kilobyte })),
      aims: [{ bound: 9 }],
      note: `CPU time of a call: bare ${rounded(valueIn(cpu.bare))} µs, ours ${rounded(valueIn(cpu.ours))} µs`,
    },
  ];
}
