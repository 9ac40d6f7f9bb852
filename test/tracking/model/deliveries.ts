// The deliveries of the model: a process takes a completion, asks for the status, calls the handler and stores the result.

import { links } from './callers.ts';
import type { Action } from './explore.ts';
import type { Settings } from './settings.ts';
import type { Delivery, Phase, State } from './state.ts';
import { deliveryAt, drop, eachDelivery, hasLease, mayBegin, mayWork, processAt } from './steps.ts';

/** The phases that end with a statement that stores the result. */
export const finished: readonly Phase[] = ['done', 'failed', 'again', 'known', 'returned', 'unbegun', 'timed out'];

export function createDeliveries(settings: Settings): readonly Action<State>[] {
  const { maxAttempts, deliveriesPerProcess, without } = settings;

  /** The statement that stores a result. */
  function storeResult(state: State, delivery: Delivery): void {
    const { row, truth, world } = state;
    const { attempt, end, of } = delivery;
    const isOfRevision = row.revision === delivery.revision && row.stateBefore === null;
    const isRemembered = without !== 'a callback is remembered while a handler runs';
    const finish = (to: 'done' | 'dead') =>
      Object.assign(row, { state: to, lease: 0, isOver: false, hasDate: isRemembered && row.mentioned > row.signed });
    const phase = delivery.phase === 'timed out' ? 'failed' : delivery.phase;
    // Only success counts without the lease: another process may have begun.
    const isAny = row.state === 'handingOver' && without === 'only the delivery that has the lease follows or buries';
    const mayChange = hasLease(state, delivery) || isAny;
    if (phase === 'done') {
      const isOfEnd = (row.end === end && isOfRevision) || without === 'a success compares the ends';
      const isDead = row.state === 'dead' && isOfEnd && without !== 'a late success takes a dead letter back';
      if (isDead || ((row.state === 'handingOver' || row.state === 'tracking') && isOfEnd)) finish('done');
    } else if ((phase === 'again' || phase === 'known') && mayChange && row.stateBefore !== null) {
      const isSame = phase === 'known';
      if (isSame) row.signed = Math.max(row.signed, delivery.signed);
      const hasDate = !isSame || row.mentioned > row.signed;
      if (row.stateBefore === 'done') truth.isHandled = true;
      Object.assign(row, { state: row.stateBefore, stateBefore: null, lease: 0, isOver: false, hasDate });
    } else if (phase === 'again' && mayChange) {
      Object.assign(row, {
        state: 'tracking',
        lease: 0,
        isOver: false,
        hasExpired: false,
        hasDate: true,
        latePolls: 0,
      });
      world.isLate = false;
      truth.ended -= 1;
      if (truth.context >= links.own) truth.context = 0;
    } else if (phase === 'returned' && hasLease(state, delivery)) {
      Object.assign(row, { lease: 0, isOver: false });
    } else if (phase === 'unbegun' && of > truth.base) {
      if (hasLease(state, delivery) && delivery.before) {
        const { begun, lapsed, ...before } = delivery.before;
        Object.assign(row, { attempts: before.attempts, lease: 0, isOver: false });
        if (without === 'a handler that did not begin gives its revision back') return;
        const isChanged = before.revision !== row.revision;
        if (isChanged) Object.assign(truth, { begun, lapsed: Math.max(lapsed, truth.lapsed) });
        Object.assign(row, before);
      } else truth.lapsed = Math.min(truth.lapsed + 1, maxAttempts);
    } else if (phase === 'failed' && mayChange) {
      Object.assign(row, { lease: 0, isOver: false });
      if (attempt >= maxAttempts && row.attempts >= maxAttempts) finish('dead');
    }
  }

  return [
    {
      name: 'deliver',
      standsFor: 'statements.deliver',
      cases: ({ row, processes }) =>
        row.state === 'handingOver' && (row.lease === 0 || row.isOver)
          ? processes.flatMap((process, index) => {
              const inHand = process.deliveries.filter(({ phase }) => phase !== 'late').length;
              const hasRoom = inHand < deliveriesPerProcess && index < settings.deliverers;
              return hasRoom && mayWork(process, without) ? [[index]] : [];
            })
          : [],
      effect(state, at) {
        const { row, truth, world } = state;
        const isFurther = row.stateBefore !== null;
        const isLast = row.attempts >= maxAttempts && !isFurther;
        const isSpent = isLast && without !== 'nothing begins after the last attempt';
        const isFree = (row.hasExpired && !isFurther) || without === 'the status is fetched before each delivery';
        processAt(state, at).deliveries.push({
          id: state.nextId,
          end: row.end,
          of: truth.end,
          phase: isSpent ? 'failed' : isFree ? 'ready' : 'asking',
          attempt: isSpent ? row.attempts : row.attempts + 1,
          context: row.context,
          result: isFree && !row.hasExpired ? settings.results[0] : 0,
          since: world.result,
          signed: row.signed,
          revision: row.revision,
          before: null,
        });
        Object.assign(row, { lease: state.nextId, isOver: false });
        state.nextId += 1;
      },
    },
    {
      name: 'ask',
      standsFor: 'client.jobs.status() for a delivery',
      cases: (state) => eachDelivery(state, ({ phase }) => phase === 'asking'),
      effect(state, at) {
        const { delivery } = deliveryAt(state, at);
        const { isDown, isBroken, result } = state.world;
        state.signatures += 1;
        if (!isDown && !isBroken && result > 1) answer(state, delivery, result, state.signatures);
        else Object.assign(delivery, { phase: 'again', result: 0 });
      },
    },
    {
      name: 'ask a replica',
      standsFor: 'client.jobs.status() for a delivery, whose response was signed before the result changed',
      helps: false,
      cases: (state) =>
        settings.repeats && state.world.result > 2 ? eachDelivery(state, ({ phase }) => phase === 'asking') : [],
      effect(state, at) {
        answer(state, deliveryAt(state, at).delivery, state.world.result - 1, 0);
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
      cases: (state) => eachDelivery(state, (delivery) => delivery.phase === 'ready' && mayBegin(state, delivery)),
      effect(state, at) {
        const { delivery } = deliveryAt(state, at);
        const { row } = state;
        delivery.phase = 'beginning';
        // Another version is the next end, whose attempts begin at 1.
        if (row.revision > 0 && delivery.result === row.version) return;
        Object.assign(delivery, { revision: row.revision + 1, attempt: 1 });
      },
    },
    {
      name: 'begin',
      standsFor: 'statements.begin',
      cases: (state) => eachDelivery(state, ({ phase }) => phase === 'beginning'),
      effect(state, at) {
        const { process, delivery } = deliveryAt(state, at);
        if (storeBegin(state, delivery)) delivery.phase = 'begun';
        else drop(process, delivery);
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
      cases: (state) => eachDelivery(state, (delivery) => delivery.phase === 'begun' && mayBegin(state, delivery)),
      effect(state, at) {
        const { delivery } = deliveryAt(state, at);
        Object.assign(delivery, { phase: 'running', before: null });
        const { truth } = state;
        if (delivery.of > truth.base) truth.begun = Math.min(truth.begun + 1, maxAttempts + 1);
        truth.key = without === 'the key is made from both ids' ? delivery.of : 1;
        truth.keyRevision = delivery.revision;
        truth.newest = Math.max(truth.newest, delivery.result);
      },
    },
    {
      name: 'too late',
      standsFor: 'a check of `beginBy` that fails',
      cases: (state) => eachDelivery(state, ({ phase }) => phase === 'ready' || phase === 'begun'),
      effect(state, at) {
        const { delivery } = deliveryAt(state, at);
        delivery.phase = delivery.phase === 'begun' ? 'unbegun' : 'returned';
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
      name: 'store',
      standsFor: 'statements.storeProgress, followAgain, bury and giveUpLease',
      cases: (state) => eachDelivery(state, ({ phase }) => finished.includes(phase)),
      effect(state, at) {
        const { process, delivery } = deliveryAt(state, at);
        storeResult(state, delivery);
        if (delivery.phase === 'timed out') delivery.phase = 'late';
        else drop(process, delivery);
      },
    },
    {
      name: 'store, unclear',
      standsFor: 'the same statement, whose response is lost: it is sent again',
      helps: false,
      cases: (state) => (settings.unclear ? eachDelivery(state, ({ phase }) => finished.includes(phase)) : []),
      effect(state, at) {
        storeResult(state, deliveryAt(state, at).delivery);
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

  /** Compares a status with the one that was handed over last. */
  function answer({ row }: State, delivery: Delivery, result: number, signed: number): void {
    const isSame = row.revision > 0 && result === row.version;
    const isOlder = !isSame && row.revision > 0 && signed <= row.signed;
    Object.assign(delivery, { result, signed });
    if (isOlder && without !== 'another version must be signed later') delivery.phase = 'again';
    else delivery.phase = isSame && row.stateBefore !== null ? 'known' : 'ready';
    if (delivery.phase === 'again') delivery.result = 0;
  }

  /** Counts the attempt if the handler may begin. */
  function storeBegin(state: State, delivery: Delivery): boolean {
    const { row, truth } = state;
    const isAny = without === 'begin compares the leases' && row.state === 'handingOver';
    const isGone = without === 'only a completion that is handed over begins' && row.end === delivery.end;
    if (!hasLease(state, delivery) && !isAny && !isGone) return false;
    const { begun, lapsed } = truth;
    const { attempts, stateBefore, hasExpired } = row;
    delivery.before ??= {
      ...{ attempts, stateBefore, hasExpired, begun, lapsed },
      ...{ revision: row.revision, version: row.version, signed: row.signed },
    };
    if (without !== 'an attempt is stored before its handler begins') {
      row.attempts = Math.min(row.attempts + 1, delivery.attempt);
      delivery.attempt = row.attempts;
    }
    if (row.revision !== delivery.revision && delivery.of > truth.base) Object.assign(truth, { begun: 0, lapsed: 0 });
    const { revision, result: version } = delivery;
    const signed = Math.max(row.signed, delivery.signed);
    Object.assign(row, { revision, version, signed, stateBefore: null, hasExpired: row.hasExpired && version === 0 });
    return true;
  }
}
