// How a replay takes the steps of polls.

import { expect } from 'vitest';
import { HostedNotFoundError } from '../../../../src/errors/service-errors.ts';
import type { JobStatus } from '../../../../src/jobs/types.ts';
import { kinds } from '../../../../src/tracking/rules.ts';
import { links } from '../callers.ts';
import type { Settings } from '../settings.ts';
import type { Poll, State } from '../state.ts';
import { type Line, type Place, service } from './process.ts';
import { sign } from './signing.ts';
import { connectionError, hold, pass, processOf, respond, type Stage, type Takers } from './steps.ts';
import { job, refIds, schema } from './stored.ts';
import { settleDown } from './timers.ts';
import type { Step } from './traces.ts';

export function createPollTakers(stage: Stage): Takers {
  const { pool, key, settings } = stage;
  const lines: [Line, Line] = [createLine(), createLine()];
  const lineOf = ({ at: [index] }: Step) => lines[index === 0 ? 0 : 1];

  /** Takes the due job. `isLong` stands for the tenth poll of an unknown job, and for a day of failed polls. */
  async function claim(step: Step, isLong: boolean): Promise<void> {
    const looks = isLong ? '10' : 'least(mentioned_polls, 1)';
    const since = `now() - interval '${isLong ? 30 : 0} hours'`;
    await pool.query(`update ${schema}.tracked set due = null where kind = ${kinds.link};
      update ${schema}.tracked set due = now(), mentioned_polls = ${looks},
        late_since = case when late_since between deadline and now() then ${since} else late_since end
      where key = '${key}'`);
    const line = createLine();
    lines[step.at[0] === 0 ? 0 : 1] = line;
    expect(await hold(line, await processOf(stage, step).halted('claim'))).toMatchObject([
      { taken: expect.stringContaining(key) },
    ]);
  }

  async function answer(step: Step): Promise<void> {
    const line = lineOf(step);
    const halt = await processOf(stage, step).goOn(line, 'status');
    expect(await halt.run()).toMatchObject(job);
    const signedAt = sign();
    respond(line, halt, () => {
      service.isDown = step.before.world.isDown;
      return statusOf(step.before, settings, signedAt);
    });
    // A poll of a job that has ended may store nothing.
    if (pollOf(step.after, step) === null) await processOf(stage, step).end(line);
  }

  /** Lets a poll store its result, which ends it. */
  const store = (place: Place) => async (step: Step) => {
    await pass(await processOf(stage, step).goOn(lineOf(step), place));
    await settleDown();
  };

  return {
    async poll(step) {
      await claim(step, step.at[1] === 1);
      await answer(step);
    },
    claim: (step) => claim(step, false),
    answer,
    async relink(step) {
      const line = lineOf(step);
      await hold(line, await processOf(stage, step).goOn(line, 'relink'));
      if (pollOf(step.after, step) === null) await processOf(stage, step).end(line);
    },
    end: store('end'),
    endAgain: store('endAgain'),
    keepEnd: store('keepEnd'),
    async note(step) {
      const halt = await processOf(stage, step).goOnOrEnd(lineOf(step), 'note');
      if (halt) await pass(halt);
      await settleDown();
    },
    giveUp: store('giveUp'),
  };
}

const createLine = (): Line => ({ halt: null, release: null });

const pollOf = ({ processes }: State, { at: [index] }: Step): Poll | null => processes[index === 0 ? 0 : 1].poll;

/** The status of the job. Its message is the version of the result. */
export function statusOf({ world }: State, settings: Settings, signedAt: Date): JobStatus {
  const { result, isDown, isBroken } = world;
  if (result === 0) throw notFoundError();
  if (isDown || isBroken) throw connectionError();
  return createStatus(result, settings, signedAt);
}

/** The status with a result. A result has a code of its own. */
export function createStatus(result: number, { namesLink }: Settings, signedAt: Date): JobStatus {
  const linkId = namesLink && result > 1 ? refIds[links.own] : null;
  const named = { resultCode: String(result), partnerParams: { ...job, linkId } };
  const state = result > 1 ? 'succeeded' : 'pending';
  return {
    ...job,
    state,
    complete: result > 1,
    success: result > 1,
    message: String(result),
    result: named,
    history: [],
    signedAt,
  } as unknown as JobStatus;
}

type ErrorResponse = ConstructorParameters<typeof HostedNotFoundError>[1];

function notFoundError(): HostedNotFoundError {
  const response = { status: 404, serviceCode: null, retryAfterMs: null } as unknown as ErrorResponse;
  return new HostedNotFoundError('there is no such job', response, { operation: 'jobs.status', retryable: false });
}
