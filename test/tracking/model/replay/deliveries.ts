// How a replay takes the steps of deliveries, and of whole processes.

import type { Completion } from 'hosted-client/tracking';
import { expect } from 'vitest';
import type { Delivery, State } from '../state.ts';
import { statusOf } from './polls.ts';
import type { Halt, Line } from './process.ts';
import { connectionError, hold, pass, processOf, respond, type Stage, type Takers } from './steps.ts';
import { job, schema } from './stored.ts';
import { settleDown } from './timers.ts';
import type { Step } from './traces.ts';

/** A delivery in a process. */
interface Handed extends Line {
  /** Whether it waits for the row of its completion. The loop that fetched it waits too. */
  isRead: boolean;
  /** Whether it was too late for its handler when it was stored that this begins. */
  isTooLate: boolean;
  /** The handler, and what ends its time. */
  handler: Halt | null;
  timeOut(): void;
}

/** How long, in ms, a process waits before it stores something again. */
const againMs = 250;

export function createDeliveryTakers(stage: Stage): Takers {
  const { context, settings, pool, key, timers, clock, completions, ends } = stage;
  const lines = new Map<number, Handed>();

  function lineOf({ at: [, id = 0] }: Step): Handed {
    const line = lines.get(id);
    if (!line) throw new Error('there is no such delivery');
    return line;
  }

  /** Lets a delivery go on to a place, or, if it waits for the status, to its request. */
  function goOn(step: Step, place: 'status' | 'begin' | 'handler'): Promise<Halt> {
    const line = lineOf(step);
    line.isRead = false;
    return processOf(stage, step).goOn(line, place);
  }

  /** Lets a delivery go on until it stores its result. */
  function goOnToStore(step: Step): Promise<Halt> {
    const line = lineOf(step);
    clock.isNextLate = line.isTooLate;
    line.isTooLate = false;
    return processOf(stage, step).goOn(line, 'transaction');
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
    async fetch(step) {
      const process = processOf(stage, step);
      // The loop fetches the next message after it has read the row of the one before.
      for (const { id } of deliveriesOf(step.before, step)) {
        const line = lines.get(id);
        if (line?.isRead) line.halt = await process.goOn(line, 'status');
      }
      const id = ends.get(step.at[1] ?? 0);
      // Of several messages, the process gets the one of the step.
      await pool.query(`update ${schema}_boss.job set start_after = case when id = '${id}' then now() - interval '1 s'
        else now() + interval '1 day' end where state < 'active'`);
      expect(await pass(await process.halted('fetch'))).toMatchObject({ rows: [{ id }] });
      const line = { halt: null, release: null, isRead: false, isTooLate: false, handler: null, timeOut() {} };
      lines.set(step.before.nextId, line);
    },
    async read(step) {
      const line = lineOf(step);
      await hold(line, await processOf(stage, step).halted('deliver'));
      line.isRead = true;
    },
    async ask(step) {
      const halt = await goOn(step, 'status');
      expect(await halt.run()).toMatchObject(job);
      respond(lineOf(step), halt, () => statusOf(step.before, settings));
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
      await hold(lineOf(step), await goOn(step, 'begin'));
    },
    async 'begin, unclear'(step) {
      await lose(step, await goOn(step, 'begin'));
    },
    async call(step) {
      const line = lineOf(step);
      line.handler = await goOn(step, 'handler');
      line.timeOut = timers.newest(context.settings.handlerTimeoutMs);
      const completion = (await line.handler.run()) as Completion<number>;
      completions.push(completion);
      const { attempt, context: given, result } = deliveryOf(step);
      const outcome = result === 0 ? 'expired' : 'completed';
      expect(completion).toMatchObject({ key, attempt, outcome, context: given === 0 ? null : given });
      if (completion.outcome === 'completed') expect(completion.status.message).toBe(String(result));
    },
    async 'too late'(step) {
      const line = lineOf(step);
      line.isTooLate = deliveryOf(step).phase === 'begun';
      if (line.isTooLate) return;
      clock.isNextLate = true;
      await processOf(stage, step).end(line);
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
    async settle(step) {
      await pass(await goOnToStore(step));
      await settleDown();
    },
    async 'settle, unclear'(step) {
      await lose(step, await goOnToStore(step));
    },
    async 'give up'(step) {
      const halt = deliveryOf(step).phase === 'beginning' ? await goOn(step, 'begin') : await goOnToStore(step);
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
