// The deliveries of the model: a process fetches a message, asks for the status, calls the handler and stores the result.

import { links } from './callers.ts';
import type { Action } from './explore.ts';
import type { Protection, Settings } from './settings.ts';
import type { Delivery, Phase, State } from './state.ts';
import { deliveryAt, drop, eachDelivery, heldBy, mayWork, processAt, remove } from './steps.ts';

/** The phases that end with a transaction that stores the result. */
export const finished: readonly Phase[] = ['done', 'failed', 'again', 'gone', 'unbegun', 'timed out'];

export function createDeliveries(settings: Settings): readonly Action<State>[] {
  const { maxAttempts, deliveriesPerProcess, without } = settings;

  /** Whether the completion of a delivery is being handed over, which `protection` makes sure of. */
  const isCurrent = ({ row }: State, { end }: Delivery, protection: Protection | null) =>
    row.state === 'handingOver' && (row.end === end || (protection !== null && without === protection));

  /** The transaction that stores a result: its statements, and then those of pg-boss. */
  function settle(state: State, delivery: Delivery): void {
    const { row, truth, world } = state;
    const { attempt, end, of } = delivery;
    const phase = delivery.phase === 'timed out' ? 'failed' : delivery.phase;
    const message = heldBy(state, delivery);
    // Only success counts after the lease: another process may have begun.
    const mayChange = message !== undefined || without === 'only the delivery that has the message follows or buries';
    let isBuried = false;
    if (phase === 'done') {
      const isDead = row.state === 'dead' && row.end === end && without !== 'a late settle takes a dead letter back';
      if (isDead || isCurrent(state, delivery, 'settle compares the ends')) row.state = 'done';
    } else if (phase === 'again' && mayChange && isCurrent(state, delivery, 'followAgain compares the ends')) {
      Object.assign(row, { state: 'tracking', end: 0, hasExpired: false, hasDate: true, lateLooks: 0 });
      world.isLate = false;
      truth.ended -= 1;
      if (truth.context >= links.own) truth.context = 0;
    } else if (phase === 'unbegun' && of > truth.base) {
      if (message && isCurrent(state, delivery, null)) row.attempts -= 1;
      else truth.lapsed = Math.min(truth.lapsed + 1, maxAttempts);
    } else if (phase === 'failed' && mayChange && isCurrent(state, delivery, 'bury compares the ends')) {
      isBuried = attempt >= maxAttempts && row.attempts >= maxAttempts;
      if (isBuried) row.state = 'dead';
    }
    if (!message) return;
    const isKept = phase === 'failed' && !isBuried && without !== 'a failed delivery gives its message back';
    if (phase === 'unbegun' || isKept) message.isActive = false;
    else remove(state, message);
  }

  return [
    {
      name: 'fetch',
      standsFor: 'boss.fetch()',
      cases: ({ messages, processes }) =>
        messages.flatMap(({ end, isActive, fetches }) =>
          isActive || fetches >= settings.maxFetches
            ? []
            : processes.flatMap((process, index) => {
                const inHand = process.deliveries.filter(({ phase }) => phase !== 'late').length;
                const hasRoom = inHand < deliveriesPerProcess && index < settings.deliverers;
                return hasRoom && mayWork(process, without) ? [[index, end]] : [];
              }),
        ),
      effect(state, at) {
        const message = state.messages.find(({ end }) => end === at[1]);
        if (!message) return;
        message.isActive = true;
        message.fetches += 1;
        const { end, of, fetches } = message;
        processAt(state, at).deliveries.push({
          id: state.nextId,
          end,
          of,
          fetch: fetches,
          phase: 'fetched',
          attempt: 0,
          context: 0,
          result: 0,
          since: state.world.result,
        });
        state.nextId += 1;
        if (without === 'a message is completed after its handler') remove(state, message);
      },
    },
    {
      name: 'read',
      standsFor: 'statements.deliver',
      cases: (state) => eachDelivery(state, ({ phase }) => phase === 'fetched'),
      effect(state, at) {
        const { delivery } = deliveryAt(state, at);
        const { row } = state;
        const isSpent = row.attempts >= maxAttempts && without !== 'nothing begins after the last attempt';
        delivery.attempt = isSpent ? row.attempts : row.attempts + 1;
        delivery.context = row.context;
        if (!isCurrent(state, delivery, null)) delivery.phase = 'gone';
        else if (isSpent) delivery.phase = 'failed';
        else if (row.hasExpired) delivery.phase = 'ready';
        else if (without === 'the status is fetched before each delivery') {
          delivery.phase = 'ready';
          delivery.result = settings.results[0];
        } else delivery.phase = 'asking';
      },
    },
    {
      name: 'ask',
      standsFor: 'client.jobs.status() for a delivery',
      cases: (state) => eachDelivery(state, ({ phase }) => phase === 'asking'),
      effect(state, at) {
        const { delivery } = deliveryAt(state, at);
        const { isDown, isBroken, result } = state.world;
        const isAnswered = !isDown && !isBroken && result > 1;
        delivery.phase = isAnswered ? 'ready' : 'again';
        delivery.result = isAnswered ? result : 0;
      },
    },
    {
      name: 'ask in vain',
      standsFor: 'statements.deliver without a token, or a request that fails',
      helps: false,
      cases: (state) => eachDelivery(state, ({ phase }) => phase === 'asking'),
      effect(state, at) {
        deliveryAt(state, at).delivery.phase = 'again';
      },
    },
    {
      name: 'prepare',
      standsFor: 'the check of `beginBy`, and the batch of `begin`',
      cases: (state) =>
        eachDelivery(state, (delivery) => delivery.phase === 'ready' && heldBy(state, delivery) !== undefined),
      effect(state, at) {
        deliveryAt(state, at).delivery.phase = 'beginning';
      },
    },
    {
      name: 'begin',
      standsFor: 'statements.begin',
      cases: (state) => eachDelivery(state, ({ phase }) => phase === 'beginning'),
      effect(state, at) {
        const { delivery } = deliveryAt(state, at);
        delivery.phase = storeBegin(state, delivery) ? 'begun' : 'gone';
      },
    },
    {
      name: 'begin, unclear',
      standsFor: 'statements.begin, whose response is lost: it is sent again',
      helps: false,
      cases: (state) => (settings.unclear ? eachDelivery(state, ({ phase }) => phase === 'beginning') : []),
      effect(state, at) {
        storeBegin(state, deliveryAt(state, at).delivery);
      },
    },
    {
      name: 'call',
      standsFor: 'the second check of `beginBy`, and the call of the handler',
      cases: (state) =>
        eachDelivery(state, (delivery) => delivery.phase === 'begun' && heldBy(state, delivery) !== undefined),
      effect(state, at) {
        const { delivery } = deliveryAt(state, at);
        delivery.phase = 'running';
        const { truth } = state;
        if (delivery.of > truth.base) truth.begun = Math.min(truth.begun + 1, maxAttempts + 1);
        truth.key = without === 'the key is made from both ids' ? delivery.of : 1;
      },
    },
    {
      name: 'too late',
      standsFor: 'a check of `beginBy` that fails',
      cases: (state) => eachDelivery(state, ({ phase }) => phase === 'ready' || phase === 'begun'),
      effect(state, at) {
        const { process, delivery } = deliveryAt(state, at);
        if (delivery.phase === 'begun') delivery.phase = 'unbegun';
        else drop(process, delivery);
      },
    },
    {
      name: 'resolve',
      standsFor: 'the handler',
      cases: (state) => eachDelivery(state, ({ phase }) => ['running', 'timed out', 'late'].includes(phase)),
      effect(state, at) {
        const { process, delivery } = deliveryAt(state, at);
        if (delivery.of === state.truth.end) state.truth.isHandled = true;
        const isKept = delivery.phase !== 'late' || without !== 'a success after the time of the handler is stored';
        if (isKept) delivery.phase = 'done';
        else drop(process, delivery);
      },
    },
    {
      name: 'reject',
      standsFor: 'the handler, or the end of its time',
      cases: (state) => eachDelivery(state, ({ phase }) => phase === 'running' || phase === 'late'),
      effect(state, at) {
        const { process, delivery } = deliveryAt(state, at);
        if (delivery.phase === 'late') drop(process, delivery);
        else delivery.phase = 'failed';
      },
    },
    {
      name: 'time out',
      standsFor: 'the end of the time of a handler that may still succeed',
      helps: false,
      cases: (state) => (settings.overruns ? eachDelivery(state, ({ phase }) => phase === 'running') : []),
      effect(state, at) {
        deliveryAt(state, at).delivery.phase = 'timed out';
      },
    },
    {
      name: 'settle',
      standsFor: 'statements.settle, followAgain, unbegin and bury, boss.complete() and boss.fail()',
      cases: (state) => eachDelivery(state, ({ phase }) => finished.includes(phase)),
      effect(state, at) {
        const { process, delivery } = deliveryAt(state, at);
        settle(state, delivery);
        if (delivery.phase === 'timed out') delivery.phase = 'late';
        else drop(process, delivery);
      },
    },
    {
      name: 'settle, unclear',
      standsFor: 'the same transaction, whose response is lost: it is sent again',
      helps: false,
      cases: (state) => (settings.unclear ? eachDelivery(state, ({ phase }) => finished.includes(phase)) : []),
      effect(state, at) {
        settle(state, deliveryAt(state, at).delivery);
      },
    },
    {
      name: 'give up',
      standsFor: 'something that cannot be stored until the lease ends, or stop()',
      helps: false,
      cases: (state) =>
        settings.unclear ? eachDelivery(state, ({ phase }) => phase === 'beginning' || finished.includes(phase)) : [],
      effect(state, at) {
        const { process, delivery } = deliveryAt(state, at);
        drop(process, delivery);
      },
    },
  ];

  /** Counts the attempt if the handler may begin. */
  function storeBegin(state: State, delivery: Delivery): boolean {
    const { row } = state;
    const isFetched = heldBy(state, delivery) !== undefined || without === 'begin compares the fetches of the message';
    const isAny = without === 'only a completion that is handed over begins' && row.end === delivery.end;
    if (!isFetched || !(isAny || isCurrent(state, delivery, 'begin compares the ends'))) return false;
    if (without !== 'an attempt is stored before its handler begins') {
      row.attempts = Math.min(row.attempts + 1, delivery.attempt);
      delivery.attempt = row.attempts;
    }
    return true;
  }
}
