// Traces of the model: steps from its first state on, drawn at random or written down.

import type { Action, Case } from '../explore.ts';
import { createModel } from '../model.ts';
import { settingOf } from '../needed.ts';
import { type Settings, settings } from '../settings.ts';
import type { Delivery, State } from '../state.ts';

/** A step of a trace, and the states before and after it. */
export interface Step {
  /** The name of the action. */
  readonly name: string;
  readonly at: Case;
  readonly before: State;
  readonly after: State;
  /** Whether the model does not allow the step, so that it must change nothing. */
  readonly isVain: boolean;
}

export interface Trace {
  readonly settings: Settings;
  readonly steps: readonly Step[];
}

/** The settings of drawn traces. Two of them let more happen than can be explored to exhaustion. */
export const drawnSettings: readonly Settings[] = [
  ...settings,
  {
    ...settingOf('everything about deliveries'),
    name: 'more about deliveries',
    maxAttempts: 2,
    tracks: 3,
    untracks: 2,
    retries: 2,
    results: [2, 3],
    callbacks: [0],
    repeats: true,
    stops: true,
  },
  {
    ...settingOf('outages'),
    name: 'more about polls',
    tracks: 2,
    untracks: 2,
    retries: 1,
    callbacks: [0, 3, 4],
    namesLink: true,
    results: [0, 2],
    deliverers: 2,
    crashes: true,
  },
];

/** How probable steps are, compared with steps of other actions. What leads to deep states is more probable. */
const weights: Readonly<Record<string, number>> = {
  track: 0.7,
  callback: 0.4,
  untrack: 0.3,
  retry: 6,
  forget: 0.5,
  stop: 0.3,
  'stop resolves': 3,
  start: 3,
  poll: 5,
  claim: 5,
  answer: 5,
  giveUp: 4,
  endAgain: 8,
  keepEnd: 8,
  end: 8,
  deliver: 8,
  ask: 8,
  'ask in vain': 0.7,
  prepare: 8,
  begin: 8,
  call: 10,
  'too late': 0.5,
  resolve: 1,
  reject: 2,
  store: 3,
  'give up': 0.4,
  'a process dies': 0.5,
  'a lease ends': 0.5,
  'the deadline passes': 2,
  'an outage ends': 0.5,
};

/** Draws a trace of 10 to 25 steps. */
export function drawTrace(setting: Settings, random: () => number): Trace {
  const { initial, actions, copy } = createModel(setting);
  const steps: Step[] = [];
  const length = 10 + Math.floor(random() * 16);
  let before = initial;
  while (steps.length < length) {
    const choices = [...listChoices(before, actions), ...listVain(before, setting)];
    const choice = pick(choices, random);
    if (!choice) break;
    const after = copy(before);
    choice.action?.effect(after, choice.at);
    steps.push({ name: choice.name, at: choice.at, before, after, isVain: choice.action === undefined });
    before = after;
  }
  return { settings: setting, steps };
}

/** Makes a trace of steps that are written as in `labelOf`. */
export function writeTrace(setting: Settings, labels: readonly string[]): Trace {
  const { initial, actions, copy } = createModel(setting);
  let before = initial;
  const steps = labels.map((label): Step => {
    const choice = listChoices(before, actions).find((one) => labelOf(one) === label);
    if (!choice?.action) throw new Error(`the model does not allow the step "${label}"`);
    const after = copy(before);
    choice.action.effect(after, choice.at);
    const step = { name: choice.name, at: choice.at, before, after, isVain: false };
    before = after;
    return step;
  });
  return { settings: setting, steps };
}

/** Writes a step as its action, followed by its case. */
export const labelOf = ({ name, at }: Pick<Step, 'name' | 'at'>): string => [name, ...at].join(' ');

interface Choice {
  readonly name: string;
  readonly at: Case;
  readonly weight: number;
  readonly action?: Action<State>;
}

function listChoices(state: State, actions: readonly Action<State>[]): readonly Choice[] {
  const runs = deliveriesOf(state).some(({ phase }) => phase === 'running');
  return actions.flatMap((action) => {
    const { name } = action;
    const weight = (weights[name] ?? 1) * (runs && (name === 'untrack' || name === 'track') ? 6 : 1);
    return action
      .cases(state)
      .filter((at) => isPossible(state, name, at))
      .map((at) => ({ name, at, weight, action }));
  });
}

/**
 * In the model, the deliveries of one process are independent. A process takes the next completion only after the one
 * before goes on, and stores one thing at a time.
 */
function isPossible({ processes }: State, name: string, [index = 0, id]: Case): boolean {
  const { deliveries } = processes[index === 0 ? 0 : 1];
  if (name === 'deliver') return deliveries.every(({ phase }) => phase !== 'failed');
  const stores = name.startsWith('begin') || name.startsWith('store') || name === 'give up';
  return !stores || deliveries.every((one) => one.id === id || !['begun', 'unbegun'].includes(one.phase));
}

/** What callers and the housekeeping may do in every state, although it changes nothing. */
function listVain({ row, world }: State, { tracks, untracks, retries, forgets }: Settings): readonly Choice[] {
  const vain = {
    track: tracks > 0 && row.state === 'handingOver',
    untrack: untracks > 0 && ['absent', 'done', 'untracked'].includes(row.state),
    retry: retries > 0 && row.state !== 'dead',
    forget: forgets && !['done', 'untracked', 'absent'].includes(row.state),
    adopt: world.isLinkTracked && row.state !== 'heard' && row.state !== 'absent',
  };
  // Few traces reach a dead letter.
  const weight = row.state === 'dead' ? 1 : 0.1;
  return Object.entries(vain).flatMap(([name, is]) => (is ? [{ name, at: [], weight }] : []));
}

const deliveriesOf = ({ processes }: State): readonly Delivery[] => processes.flatMap(({ deliveries }) => deliveries);

function pick(choices: readonly Choice[], random: () => number): Choice | undefined {
  let left = random() * choices.reduce((sum, { weight }) => sum + weight, 0);
  return choices.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
}
