// A second model: a tracked link with two jobs, whose callbacks may be missing, and two processes that poll the link.

import type { Action, Case, Model } from './explore.ts';

/** A job of the link. */
interface Job {
  isFinished: boolean;
  /** Whether a callback has mentioned it, and whether it is still stored. */
  isMentioned: boolean;
  isStored: boolean;
}

/** A poll of the link, and what it took from the row. */
interface Poll {
  found: 'claimed' | 'counted' | 'noted' | 'missing' | 'over';
  readonly seen: number;
  readonly reported: number;
  readonly mentioned: number;
  readonly isLate: boolean;
  /** How many jobs were missing in the poll that was stored last. */
  readonly shownBefore: number;
  /** How many jobs were stored when they were counted. */
  known: number;
  /** What the poll shows: how many jobs are missing, how many of the reported ones are not, and what to report. */
  missing: number;
  newMentioned: number;
  certain: number;
}

interface State {
  jobs: Job[];
  isTracked: boolean;
  isLate: boolean;
  seen: number;
  reported: number;
  mentioned: number;
  /** What the last poll showed that was stored. */
  shown: number;
  /** The largest number that a completion has, and whether one followed that was not larger. */
  largest: number;
  hasShrunk: boolean;
  /** Whether a job was reported that only one poll has shown. */
  isHasty: boolean;
  polls: (Poll | null)[];
}

export const gapPromises = {
  twice:
    'If two consecutive polls show that the link counts more finished jobs than callbacks have mentioned, the handler receives a completion with the outcome `unheard`.',
  grows: 'Another `unheard` completion follows only if this number grows.',
  stays: 'If a late callback mentions a missing job, the number does not decrease.',
  kept: 'While a link is tracked, its jobs are not removed.',
} as const;

/** A protection that a promise needs: without it, the model breaks the promise. */
export const gapsNeed = [
  ['twice', 'two polls must show a missing job'],
  ['grows', 'a report is larger than the last one'],
  ['stays', 'a report is larger than the last one'],
  ['kept', 'the jobs of a tracked link are not removed'],
] as const satisfies readonly (readonly [promise: keyof typeof gapPromises, without: string])[];

const isMissing = (job: Job) => job.isFinished && !job.isMentioned;
const once = (happens: boolean): readonly Case[] => (happens ? [[]] : []);
const both = [0, 1] as const;

/** Creates the model, without a protection if one is named. */
export function createGapModel(without: (typeof gapsNeed)[number][1] | null): Model<State> {
  const eachJob = ({ jobs }: State, happens: (job: Job) => boolean) =>
    jobs.flatMap((job, index) => (happens(job) ? [[index]] : []));
  const eachPoll = ({ polls }: State, found: Poll['found']) =>
    polls.flatMap((poll, index) => (poll?.found === found ? [[index]] : []));

  /** Compares the counts of the link with the known jobs, as `compare` of poll.ts does. */
  function compare(poll: Poll, jobs: readonly Job[]): void {
    const finished = jobs.filter(({ isFinished }) => isFinished).length;
    poll.missing = Math.max(0, finished - poll.known);
    poll.newMentioned = Math.max(poll.mentioned, poll.reported - poll.missing);
    const isCertain = poll.isLate || without === 'two polls must show a missing job';
    poll.certain = (isCertain ? poll.missing : Math.min(poll.missing, poll.seen)) + poll.newMentioned;
    if (poll.certain > poll.reported) poll.found = 'missing';
    else poll.found = poll.isLate ? 'over' : 'noted';
  }

  const actions: readonly Action<State>[] = [
    {
      name: 'a job finishes',
      standsFor: 'the service',
      cases: (state) => eachJob(state, ({ isFinished }) => !isFinished),
      effect({ jobs }, [index = 0]) {
        const job = jobs[index];
        if (job) job.isFinished = true;
      },
    },
    {
      name: 'callback',
      standsFor: 'statements.storeCallback',
      helps: false,
      cases: (state) => eachJob(state, ({ isMentioned }) => !isMentioned),
      effect({ jobs }, [index = 0]) {
        const job = jobs[index];
        if (job) Object.assign(job, { isMentioned: true, isStored: true });
      },
    },
    {
      name: 'forget',
      standsFor: 'statements.forget',
      helps: false,
      cases: (state) => {
        const mayForget = !state.isTracked || without === 'the jobs of a tracked link are not removed';
        return eachJob(state, ({ isFinished, isStored }) => mayForget && isFinished && isStored);
      },
      effect({ jobs }, [index = 0]) {
        const job = jobs[index];
        if (job) job.isStored = false;
      },
    },
    {
      name: 'the deadline passes',
      standsFor: 'tracked.deadline',
      helps: false,
      cases: ({ isLate }) => once(!isLate),
      effect(state) {
        state.isLate = true;
      },
    },
    {
      name: 'claim',
      standsFor: 'statements.claim',
      cases: ({ isTracked, polls }) => both.flatMap((index) => (isTracked && polls[index] === null ? [[index]] : [])),
      effect(state, [index = 0]) {
        const { seen, reported, mentioned, isLate, shown: shownBefore } = state;
        const counts = { known: 0, missing: 0, newMentioned: 0, certain: 0 };
        state.polls[index] = { found: 'claimed', seen, reported, mentioned, isLate, shownBefore, ...counts };
      },
    },
    {
      name: 'count',
      standsFor: 'statements.countJobs',
      cases: (state) => eachPoll(state, 'claimed'),
      effect({ jobs, polls }, [index = 0]) {
        const poll = polls[index];
        if (!poll) return;
        poll.found = 'counted';
        poll.known = jobs.filter(({ isStored }) => isStored).length;
      },
    },
    {
      name: 'answer',
      standsFor: 'client.links.get(), and compare() of poll.ts',
      cases: (state) => eachPoll(state, 'counted'),
      effect({ jobs, polls }, [index = 0]) {
        const poll = polls[index];
        if (poll) compare(poll, jobs);
      },
    },
    {
      name: 'note',
      standsFor: 'statements.note',
      cases: (state) => eachPoll(state, 'noted'),
      effect(state, [index = 0]) {
        const poll = state.polls[index];
        if (poll && state.isTracked)
          Object.assign(state, { seen: poll.missing, mentioned: poll.newMentioned, shown: poll.missing });
        state.polls[index] = null;
      },
    },
    {
      name: 'report',
      standsFor: 'statements.addGap',
      cases: (state) => eachPoll(state, 'missing'),
      effect(state, [index = 0]) {
        const poll = state.polls[index];
        if (!poll) return;
        state.polls[index] = poll.isLate ? { ...poll, found: 'over' } : null;
        const { certain, newMentioned, missing } = poll;
        if (state.reported >= certain && without !== 'a report is larger than the last one') return;
        state.hasShrunk ||= certain <= state.largest;
        state.isHasty ||= !poll.isLate && certain - newMentioned > Math.min(missing, poll.shownBefore);
        Object.assign(state, {
          reported: certain,
          seen: certain - newMentioned,
          mentioned: newMentioned,
          shown: missing,
        });
        state.largest = Math.max(state.largest, certain);
      },
    },
    {
      name: 'end link',
      standsFor: 'statements.endLinks',
      cases: (state) => eachPoll(state, 'over'),
      effect(state, [index = 0]) {
        state.polls[index] = null;
        state.isTracked = false;
      },
    },
    {
      name: 'a process dies',
      standsFor: 'SIGKILL',
      helps: false,
      cases: ({ polls }) => both.flatMap((index) => (polls[index] ? [[index]] : [])),
      effect({ polls }, [index = 0]) {
        polls[index] = null;
      },
    },
  ];

  return {
    initial: {
      jobs: both.map(() => ({ isFinished: false, isMentioned: false, isStored: false })),
      isTracked: true,
      isLate: false,
      seen: 0,
      reported: 0,
      mentioned: 0,
      shown: 0,
      largest: 0,
      hasShrunk: false,
      isHasty: false,
      polls: [null, null],
    },
    actions,
    promises: [
      {
        name: gapPromises.twice,
        state: ({ isHasty }) => !isHasty,
        reach: {
          from: ({ isTracked, jobs }) => isTracked && jobs.some(isMissing),
          to: ({ isTracked, jobs, reported, mentioned }) =>
            !isTracked || reported - mentioned >= jobs.filter(isMissing).length,
        },
      },
      { name: gapPromises.grows, state: ({ hasShrunk }) => !hasShrunk },
      { name: gapPromises.stays, step: (before, _, after) => after.reported >= before.reported },
      {
        name: gapPromises.kept,
        step: (before, action) => action !== 'forget' || !before.isTracked,
      },
    ],
    copy: ({ jobs, polls, ...rest }) => ({
      ...rest,
      jobs: jobs.map((job) => ({ ...job })),
      polls: polls.map((poll) => poll && { ...poll }),
    }),
    keyOf: ({ jobs, polls, ...rest }) =>
      JSON.stringify([
        Object.values(rest),
        jobs.map((job) => Object.values(job)),
        polls.map((poll) => JSON.stringify(poll && Object.values(poll))).sort(),
      ]),
  };
}
