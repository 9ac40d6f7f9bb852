// What the steps of a replay share.

import { HostedConnectionError } from 'hosted-client';
import type { Completion, SqlPool, Tracker } from 'hosted-client/tracking';
import type { Context } from '../../../../src/tracking/context.ts';
import type { Settings } from '../settings.ts';
import type { Halt, Line, Process } from './process.ts';
import type { Timers } from './timers.ts';
import type { Step } from './traces.ts';

/** What the steps of one trace work with. */
export interface Stage {
  readonly context: Context;
  readonly tracker: Tracker<number>;
  readonly settings: Settings;
  readonly pool: SqlPool;
  /** The key of the job. */
  readonly key: string;
  /** The key of the job's own link. */
  readonly linkKey: string;
  readonly processes: readonly [Process, Process];
  readonly timers: Timers;
  /** The clock of the processes: `isNextLate` says that its next reading is after every limit of a delivery. */
  readonly clock: { isNextLate: boolean };
  /** The leases of the deliveries of the model. */
  readonly leases: Map<number, string>;
  /** What handlers have received. */
  readonly completions: Completion<number>[];
}

/** For each action, what takes a step of it. */
export type Takers = Readonly<Record<string, (step: Step) => Promise<unknown>>>;

/** The process of a step. */
export const processOf = ({ processes }: Stage, { at: [index] }: Step): Process => processes[index === 0 ? 0 : 1];

/** Does what work waits for, and keeps the result until the next step. */
export async function hold(line: Line, halt: Halt): Promise<unknown> {
  const result = await halt.run();
  line.release = async () => halt.resolve(result);
  return result;
}

/** Does what work waits for, and lets it go on. */
export async function pass(halt: Halt): Promise<unknown> {
  const result = await halt.run();
  halt.resolve(result);
  return result;
}

/** Lets the service respond to a request. The response arrives in the next step. */
export function respond(line: Line, halt: Halt, response: () => object): void {
  line.release = async () => {
    try {
      halt.resolve(response());
    } catch (error) {
      halt.reject(error);
    }
  };
}

/** An error that can be about all jobs. */
export const connectionError = () => new HostedConnectionError('the connection broke', { operation: 'jobs.status' });
