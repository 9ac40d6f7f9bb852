// The faults of the model, and the end of a lease.

import type { Action } from './explore.ts';
import type { Settings } from './settings.ts';
import type { State } from './state.ts';
import { eachProcess, once, processAt } from './steps.ts';

export function createFaults(settings: Settings): readonly Action<State>[] {
  return [
    {
      name: 'a process dies',
      standsFor: 'SIGKILL',
      helps: false,
      cases: (state) =>
        settings.crashes ? eachProcess(state, ({ poll, deliveries }) => poll !== null || deliveries.length > 0) : [],
      effect(state, at) {
        Object.assign(processAt(state, at), { poll: null, deliveries: [], isStopping: false, isClosed: false });
      },
    },
    {
      name: 'a lease ends',
      standsFor: 'the date deliver_at',
      cases: ({ row }) => once(settings.without !== 'a lease ends' && row.lease !== 0 && !row.isOver),
      effect({ row }) {
        row.isOver = true;
      },
    },
  ];
}
