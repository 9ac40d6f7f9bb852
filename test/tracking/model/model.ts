// The model of the tracker: its actions, its promises, and how its states are told apart.

import { absent, createCallers } from './callers.ts';
import { createDeliveries } from './deliveries.ts';
import type { Model } from './explore.ts';
import { createFaults } from './faults.ts';
import { createPolls } from './polls.ts';
import { createPromises } from './promises.ts';
import type { Settings } from './settings.ts';
import { copyState, type Delivery, failures, findings, type Process, phases, rowStates, type State } from './state.ts';

/** Creates the model in a setting. */
export function createModel(settings: Settings): Model<State> {
  return {
    initial: {
      row: { ...absent },
      processes: [start(), start()],
      truth: {
        end: 0,
        base: 0,
        begun: 0,
        lapsed: 0,
        isHandled: false,
        context: 0,
        ended: 0,
        key: 0,
        keyRevision: 0,
        newest: 0,
        mentioned: 0,
      },
      world: {
        result: settings.results[0],
        isDown: false,
        outages: settings.outages,
        isBroken: false,
        isLate: false,
        tracks: settings.tracks,
        untracks: settings.untracks,
        retries: settings.retries,
        isLinkTracked: false,
      },
      nextId: 1,
      signatures: 0,
    },
    actions: [
      ...createCallers(settings),
      ...createPolls(settings),
      ...createDeliveries(settings),
      ...createFaults(settings),
    ],
    promises: createPromises(settings),
    copy: copyState,
    keyOf: createKeys(settings),
  };
}

const start = (): Process => ({ poll: null, deliveries: [], isStopping: false, isClosed: false });

/** Creates the function that writes a state as a string; the names of ends and processes are not in it. */
function createKeys({ deliverers, without }: Settings): (state: State) => string {
  const hasIds = without !== 'each end has an id of its own';
  const letters = (...values: readonly (number | boolean)[]) =>
    String.fromCharCode(...values.map((value) => 48 + Number(value)));

  return (state) => {
    const { row, processes, truth, world } = state;
    // Only whether an end is the current one matters, not which of the earlier ones it is.
    const endOf = (one: { readonly end: number; readonly of: number }) =>
      (one.of === truth.end ? 2 : one.of > truth.base ? 4 : 0) + (one.end === row.end && !hasIds ? 1 : 0);
    const codeOfDelivery = (one: Delivery) =>
      letters(
        endOf(one),
        phases.indexOf(one.phase),
        row.lease === one.id,
        one.attempt,
        one.context,
        one.result,
        one.since,
        one.revision === row.revision,
        row.mentioned > one.signed,
        one.signed > row.signed,
        one.before?.attempts ?? 9,
        (one.before?.revision ?? -1) === row.revision,
        one.before?.version ?? 9,
        row.mentioned > (one.before?.signed ?? 0),
        rowStates.indexOf(one.before?.stateBefore ?? 'absent'),
        one.before?.hasExpired ?? false,
        one.before?.begun ?? 9,
        one.before?.lapsed ?? 9,
      );
    const codeOf = ({ poll, deliveries, isStopping, isClosed }: Process) => {
      const polled = poll
        ? letters(
            findings.indexOf(poll.found),
            poll.isLate,
            poll.latePolls,
            failures.indexOf(poll.lastError),
            poll.isProven,
            poll.isLinkProven,
            poll.link,
            poll.isCompared,
            failures.indexOf(poll.error),
            poll.isOfAll,
            poll.hasEnded,
            poll.revision === row.revision,
            poll.isSame,
            row.mentioned > poll.signed,
          )
        : '';
      return `${letters(isStopping, isClosed)}${polled}/${deliveries.map(codeOfDelivery).sort().join('')}`;
    };
    const surroundings = letters(
      rowStates.indexOf(row.state),
      row.attempts,
      Math.min(row.revision, 5),
      row.version,
      row.mentioned > row.signed,
      rowStates.indexOf(row.stateBefore ?? 'absent'),
      row.lease !== 0,
      row.isOver,
      row.hasExpired,
      row.context,
      row.link,
      row.isProven,
      row.isMentioned,
      row.hasDate,
      row.latePolls,
      failures.indexOf(row.lastError),
      truth.begun,
      truth.lapsed,
      truth.isHandled,
      truth.context,
      truth.ended,
      truth.key,
      Math.min(row.revision - truth.keyRevision, 3),
      truth.newest,
      truth.mentioned,
      world.result,
      world.isDown,
      world.outages,
      world.isBroken,
      world.isLate,
      world.tracks,
      world.untracks,
      world.retries,
      world.isLinkTracked,
    );
    const both = processes.map(codeOf);
    if (deliverers === 2) both.sort();
    return [surroundings, ...both].join('|');
  };
}
