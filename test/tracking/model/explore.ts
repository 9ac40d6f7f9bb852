// Explores a model state by state: every state that its actions reach is visited once.

/** One way in which an action can happen in a state, such as the worker that does it. */
export type Case = readonly number[];

/** An action of a model: it happens in each of its cases, and changes a copy of the state. */
export interface Action<State> {
  readonly name: string;
  /** What the action stands for in the source: statements, or code of a worker. */
  readonly standsFor: string;
  /**
   * False of what may never happen. Promises may rely on all else: on the work that happens by itself, and on what a
   * caller does to repair.
   */
  readonly helps?: false;
  cases(state: State): readonly Case[];
  effect(state: State, at: Case): void;
}

/** A promise: what holds in every state, at every step, or what can still come true from every state. */
export interface Promised<State> {
  readonly name: string;
  readonly state?: (state: State) => boolean;
  readonly step?: (before: State, action: string, after: State, at: Case) => boolean;
  /** From every state in which `from` is true, helping actions lead to a state in which `to` is true. */
  readonly reach?: { from(state: State): boolean; to(state: State): boolean };
}

/** A model: where it begins, what can happen, and how states are told apart. */
export interface Model<State> {
  readonly initial: State;
  readonly actions: readonly Action<State>[];
  readonly promises: readonly Promised<State>[];
  copy(state: State): State;
  /** States with the same key differ only in names. */
  keyOf(state: State): string;
}

/** What an exploration found. */
export interface Explored {
  readonly states: number;
  readonly steps: number;
  /** The first promise that does not hold, and the steps that lead to the state in which it is broken. */
  readonly broken: { readonly promise: string; readonly trace: readonly string[] } | null;
}

/** A model with more states is not finite. */
const maxStates = 500_000;

/** Visits every state, and stops at the first promise that is broken. */
export function explore<State>({ initial, actions, promises, copy, keyOf }: Model<State>): Explored {
  const states: State[] = [initial];
  const ids = new Map([[keyOf(initial), 0]]);
  const parents = [0];
  const labels = [''];
  const helped: number[] = [];
  const ofStates = promises.flatMap(({ name, state }) => (state ? [{ name, state }] : []));
  const ofSteps = promises.flatMap(({ name, step }) => (step ? [{ name, step }] : []));
  let steps = 0;

  const traceTo = (id: number): readonly string[] => {
    const trace: string[] = [];
    for (let at = id; at !== 0; at = parents[at] ?? 0) trace.unshift(labels[at] ?? '');
    return trace;
  };
  const stop = (promise: string, trace: readonly string[]): Explored => ({
    states: states.length,
    steps,
    broken: { promise, trace },
  });

  for (let id = 0; id < states.length; id++) {
    const before = states[id] as State;
    for (const action of actions) {
      for (const at of action.cases(before)) {
        const after = copy(before);
        action.effect(after, at);
        steps += 1;
        for (const { name, step } of ofSteps) {
          if (!step(before, action.name, after, at)) return stop(name, [...traceTo(id), labelOf(action, at)]);
        }
        const key = keyOf(after);
        let next = ids.get(key);
        if (next === undefined) {
          next = states.length;
          if (next === maxStates) throw new Error(`more than ${maxStates} states`);
          ids.set(key, next);
          states.push(after);
          parents.push(id);
          labels.push(labelOf(action, at));
          for (const { name, state } of ofStates) if (!state(after)) return stop(name, traceTo(next));
        }
        if (action.helps !== false && next !== id) helped.push(id, next);
      }
    }
  }
  for (const { name, reach } of promises) {
    const stuck = reach ? findStuck(states, helped, reach) : -1;
    if (stuck >= 0) return stop(name, traceTo(stuck));
  }
  return { states: states.length, steps, broken: null };
}

function labelOf(action: { readonly name: string }, at: Case): string {
  return [action.name, ...at].join(' ');
}

/** The first state from which no steps of `helped` lead to where they should; -1 if there is none. */
function findStuck<State>(
  states: readonly State[],
  helped: readonly number[],
  { from, to }: { from(state: State): boolean; to(state: State): boolean },
): number {
  // The steps into each state, as lists that are chained through two arrays.
  const last = new Int32Array(states.length).fill(-1);
  const earlier = new Int32Array(helped.length / 2);
  for (let step = 0; step < earlier.length; step++) {
    const into = helped[2 * step + 1] ?? 0;
    earlier[step] = last[into] ?? -1;
    last[into] = step;
  }
  const leads = new Uint8Array(states.length);
  const reached = states.flatMap((state, id) => (to(state) ? [id] : []));
  for (const id of reached) leads[id] = 1;
  for (let id = reached.pop(); id !== undefined; id = reached.pop()) {
    for (let step = last[id] ?? -1; step >= 0; step = earlier[step] ?? -1) {
      const origin = helped[2 * step] ?? 0;
      if (leads[origin] === 1) continue;
      leads[origin] = 1;
      reached.push(origin);
    }
  }
  return states.findIndex((state, id) => leads[id] === 0 && from(state));
}
