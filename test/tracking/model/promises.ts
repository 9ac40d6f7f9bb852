// What the model must keep: promises of docs/tracking.md, word for word.

import type { Promised } from './explore.ts';
import type { Settings } from './settings.ts';
import type { Delivery, State } from './state.ts';
import { hasLease, mayBegin } from './steps.ts';

export function createPromises(settings: Settings): readonly Promised<State>[] {
  const { maxAttempts, crashes, unclear } = settings;
  /** Whether a completion is handled or a dead letter. */
  const isOver = ({ row }: State) => row.state === 'done' || row.state === 'dead';
  return [
    {
      name: 'Each tracked job gets a completion: `completed`, or `expired` after its deadline.',
      state: ({ truth }) => truth.ended <= 1,
      step: (before, action, after) =>
        action !== 'end' || !hasEnded(before, after) || !after.row.hasExpired || before.world.isLate,
      reach: {
        from: ({ row }) => row.state === 'tracking',
        to: (state) => state.row.state === 'handingOver' || state.row.state === 'heard' || isOver(state),
      },
    },
    {
      name: 'A completion is handed over at least once.',
      state: ({ row, truth }) => row.state !== 'done' || truth.isHandled,
    },
    {
      name: 'If a worker dies, its completions are handed over again after `handlerTimeoutMs` plus 30 to 40 s.',
      reach: { from: ({ row }) => row.state === 'handingOver', to: isOver },
    },
    {
      name: 'Every delivery of a completion has the same `key`.',
      step: (before, action, after) =>
        action !== 'call' ||
        before.truth.key === 0 ||
        before.truth.keyRevision !== after.truth.keyRevision ||
        before.truth.key === after.truth.key,
    },
    {
      name: 'The status of a completion is current and verified.',
      step: (_before, action, after, at) => action !== 'call' || settings.repeats || isCurrent(deliveryIn(after, at)),
    },
    {
      name: 'After `maxAttempts` attempts, the completion becomes a dead letter, which is kept until it is handled.',
      state: ({ truth }) => truth.begun <= maxAttempts,
      step: (before, action, after, at) => {
        if (before.row.state === 'dead' && after.row.state !== 'dead') return leavesDead(before, action, at);
        if (after.row.state === 'dead' && before.row.stateBefore === 'dead') return true;
        return (
          after.row.state !== 'dead' ||
          before.row.state === 'dead' ||
          (after.row.attempts >= maxAttempts && !runs(before, at))
        );
      },
    },
    {
      name: 'An attempt counts when its handler begins.',
      state: (state) => {
        const { row, truth } = state;
        if (row.state === 'untracked' || row.state === 'absent') return true;
        const certain = !crashes && !unclear;
        return (
          row.attempts >= truth.begun && (!certain || row.attempts <= truth.begun + truth.lapsed + countBegun(state))
        );
      },
    },
    {
      name: 'The result of a handler changes only the completion that the handler received.',
      step: (before, action, after, at) =>
        !action.startsWith('store') || deliveryIn(before, at)?.of === before.truth.end || isSameRow(before, after),
    },
    {
      name: 'A completion that was handled does not stay a dead letter.',
      step: (before, action, after, at) =>
        action !== 'store' || !isLateSuccess(before, at) || after.row.state !== 'dead',
      reach: {
        from: ({ row, truth }) => !crashes && !unclear && row.state === 'dead' && truth.isHandled,
        to: ({ row }) => row.state === 'done',
      },
    },
    {
      name: 'If it stores that the handler succeeded, the handler is not called again.',
      step: (before, action, after, at) =>
        before.row.state === 'done'
          ? action !== 'begin' || deliveryIn(after, at)?.phase !== 'begun'
          : action !== 'store' || !isSuccess(before, at) || after.row.state === 'done',
    },
    {
      name: 'After that, its completion is no longer handed over.',
      step: (before, action, after, at) =>
        action !== 'begin' || before.row.state !== 'untracked' || deliveryIn(after, at)?.phase !== 'begun',
    },
    {
      name: 'No job fails because of a wrong key, an outage, or responses that cannot be verified.',
      step: (before, action, after, [index = 0]) =>
        action !== 'end' || !hasEnded(before, after) || !after.row.hasExpired || !pollIn(before, index)?.isOfAll,
    },
    {
      name: 'It expires with its error only after at least three polls have failed with the same error, over at least a day.',
      step: (before, action, after, [index = 0]) => {
        const poll = action === 'end' && hasEnded(before, after) ? pollIn(before, index) : null;
        return (
          poll?.found !== 'expired' || poll.error === 'none' || (poll.latePolls === 2 && poll.error === poll.lastError)
        );
      },
    },
    {
      name: 'If the service does not know such a job, the job is polled at most ten times, and gets no completion.',
      step: (before, action, after) =>
        action !== 'end' || !hasEnded(before, after) || before.world.result > 0 || before.truth.context > 0,
    },
    {
      name: 'A callback only makes the tracker poll its job soon.',
      step: ({ row }, action, after) =>
        action !== 'callback' || row.state === 'absent' || row.state === 'heard' || row.state === after.row.state,
    },
    {
      name: 'After `trackLink(refId, { context })`, the tracker follows every job of the link that a callback names, and the job gets this context.',
      reach: {
        from: ({ row, world }) =>
          row.state === 'heard' && row.link === 3 && row.lastError !== 'own' && world.isLinkTracked,
        to: ({ row }) => row.state === 'tracking' && row.context === 3,
      },
    },
    {
      name: 'The tracker then takes no new work, waits for running handlers, and closes the connections that it opened.',
      step: (before, action, _, [index = 0]) => {
        const { isStopping, deliveries } = before.processes[index === 0 ? 0 : 1];
        if (action === 'stop resolves') return deliveries.length === 0;
        return !isStopping || !['deliver', 'poll', 'claim'].includes(action);
      },
    },
    {
      name: 'Dead letters are not removed.',
      step: (before, _, after) => before.row.state !== 'dead' || after.row.state !== 'absent',
    },
    {
      name: 'A completion has the context of its own `track()` call or its own link.',
      state: ({ row, truth }) => row.state !== 'handingOver' || row.context === truth.context,
      step: (_, action, after, at) => {
        const delivery = action === 'call' && after.row.state === 'handingOver' ? deliveryIn(after, at) : undefined;
        return delivery?.of !== after.truth.end || delivery.context === after.truth.context;
      },
    },
    {
      name: 'While a done job is stored, a callback about it or another `track()` only has its verdict compared.',
      step: (before, action, after) =>
        before.row.state !== 'done' || (action !== 'track' && action !== 'callback') || after.row.state === 'done',
    },
    {
      name: 'A verdict that changes is handed over again, as the next revision.',
      reach: {
        from: ({ row, truth, world }) =>
          row.state === 'done' && truth.mentioned > 1 && row.version < truth.mentioned && !world.isBroken,
        to: ({ row, truth }) => row.version >= truth.mentioned || row.state === 'absent',
      },
    },
    {
      name: 'A handler that could not begin in time uses up neither an attempt nor a revision.',
      step: (before, action, after, at) =>
        action !== 'call' ||
        crashes ||
        unclear ||
        settings.deliverers > 1 ||
        settings.untracks > 0 ||
        (deliveryIn(after, at)?.revision ?? 0) <= before.truth.keyRevision + 1,
    },
    {
      name: 'No older status is handed over after a newer one.',
      step: (before, action, after, at) =>
        action !== 'call' ||
        (deliveryIn(after, at)?.result ?? 0) === 0 ||
        (deliveryIn(after, at)?.result ?? 0) >= before.truth.newest,
    },
  ];
}

const hasEnded = (before: State, after: State) => before.truth.end < after.truth.end;

const pollIn = ({ processes }: State, index: number) => processes[index === 0 ? 0 : 1].poll;

const deliveryIn = ({ processes }: State, [index = 0, id = 0]: readonly number[]): Delivery | undefined =>
  processes[index === 0 ? 0 : 1].deliveries.find((delivery) => delivery.id === id);

const isCurrent = (delivery: Delivery | undefined) =>
  delivery === undefined || delivery.result === 0 || delivery.result >= delivery.since;

const isSameRow = (before: State, after: State) =>
  before.row.state === after.row.state && before.row.attempts === after.row.attempts;

const deliveriesOf = ({ processes }: State) => processes.flatMap(({ deliveries }) => deliveries);

/** How many handlers are stored as begun that have not begun yet, or that will be taken back. */
const countBegun = (state: State) =>
  deliveriesOf(state).filter(({ phase, of }) => of > state.truth.base && (phase === 'begun' || phase === 'unbegun'))
    .length;

/** Whether a handler of the current end runs under its lease, apart from the delivery that makes the step. */
const runs = (state: State, [, id]: readonly number[]) =>
  deliveriesOf(state).some(
    (one) => one.id !== id && one.of === state.truth.end && one.phase === 'running' && mayBegin(state, one),
  );

const isLateSuccess = (state: State, at: readonly number[]) => {
  const delivery = deliveryIn(state, at);
  return state.row.state === 'dead' && delivery?.phase === 'done' && delivery.of === state.truth.end;
};

/** Whether a handler of the current end has succeeded under its lease. */
const isSuccess = (state: State, at: readonly number[]) => {
  const delivery = deliveryIn(state, at);
  const isHeld = delivery !== undefined && hasLease(state, delivery);
  const isOfThisJob =
    state.row.state !== 'untracked' && state.row.state !== 'absent' && delivery?.of === state.truth.end;
  return isHeld && delivery?.phase === 'done' && isOfThisJob && delivery.of > state.truth.base;
};

const leavesDead = (before: State, action: string, at: readonly number[]) =>
  action === 'untrack' ||
  action === 'retry' ||
  action === 'endAgain' ||
  (action.startsWith('store') && isLateSuccess(before, at));
