/**
 * Measures the cost of a job status (in memory and over loopback) and of a list (in memory), for this client, bare
 * fetch and other packages.
 */

import type { CallsSettings } from '../blocks/calls.ts';
import { medians, type Row, ratios, valueIn } from '../row.ts';
import { rounded } from '../statistics.ts';
import { takeTurns } from '../turns.ts';
import { type Context, participantsOf, withServer } from './context.ts';

const others = ['stripe', 'openai', 'axios'];
const rounds = 13;
const warmUps = 3;

export async function jobStatusRows(context: Context): Promise<readonly Row[]> {
  const [inMemory, inMemoryWall] = await callRows(context, {
    what: 'job status, in memory',
    names: ['bare', 'ky', 'floor', ...others, 'stripe, raw', 'ours'],
    settings: { kind: 'status', url: null, times: 3_000 },
  });
  const [overLoopback, overLoopbackWall] = await withServer({}, (url) =>
    callRows(context, {
      what: 'job status, loopback',
      names: ['bare', 'ky', 'floor', ...others, 'stripe, http', 'axios, http', 'ours'],
      settings: { kind: 'status', url, times: 400 },
    }),
  );
  const { stripe, floor } = inMemory.figures;
  const { openai } = overLoopback.figures;
  return [
    {
      ...inMemory,
      aims: [
        { bound: valueIn(stripe), of: 'stripe' },
        { bound: 1.1 * valueIn(floor), of: '1.1 × floor' },
      ],
      beyond: { bound: 4.1 },
    },
    { ...overLoopback, aims: [{ bound: 1.42 }, { bound: valueIn(openai), of: 'openai' }], beyond: { bound: 1.32 } },
    inMemoryWall,
    overLoopbackWall,
  ];
}

export async function listRows(context: Context): Promise<readonly Row[]> {
  const settings = { kind: 'list', url: null, times: 200 } as const;
  const [list, listWall] = await callRows(context, {
    what: 'list of 100 links, in memory',
    names: ['bare', 'ky', ...others, 'ours'],
    settings,
  });
  const [ascii] = await callRows(context, {
    what: 'list of 100 links, only ASCII',
    names: ['bare', 'ours'],
    settings: { ...settings, kind: 'ascii-list' },
  });
  return [{ ...list, aims: [{ bound: 1.3 }], beyond: { bound: 1.2 } }, listWall, { ...ascii, isCharted: false }];
}

/** Returns two rows: CPU time of the process, and elapsed time. */
async function callRows(
  context: Context,
  { what, names, settings }: { what: string; names: readonly string[]; settings: CallsSettings },
): Promise<readonly [cpu: Row, wall: Row]> {
  const participants = participantsOf(names, context);
  const outcomes = await takeTurns({ block: 'calls', participants, settings: () => settings, rounds, warmUps });
  const note = (name: string) => `bare: ${rounded(valueIn(medians(outcomes, name).bare))} µs`;
  const unit = '× bare fetch';
  return [
    { what, unit, figures: ratios(outcomes, 'cpu'), note: note('cpu'), isCharted: true },
    { what: `${what}, elapsed time`, unit, figures: ratios(outcomes, 'wall'), note: note('wall') },
  ];
}
