// The polls of the model: a process takes a due job, asks the service, and stores what it says.

import { links, ownerOf } from './callers.ts';
import type { Action } from './explore.ts';
import type { Settings } from './settings.ts';
import type { Poll, Process, Row, State } from './state.ts';
import { eachProcess, mayWork, processAt, startEnd } from './steps.ts';

export function createPolls(settings: Settings): readonly Action<State>[] {
  const { slowPolls, pollers, namesLink, without } = settings;

  const mayPoll = (state: State, process: Process) =>
    ['tracking', 'done', 'dead'].includes(state.row.state) &&
    state.row.hasDate &&
    process.poll === null &&
    mayWork(process, without) &&
    state.processes.filter(({ poll }) => poll !== null).length < pollers;

  function claim(state: State, process: Process): Poll {
    const { row, world } = state;
    const { isProven, link, latePolls, lastError } = row;
    const poll: Poll = {
      found: 'asked',
      isLate: world.isLate && row.state === 'tracking',
      latePolls,
      lastError,
      isProven,
      isLinkProven: isLinkProven(row),
      link,
      isCompared: false,
      error: 'none',
      isOfAll: false,
      hasEnded: row.state !== 'tracking',
      revision: row.revision,
      isSame: false,
      signed: 0,
    };
    process.poll = poll;
    if (without === 'a claim sets the date of the next poll') row.hasDate = false;
    return poll;
  }

  /** What the response says. `isLong` stands for the tenth poll of an unknown job, and for a day of failed polls. */
  function answer(state: State, process: Process, isLong: boolean): void {
    const { row } = state;
    const { poll } = process;
    if (!poll) return;
    const { world } = state;
    const { result } = world;
    const { isLate, isProven } = poll;
    if (poll.hasEnded) {
      state.signatures += 1;
      poll.signed = state.signatures;
      poll.isSame = result === row.version;
      poll.error = result === 0 ? 'own' : 'none';
      if (result > 0 && (world.isDown || world.isBroken)) process.poll = null;
      else poll.found = poll.isSame || result < 2 ? 'kept' : 'changed';
      return;
    }
    const lasts = (isLong && poll.latePolls === 2) || without === 'an error after the deadline must last';
    poll.isOfAll = world.isDown && !world.isBroken && world.result > 0;
    poll.error = world.result === 0 ? 'own' : world.isDown || world.isBroken ? 'fleet' : 'none';
    const isSame = poll.error === poll.lastError || without === 'an error after the deadline must stay the same';
    const isWell = !world.isDown || without === 'an error counts only while other requests succeed';
    if (poll.error === 'none') {
      if (world.result > 1) poll.found = 'completed';
      else poll.found = isLate ? 'expired' : 'pending';
    } else if (
      poll.error === 'own' &&
      !isProven &&
      isLong &&
      without !== 'a job that only callbacks mentioned is given up'
    )
      poll.found = 'unknown';
    else poll.found = isLate && lasts && isSame && isWell ? 'expired' : 'failed';
  }

  /** Whether the status names another link than the callback did. */
  const isOfAnotherLink = ({ found, isLinkProven, link, isCompared }: Poll) =>
    namesLink &&
    !isLinkProven &&
    !isCompared &&
    link !== links.own &&
    found === 'completed' &&
    without !== 'the link of the verified status counts';

  /** The proven link of a poll; 0 for none. */
  function provenLink({ found, isLinkProven, link }: Poll): number {
    const isNamed = namesLink && found === 'completed';
    return isLinkProven || isNamed || without === 'a status that names no link proves none' ? link : 0;
  }

  /** Takes the link of a callback, and its context, from the job. */
  function removeLink({ row }: State, poll: Poll): void {
    if (provenLink(poll) === 0 && !isLinkProven(row)) Object.assign(row, { link: 0, context: 0 });
  }

  const mayFail = ({ world }: State) => world.result === 0 || world.isDown || world.isBroken;

  const answers = (state: State, isAsked: (process: Process) => boolean) =>
    eachProcess(state, isAsked).flatMap(([index = 0]) =>
      mayFail(state)
        ? [
            [index, 0],
            [index, 1],
          ]
        : [[index, 0]],
    );

  return [
    {
      name: 'poll',
      standsFor: 'statements.claim, and pollOnce()',
      cases: (state) => (slowPolls ? [] : answers(state, (process) => mayPoll(state, process))),
      effect(state, at) {
        const process = processAt(state, at);
        claim(state, process);
        answer(state, process, at[1] === 1);
      },
    },
    {
      name: 'claim',
      standsFor: 'statements.claim',
      cases: (state) => (slowPolls ? eachProcess(state, (process) => mayPoll(state, process)) : []),
      effect(state, at) {
        claim(state, processAt(state, at));
      },
    },
    {
      name: 'answer',
      standsFor: 'pollOnce()',
      cases: (state) => (slowPolls ? answers(state, ({ poll }) => poll?.found === 'asked') : []),
      effect(state, at) {
        answer(state, processAt(state, at), at[1] === 1);
      },
    },
    {
      name: 'endAgain',
      standsFor: 'statements.endAgain',
      cases: (state) => eachProcess(state, ({ poll }) => poll?.found === 'changed'),
      effect(state, at) {
        const { row } = state;
        const process = processAt(state, at);
        const { poll } = process;
        process.poll = null;
        if (!poll || (row.state !== 'done' && row.state !== 'dead') || poll.revision !== row.revision) return;
        row.stateBefore = row.state;
        startEnd(state, without !== 'each end has an id of its own');
        row.hasDate = false;
      },
    },
    {
      name: 'keepEnd',
      standsFor: 'statements.keepEnd',
      cases: (state) => eachProcess(state, ({ poll }) => poll?.found === 'kept'),
      effect(state, at) {
        const { row } = state;
        const process = processAt(state, at);
        const { poll } = process;
        process.poll = null;
        if (!poll || (row.state !== 'done' && row.state !== 'dead') || poll.revision !== row.revision) return;
        if (poll.isSame) row.signed = Math.max(row.signed, poll.signed);
        // The model leaves out that the tenth of these polls is the last one.
        row.hasDate = poll.error === 'own' || row.mentioned > poll.signed;
        row.lastError = 'none';
      },
    },
    {
      name: 'relink',
      standsFor: 'statements.relink',
      cases: (state) => eachProcess(state, ({ poll }) => poll !== null && isOfAnotherLink(poll)),
      effect(state, at) {
        const { row } = state;
        const process = processAt(state, at);
        if (process.poll) {
          const keepsLink = without === 'a compared poll ends a job of the verified link';
          const link = keepsLink ? process.poll.link : links.own;
          process.poll = { ...process.poll, isCompared: true, link };
        }
        if (row.state !== 'tracking' || isLinkProven(row)) return;
        const { follows, context } = ownerOf(state, settings, links.own);
        Object.assign(row, { link: links.own, context, isProven: follows });
        if (follows) return;
        Object.assign(row, { state: 'heard', hasDate: false, latePolls: 0 });
        process.poll = null;
      },
    },
    {
      name: 'end',
      standsFor: 'statements.end',
      cases: (state) =>
        eachProcess(
          state,
          ({ poll }) =>
            poll !== null && (poll.found === 'completed' || poll.found === 'expired') && !isOfAnotherLink(poll),
        ),
      effect(state, at) {
        const { row, truth, world } = state;
        const process = processAt(state, at);
        const { poll } = process;
        process.poll = null;
        if (!poll || row.state === 'absent') return;
        const isFollowed = row.state === 'tracking' || without === 'only followed jobs end';
        const link = provenLink(poll);
        const isSame =
          isLinkProven(row) || link === 0 || row.link === link || without === 'only jobs of the polled link end';
        const isTime =
          poll.found === 'completed' || world.isLate || without === 'a job expires only after its deadline';
        if (!isFollowed || !isSame || !isTime) return;
        const isNamed = namesLink && poll.found === 'completed';
        if (truth.context === 0) truth.context = isNamed && world.isLinkTracked ? links.own : 0;
        removeLink(state, poll);
        if (
          row.isMentioned &&
          row.context === 0 &&
          link !== 0 &&
          without !== 'a link that is tracked later gives its context'
        )
          row.context = ownerOf(state, settings, link).context;
        truth.ended += 1;
        startEnd(state, without !== 'each end has an id of its own');
        Object.assign(row, { hasExpired: poll.found === 'expired', isProven: true, hasDate: false });
        if (row.hasExpired) row.lastError = poll.error;
      },
    },
    {
      name: 'note',
      standsFor: 'statements.note',
      cases: (state) =>
        eachProcess(
          state,
          ({ poll }) =>
            poll !== null && (poll.found === 'pending' || poll.found === 'failed') && !isOfAnotherLink(poll),
        ),
      effect(state, at) {
        const { row } = state;
        const process = processAt(state, at);
        const { poll } = process;
        process.poll = null;
        if (!poll || row.state !== 'tracking') return;
        if (poll.found === 'pending') {
          removeLink(state, poll);
          const link = provenLink(poll);
          row.isProven ||= link === 0 || row.link === link;
        }
        if (poll.found === 'failed' && poll.isLate && state.world.isLate)
          row.latePolls = row.lastError === poll.error ? Math.min(row.latePolls + 1, 2) : 1;
        // If nothing has changed since the claim, nothing is stored.
        const hasChanged = poll.error !== poll.lastError || (poll.found === 'failed' ? poll.isLate : !poll.isProven);
        if (hasChanged) row.lastError = poll.error;
        row.hasDate = true;
      },
    },
    {
      name: 'giveUp',
      standsFor: 'statements.giveUp',
      cases: (state) => eachProcess(state, ({ poll }) => poll?.found === 'unknown'),
      effect(state, at) {
        const { row } = state;
        processAt(state, at).poll = null;
        if (row.state !== 'tracking' || row.isProven) return;
        Object.assign(row, { state: 'heard', hasDate: false, latePolls: 0, context: 0, lastError: 'own' });
      },
    },
  ];
}

/** Whether the caller tracks the job, or a verified status has named its link. */
const isLinkProven = ({ isMentioned, isProven, link }: Row) => !isMentioned || (isProven && link !== 0);
