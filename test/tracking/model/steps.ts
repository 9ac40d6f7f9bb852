// The steps that several actions of the model share.

import type { Case } from './explore.ts';
import type { Protection } from './needed.ts';
import type { Delivery, Process, State } from './state.ts';

/** The cases of an action that either happens in one way or does not happen. */
export const once = (happens: boolean): readonly Case[] => (happens ? only : none);
const only: readonly Case[] = [[]];
const none: readonly Case[] = [];

/** The cases of an action that a process does. */
export function eachProcess(state: State, happens: (process: Process) => boolean): readonly Case[] {
  return state.processes.flatMap((process, index) => (happens(process) ? [[index]] : []));
}

/** The cases of an action about a delivery. */
export function eachDelivery(
  state: State,
  happens: (delivery: Delivery, process: Process) => boolean,
): readonly Case[] {
  return state.processes.flatMap((process, index) =>
    process.deliveries.flatMap((delivery) => (happens(delivery, process) ? [[index, delivery.id]] : [])),
  );
}

/** The process and the delivery of a case. */
export function deliveryAt({ processes }: State, [index = 0, id = 0]: Case) {
  const process = processes[index === 0 ? 0 : 1];
  const delivery = process.deliveries.find((one) => one.id === id);
  if (!delivery) throw new Error('no such delivery');
  return { process, delivery };
}

/** The process of a case. */
export const processAt = ({ processes }: State, [index = 0]: Case): Process => processes[index === 0 ? 0 : 1];

/** Whether a process takes new work. */
export const mayWork = ({ isStopping, isClosed }: Process, without: Protection | null): boolean =>
  !isClosed && (!isStopping || without === 'a process that stops takes no new work');

/** Whether a delivery still has the completion: no other one has taken it since. */
export function hasLease({ row }: State, { id }: Delivery): boolean {
  return row.state === 'handingOver' && row.lease === id;
}

/** Whether a handler may begin: the lease is not over. */
export const mayBegin = (state: State, delivery: Delivery): boolean => hasLease(state, delivery) && !state.row.isOver;

/** Begins an end of the job. */
export function startEnd({ row, truth }: State, hasOwnId: boolean): void {
  truth.end += 1;
  truth.isHandled = false;
  row.state = 'handingOver';
  Object.assign(row, { end: hasOwnId ? truth.end : 1, lease: 0, isOver: false });
}

/** Removes a delivery from its process. */
export function drop(process: Process, delivery: Delivery): void {
  process.deliveries = process.deliveries.filter((one) => one !== delivery);
}
