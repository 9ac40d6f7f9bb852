// Traces of the model are replayed with the real parts of the tracker, on PGlite.

import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { randomFrom } from '../../support/random.ts';
import { type Database, openLite } from '../databases.ts';
import { createModel } from './model.ts';
import { settingOf } from './needed.ts';
import { openReplay, type Replay } from './replay/replay.ts';
import { drawnSettings, drawTrace, writeTrace } from './replay/traces.ts';
import type { RowState } from './state.ts';

const tracesPerSetting = Math.ceil(1_000 / drawnSettings.length);

let database: Database;
let replay: Replay;
const counts = new Map<string, number>();

beforeAll(async () => {
  database = await openLite();
  replay = await openReplay(database.pool);
});

afterAll(async () => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  await database.close();
});

/** The steps of a process from a completion to the begin of its handler. */
const deliver = (worker: number, id: number): readonly string[] => [
  `deliver ${worker}`,
  ...['ask', 'prepare', 'begin', 'call'].map((name) => `${name} ${worker} ${id}`),
];
const ended = ['track', 'poll 0 0', 'end 0'];
const endedAgain = ['untrack', 'track', 'poll 1 0', 'end 1'];
const succeeds = (worker: number, id: number) => [`resolve ${worker} ${id}`, `store ${worker} ${id}`];
const fails = (worker: number, id: number) => [`reject ${worker} ${id}`, `store ${worker} ${id}`];
/** A second process takes over the completion, and makes a dead letter of it. */
const buried = ['a lease ends', 'deliver 1', 'store 1 2'];

interface Written {
  readonly name: string;
  readonly setting: string;
  readonly steps: readonly string[];
  readonly state: RowState;
  readonly attempts: number;
  /** The contexts of the completions that handlers receive. */
  readonly contexts: readonly number[];
}

test.each<Written>([
  {
    name: 'a handler succeeds after untrack() and track()',
    setting: 'two ends',
    steps: [...ended, ...deliver(0, 1), ...endedAgain, ...succeeds(0, 1), ...deliver(1, 2), ...succeeds(1, 2)],
    state: 'done',
    attempts: 1,
    contexts: [1, 2],
  },
  {
    name: 'a handler fails for the last time after untrack() and track()',
    setting: 'two ends',
    steps: [...ended, ...deliver(0, 1), ...endedAgain, ...fails(0, 1), ...deliver(1, 2)],
    state: 'handingOver',
    attempts: 1,
    contexts: [1, 2],
  },
  {
    name: 'a handler fails for the last time after the handler of the next end has begun',
    setting: 'two ends',
    steps: [...ended, ...deliver(0, 1), ...endedAgain, ...deliver(1, 2), ...fails(0, 1), ...succeeds(1, 2)],
    state: 'done',
    attempts: 1,
    contexts: [1, 2],
  },
  {
    name: 'a status cannot be fetched after untrack() and track()',
    setting: 'two ends',
    steps: [...ended, ...['deliver 0', 'ask in vain 0 1'], ...endedAgain, ...['store 0 1', ...deliver(1, 2)]],
    state: 'handingOver',
    attempts: 1,
    contexts: [2],
  },
  {
    name: 'the process of a handler is paused beyond its lease, untrack() and track() follow, and the handler succeeds',
    setting: 'two ends',
    steps: [
      ...[...ended, ...deliver(0, 1), 'a lease ends', ...endedAgain, ...succeeds(0, 1)],
      ...[...deliver(1, 2), ...succeeds(1, 2)],
    ],
    state: 'done',
    attempts: 1,
    contexts: [1, 2],
  },
  {
    name: 'a handler succeeds after retry()',
    setting: 'retries',
    steps: [...ended, ...deliver(0, 1), ...buried, 'retry', ...succeeds(0, 1), ...deliver(1, 3)],
    state: 'handingOver',
    attempts: 1,
    contexts: [1, 1],
  },
  {
    name: 'a process dies in its handler each time',
    setting: 'crashes',
    steps: [
      ...ended,
      ...[...deliver(0, 1), 'a process dies 0', 'a lease ends'],
      ...[...deliver(0, 2), 'a process dies 0', 'a lease ends'],
      ...['deliver 1', 'store 1 3'],
    ],
    state: 'dead',
    attempts: 2,
    contexts: [1, 1],
  },
  {
    name: 'a process dies before its handler begins',
    setting: 'crashes',
    steps: [...[...ended, 'deliver 0', 'ask 0 1', 'prepare 0 1', 'a process dies 0', 'a lease ends'], ...deliver(1, 2)],
    state: 'handingOver',
    attempts: 1,
    contexts: [1],
  },
  {
    name: 'a lease ends before it is stored that the handler begins',
    setting: 'attempts',
    steps: [
      ...[...ended, 'deliver 0', 'ask 0 1', 'prepare 0 1', 'a lease ends', 'begin 0 1', 'too late 0 1', 'store 0 1'],
      ...deliver(1, 2),
    ],
    state: 'handingOver',
    attempts: 1,
    contexts: [1],
  },
  {
    name: 'a lease ends before the handler begins',
    setting: 'attempts',
    steps: [
      ...[...ended, 'deliver 0', 'ask 0 1', 'prepare 0 1', 'begin 0 1', 'too late 0 1', 'store 0 1'],
      ...deliver(1, 2),
    ],
    state: 'handingOver',
    attempts: 1,
    contexts: [1],
  },
  {
    name: 'a handler succeeds after its completion has become a dead letter',
    setting: 'retries',
    steps: [...ended, ...deliver(0, 1), ...buried, ...succeeds(0, 1)],
    state: 'done',
    attempts: 1,
    contexts: [1],
  },
  {
    name: 'a handler that took too long succeeds after it was stored that it failed',
    setting: 'late successes',
    steps: [...ended, ...deliver(0, 1), 'time out 0 1', 'store 0 1', ...succeeds(0, 1)],
    state: 'done',
    attempts: 1,
    contexts: [1],
  },
  {
    name: 'a poll after the deadline ends when the job has got another deadline',
    setting: 'deadlines',
    steps: ['track', 'the deadline passes', 'claim 0', 'answer 0 0', 'untrack', 'track', 'end 0'],
    state: 'tracking',
    attempts: 0,
    contexts: [],
  },
])('the rows are those of the model when $name', async ({ setting, steps, state, attempts, contexts }) => {
  const trace = writeTrace(settingOf(setting), steps);

  const completions = await replay.run(trace);

  expect(trace.steps.at(-1)?.after.row).toMatchObject({ state, attempts });
  expect(completions.map(({ context }) => context)).toEqual(contexts);
});

test.each(drawnSettings)('the rows are those of the model in traces of the setting "$name"', async (setting) => {
  for (let seed = 1; seed <= tracesPerSetting; seed++) {
    const trace = drawTrace(setting, randomFrom(seed));
    await replay.run(trace);
    for (const { name } of trace.steps) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
});

test('every action of the model was replayed', () => {
  const actions = drawnSettings.flatMap((setting) => createModel(setting).actions.map(({ name }) => name));
  expect([...new Set(actions)].filter((name) => !counts.has(name))).toEqual([]);
});
