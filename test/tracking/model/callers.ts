// What callers, the service and time do to a job.

import type { Action } from './explore.ts';
import type { Settings } from './settings.ts';
import type { Row, State } from './state.ts';
import { eachProcess, once, processAt, startEnd } from './steps.ts';

/** The contexts of the job's own link and of another person's link. */
export const links = { own: 3, other: 4 } as const;

export const absent: Row = {
  state: 'absent',
  end: 0,
  lease: 0,
  isOver: false,
  attempts: 0,
  revision: 0,
  version: 0,
  signed: 0,
  mentioned: 0,
  stateBefore: null,
  hasExpired: false,
  context: 0,
  link: 0,
  isProven: false,
  isMentioned: false,
  hasDate: false,
  latePolls: 0,
  lastError: 'none',
};

/** Says whether a job that only callbacks mentioned is followed, and with which context. */
export function ownerOf({ world }: State, { unknownJobs }: Settings, link: number) {
  const isTracked = link === links.other || (link === links.own && world.isLinkTracked);
  return { follows: isTracked || unknownJobs === 'track', context: isTracked ? link : 0 };
}

export function createCallers(settings: Settings): readonly Action<State>[] {
  const { tracks, callbacks, results, without } = settings;
  const contextOf = ({ world }: State) => tracks - world.tracks + 1;
  return [
    {
      name: 'track',
      standsFor: 'statements.track',
      helps: false,
      cases: ({ world }) => once(world.tracks > 0),
      effect(state) {
        const { row, truth, world } = state;
        const context = contextOf(state);
        world.tracks -= 1;
        const hasEnded = row.state === 'handingOver' || row.state === 'done' || row.state === 'dead';
        if (row.state === 'done' || row.state === 'dead') row.hasDate = true;
        const isFollowed = row.state === 'tracking' && !row.isMentioned && without !== 'the first track() counts';
        if (isFollowed || (hasEnded && without !== 'track() changes no job that has ended')) return;
        if (truth.context === 0 || row.state === 'untracked') truth.context = context;
        Object.assign(truth, { base: truth.end, begun: 0, lapsed: 0, ended: 0 });
        world.isLate = false;
        Object.assign(row, {
          state: 'tracking',
          attempts: 0,
          hasExpired: false,
          context,
          isProven: true,
          isMentioned: false,
          stateBefore: null,
        });
        Object.assign(row, { link: 0, hasDate: true, end: 0, lease: 0, latePolls: 0, lastError: 'none' });
      },
    },
    {
      name: 'callback',
      standsFor: 'statements.storeCallback',
      helps: false,
      cases: () => callbacks.map((link) => [link]),
      effect(state, [link = 0]) {
        const { row } = state;
        const { follows, context } = ownerOf(state, settings, link);
        if (row.state === 'absent') {
          Object.assign(row, { state: 'heard', link, isProven: false, isMentioned: true });
        }
        state.signatures += 1;
        row.mentioned = state.signatures;
        state.truth.mentioned = state.world.result;
        if (row.state === 'done' || row.state === 'dead') row.hasDate = true;
        const isAny = row.state !== 'tracking' && without === 'a callback follows no job that has ended';
        if ((row.state !== 'heard' && !isAny) || !follows) return;
        state.world.isLate = false;
        Object.assign(row, { state: 'tracking', link, context, hasDate: true });
      },
    },
    {
      name: 'trackLink',
      standsFor: 'statements.trackLink',
      helps: false,
      cases: ({ world }) => once(callbacks.includes(links.own) && !world.isLinkTracked),
      effect({ row, world }) {
        world.isLinkTracked = true;
        if (row.state !== 'heard' || row.link !== links.own) return;
        world.isLate = false;
        Object.assign(row, { state: 'tracking', context: links.own, hasDate: true });
      },
    },
    {
      name: 'trackLink misses a job',
      standsFor: 'statements.trackLink and statements.storeCallback at the same time',
      helps: false,
      cases: ({ row, world }) => once(callbacks.includes(links.own) && !world.isLinkTracked && row.state === 'absent'),
      effect(state) {
        const { row, world } = state;
        world.isLinkTracked = true;
        state.truth.mentioned = world.result;
        state.signatures += 1;
        row.mentioned = state.signatures;
        const follows = settings.unknownJobs === 'track';
        Object.assign(row, {
          state: follows ? 'tracking' : 'heard',
          link: links.own,
          isMentioned: true,
          hasDate: follows,
        });
      },
    },
    {
      name: 'adopt',
      standsFor: 'statements.adopt, when the link is polled',
      cases: ({ row, world }) => {
        const isMissed = row.state === 'heard' && row.link === links.own && world.isLinkTracked;
        return once(isMissed && row.lastError !== 'own' && without !== 'a poll of the link follows missed jobs');
      },
      effect({ row, world }) {
        world.isLate = false;
        Object.assign(row, { state: 'tracking', context: links.own, hasDate: true });
      },
    },
    {
      name: 'untrack',
      standsFor: 'statements.untrack',
      helps: false,
      cases: ({ row, world }) =>
        once(world.untracks > 0 && ['heard', 'tracking', 'handingOver', 'dead'].includes(row.state)),
      effect({ row, world }) {
        world.untracks -= 1;
        row.state = 'untracked';
        row.isProven = true;
        row.hasDate = false;
        row.lease = 0;
        row.stateBefore = null;
        row.context = 0;
      },
    },
    {
      name: 'retry',
      standsFor: 'statements.revive',
      cases: ({ row, world }) => once(row.state === 'dead' && world.retries > 0),
      effect(state) {
        const { row, truth, world } = state;
        world.retries -= 1;
        Object.assign(truth, { base: truth.end, begun: 0, lapsed: 0 });
        if (row.hasExpired) {
          // The job may have ended since, so it is polled again.
          Object.assign(row, { state: 'tracking', end: 0, hasExpired: false, attempts: 0, hasDate: true });
          truth.ended -= 1;
          return;
        }
        startEnd(state, without !== 'each end has an id of its own');
        Object.assign(row, { attempts: 0, hasDate: false });
      },
    },
    {
      name: 'forget',
      standsFor: 'statements.forget',
      helps: false,
      cases: ({ row }) => {
        const keepsDead = without !== 'forget() removes no dead letter';
        const isOver = row.state === 'done' || row.state === 'untracked' || (row.state === 'dead' && !keepsDead);
        return once(settings.forgets && isOver);
      },
      effect({ row, truth }) {
        Object.assign(row, absent);
        truth.context = 0;
      },
    },
    {
      name: 'stop',
      standsFor: 'stop()',
      helps: false,
      cases: (state) => (settings.stops ? eachProcess(state, ({ isStopping }) => !isStopping) : []),
      effect(state, at) {
        processAt(state, at).isStopping = true;
      },
    },
    {
      name: 'stop resolves',
      standsFor: 'the end of stop()',
      cases: (state) =>
        eachProcess(state, ({ poll, deliveries, isStopping, isClosed }) => {
          const isIdle = poll === null && deliveries.length === 0;
          return isStopping && !isClosed && (isIdle || without === 'stop() waits for running handlers');
        }),
      effect(state, at) {
        Object.assign(processAt(state, at), { isClosed: true, poll: null, deliveries: [] });
      },
    },
    {
      name: 'start',
      standsFor: 'onCompletion() in another process',
      cases: (state) => eachProcess(state, ({ isClosed }) => isClosed),
      effect(state, at) {
        Object.assign(processAt(state, at), { isStopping: false, isClosed: false });
      },
    },
    {
      name: 'the job goes on',
      standsFor: 'the service',
      cases: ({ world }) => once(world.result < results[1]),
      effect({ world }) {
        world.result += 1;
      },
    },
    {
      name: 'the deadline passes',
      standsFor: 'tracked.deadline',
      cases: ({ row, world }) => once(settings.deadlines && row.state === 'tracking' && !world.isLate),
      effect({ world }) {
        world.isLate = true;
      },
    },
    {
      name: 'an outage begins',
      standsFor: 'the service',
      helps: false,
      cases: ({ world }) => once(world.outages > 0 && !world.isDown),
      effect({ world }) {
        world.isDown = true;
        world.outages -= 1;
      },
    },
    {
      name: 'an outage ends',
      standsFor: 'the service',
      cases: ({ world }) => once(world.isDown),
      effect({ world }) {
        world.isDown = false;
      },
    },
    {
      name: 'the job breaks',
      standsFor: 'a service that responds with a server error about this job alone',
      helps: false,
      cases: ({ world }) => once(settings.breaks && !world.isBroken),
      effect({ world }) {
        world.isBroken = true;
      },
    },
  ];
}
