// The steps that several actions of the model share.

import type { Case } from './explore.ts';
import type { Protection } from './settings.ts';
import type { Delivery, Message, Process, State } from './state.ts';

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

/** The message that a delivery was fetched with, if it still is the delivery's: its lease has not ended. */
export function heldBy({ messages }: State, { end, fetch }: Delivery): Message | undefined {
  return messages.find((message) => message.end === end && message.isActive && message.fetches === fetch);
}

/** Begins an end of the job. */
export function startEnd({ row, truth }: State, hasOwnId: boolean): void {
  truth.end += 1;
  truth.isHandled = false;
  row.state = 'handingOver';
  row.end = hasOwnId ? truth.end : 1;
}

/** Sends the message of the current end, unless it is there. */
export function send({ row, truth, messages }: State): void {
  if (messages.some(({ end }) => end === row.end)) return;
  messages.push({ end: row.end, of: truth.end, isActive: false, fetches: 0 });
}

/** Removes a message. */
export function remove(state: State, gone: Message | undefined): void {
  state.messages = state.messages.filter((message) => message !== gone);
}

/** Removes a delivery from its process. */
export function drop(process: Process, delivery: Delivery): void {
  process.deliveries = process.deliveries.filter((one) => one !== delivery);
}
