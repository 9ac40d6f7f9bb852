// The faults of the model, and what pg-boss and the housekeeping do about them.

import type { Action } from './explore.ts';
import type { Settings } from './settings.ts';
import type { State } from './state.ts';
import { eachProcess, once, processAt, remove, send } from './steps.ts';

export function createFaults(settings: Settings): readonly Action<State>[] {
  const { without } = settings;
  return [
    {
      name: 'a process dies',
      standsFor: 'SIGKILL',
      helps: false,
      cases: (state) =>
        settings.crashes ? eachProcess(state, ({ poll, deliveries }) => poll !== null || deliveries.length > 0) : [],
      effect(state, at) {
        const process = processAt(state, at);
        Object.assign(process, { poll: null, deliveries: [], isStopping: false, isClosed: false });
      },
    },
    {
      name: 'a lease ends',
      standsFor: 'failJobsByTimeout of pg-boss',
      cases: ({ messages }) =>
        without === 'a lease ends' ? [] : messages.flatMap(({ end, isActive }) => (isActive ? [[end]] : [])),
      effect({ messages }, [id = 0]) {
        for (const message of messages) if (message.end === id) message.isActive = false;
      },
    },
    {
      name: 'a message is lost',
      standsFor: 'a message that somebody removes',
      helps: false,
      cases: ({ messages, world }) => (world.losses > 0 ? messages.map(({ end }) => [end]) : []),
      effect(state, [id = 0]) {
        state.world.losses -= 1;
        remove(
          state,
          state.messages.find(({ end }) => end === id),
        );
      },
    },
    {
      name: 'repair',
      standsFor: 'statements.findLost',
      cases: ({ row, messages }) =>
        once(
          settings.repairs &&
            without !== 'a lost message is replaced' &&
            row.state === 'handingOver' &&
            !messages.some(({ end }) => end === row.end),
        ),
      effect: send,
    },
  ];
}
