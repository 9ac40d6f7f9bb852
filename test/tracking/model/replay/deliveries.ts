// How a replay takes the steps of deliveries, and of whole processes.

import type { Completion } from 'hosted-client/tracking';
import { expect } from 'vitest';
import { kinds } from '../../../../src/tracking/rules.ts';
import type { Delivery, State } from '../state.ts';
import { createStatus, statusOf } from './polls.ts';
import type { Halt, Line, Place } from './process.ts';
import { earlier, sign } from './signing.ts';
import { connectionError, hold, pass, processOf, respond, type Stage, type Takers } from './steps.ts';
import { job, schema } from './stored.ts';
import { settleDown } from './timers.ts';
import type { Step } from './traces.ts';

/** A delivery in a process. */
interface Handed extends Line {
  /** Whether it waits for the row of its completion. The loop that took it waits too. */
  isTaken: boolean;
  /** Whether it is a further end of the job. */
  isFurther: boolean;
  /** Whether it was too late for its handler when it was stored that this begins. */
  isTooLate: boolean;
  /** The handler, and what ends its time. */
  handler: Halt | null;
  timeOut(): void;
}

/** How long, in ms, a process waits before it stores something again. */
const againMs = 250;

export function createDeliveryTakers(stage: Stage): Takers {
  const { context, settings, pool, key, timers, clock, completions, leases } = stage;
  const lines = new Map<number, Handed>();
  /** The key of each revision. */
  const keys = new Map<number, string>();

  function lineOf({ at: [, id = 0] }: Step): Handed {
    const line = lines.get(id);
    if (!line) throw new Error('there is no such delivery');
    return line;
  }

  /** Lets a delivery go on to a place. */
  function goOn(step: Step, place: Place): Promise<Halt> {
    const line = lineOf(step);
    line.isTaken = false;
    return processOf(stage, step).goOn(line, place);
  }

  /** Lets a delivery go on until it stores its result. */
  async function goOnToStore(step: Step): Promise<Halt> {
    const line = lineOf(step);
    const { phase, attempt } = deliveryOf(step);
    clock.isNextLate = line.isTooLate;
    line.isTooLate = false;
    if (phase === 'done') return goOn(step, 'storeProgress');
    if (phase === 'known' || (phase === 'again' && line.isFurther)) return goOn(step, 'restore');
    if (phase === 'again') return goOn(step, 'followAgain');
    if (phase === 'unbegun') return goOn(step, 'giveBackUnbegun');
    const isLast = phase !== 'returned' && attempt >= settings.maxAttempts;
    return goOn(step, isLast ? 'bury' : 'giveUpLease');
  }

  /** What is not buried is given up. */
  async function goOnToEnd(step: Step): Promise<Halt> {
    const halt = await goOnToStore(step);
    if (halt.place !== 'bury') return halt;
    await pass(halt);
    return processOf(stage, step).halted('giveUpLease');
  }

  /** The response of the database is lost. After a while, the process stores the same again. */
  async function lose(step: Step, halt: Halt): Promise<void> {
    await halt.run();
    lineOf(step).release = async () => {
      halt.reject(connectionLost());
      await settleDown();
      timers.newest(againMs)();
    };
  }

  return {
    async deliver(step) {
      const process = processOf(stage, step);
      // The loop takes the next completion after the one before goes on.
      for (const { id, phase } of deliveriesOf(step.before, step)) {
        const line = lines.get(id);
        if (!line?.isTaken) continue;
        line.isTaken = false;
        line.halt = await process.goOn(line, phase === 'asking' ? 'status' : 'storeProgress');
      }
      await pool.query(`update ${schema}.tracked set due = null where kind = ${kinds.link};
        update ${schema}.tracked set deliver_at = now() - interval '1 s' where key = '${key}'`);
      const line = {
        halt: null,
        release: null,
        isTaken: true,
        isFurther: false,
        isTooLate: false,
        handler: null,
        timeOut() {},
      };
      lines.set(step.before.nextId, line);
      const taken = (await hold(line, await process.halted('deliver'))) as readonly { readonly taken: string }[];
      const [row] = JSON.parse(taken[0]?.taken ?? '[]') as readonly {
        readonly key: string;
        readonly lease_id: string;
        readonly state_before: number | null;
      }[];
      expect(row).toMatchObject({ key });
      line.isFurther = row?.state_before !== null;
      leases.set(step.before.nextId, row?.lease_id ?? '');
    },
    async ask(step) {
      const halt = await goOn(step, 'status');
      expect(await halt.run()).toMatchObject(job);
      const signedAt = sign();
      respond(lineOf(step), halt, () => statusOf(step.before, settings, signedAt));
    },
    async 'ask a replica'(step) {
      const halt = await goOn(step, 'status');
      const { result } = step.before.world;
      respond(lineOf(step), halt, () => createStatus(result - 1, settings, earlier));
    },
    async 'ask in vain'(step) {
      const halt = await goOn(step, 'status');
      respond(lineOf(step), halt, () => {
        throw connectionError();
      });
    },
    // Nothing is in between that a replay could wait for.
    async prepare() {},
    async begin(step) {
      const halt = await goOn(step, 'storeProgress');
      const isGone = !deliveriesOf(step.after, step).some(({ id }) => id === step.at[1]);
      await (isGone ? pass(halt) : hold(lineOf(step), halt));
      await settleDown();
    },
    async 'begin, unclear'(step) {
      await lose(step, await goOn(step, 'storeProgress'));
    },
    async call(step) {
      const line = lineOf(step);
      line.handler = await goOn(step, 'handler');
      line.timeOut = timers.newest(context.settings.handlerTimeoutMs);
      const completion = (await line.handler.run()) as Completion<number>;
      completions.push(completion);
      const { attempt, context: given, result, revision } = deliveryOf(step);
      const keyOfEnd = keys.get(revision) ?? completion.key;
      keys.set(revision, keyOfEnd);
      const outcome = result === 0 ? 'expired' : 'completed';
      expect(completion).toMatchObject({
        key: keyOfEnd,
        revision,
        attempt,
        outcome,
        context: given === 0 ? null : given,
      });
      if (completion.outcome === 'completed') expect(completion.status.message).toBe(String(result));
    },
    async 'too late'(step) {
      lineOf(step).isTooLate = true;
    },
    async resolve(step) {
      const line = lineOf(step);
      const isOver = deliveryOf(step).phase === 'timed out';
      line.release = async () => {
        // The process was paused: the time of the handler ends just before the process sees that it resolves.
        if (isOver) line.timeOut();
        line.handler?.resolve(undefined);
      };
    },
    async reject(step) {
      const line = lineOf(step);
      line.release = async () => line.handler?.reject(new Error('the handler failed'));
      if (deliveryOf(step).phase === 'late') await processOf(stage, step).end(line);
    },
    async 'time out'(step) {
      const line = lineOf(step);
      line.release = async () => line.timeOut();
    },
    async store(step) {
      await pass(await goOnToEnd(step));
      await settleDown();
    },
    async 'store, unclear'(step) {
      await lose(step, await goOnToEnd(step));
    },
    async 'give up'(step) {
      const halt = deliveryOf(step).phase === 'beginning' ? await goOn(step, 'storeProgress') : await goOnToStore(step);
      clock.isNextLate = true;
      halt.reject(connectionLost());
      await settleDown();
    },
    async 'a process dies'(step) {
      processOf(stage, step).start(context);
    },
    stop: (step) => processOf(stage, step).stop(),
    'stop resolves': (step) => processOf(stage, step).stopped(),
    async start(step) {
      processOf(stage, step).start(context);
    },
  };
}

const connectionLost = () => Object.assign(new Error('the connection broke'), { code: '08006' });

const deliveriesOf = ({ processes }: State, { at: [index] }: Step) => processes[index === 0 ? 0 : 1].deliveries;

/** The delivery of a step, before the step. */
function deliveryOf(step: Step): Delivery {
  const delivery = deliveriesOf(step.before, step).find(({ id }) => id === step.at[1]);
  if (!delivery) throw new Error('there is no such delivery');
  return delivery;
}
