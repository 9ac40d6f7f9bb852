/**
 * `jobs status|wait`: shows the status of a job. Data that was read from the person's ID is shown only with `--history`
 * and `--json`.
 *
 * @module
 */

import type { JobStatus, WaitOptions } from '../../index.js';
import { resultFields } from '../../jobs/fields.js';
import { maxTimerMs } from '../../runtime/clock.js';
import { type Arguments, type Flags, integerFlag } from '../arguments.js';
import type { Command } from '../command.js';
import { type Context, createClient } from '../context.js';
import { factsOf, writeFacts, writeJsonLine, writeLine } from '../output.js';

const positionals = ['USER_ID', 'JOB_ID'];

const detailFlags: Flags = {
  'image-links': { about: 'also request the URLs of images' },
  history: {
    about: 'also request all results so far; with --json, the output includes the data that was read from the ID',
  },
};

const status: Command = {
  name: 'jobs status',
  about: "show a job's status",
  positionals,
  flags: detailFlags,
  async run(given, context) {
    const query = { ...readJob(given), ...readDetails(given) };
    write(given, context, await createClient(context).jobs.status(query, { signal: context.signal }));
  },
};

const wait: Command = {
  name: 'jobs wait',
  about: 'wait until a job is complete',
  positionals,
  flags: {
    ...detailFlags,
    deadline: integerFlag('the longest time to wait, in milliseconds; default 600000', {
      value: 'MS',
      min: 1,
      max: maxTimerMs,
    }),
  },
  async run(given, context) {
    const deadlineMs = given.number('deadline');
    const options: WaitOptions = {
      ...readDetails(given),
      ...(deadlineMs !== undefined && { deadlineMs }),
      signal: context.signal,
      onPoll: (poll) => showProgress(context, poll),
    };
    write(given, context, await createClient(context).jobs.waitForCompletion(readJob(given), options));
  },
};

function readJob({ positionals: [userId = '', jobId = ''] }: Arguments) {
  return { userId, jobId };
}

function readDetails(given: Arguments) {
  return {
    ...(given.isSet('image-links') && { imageLinks: true }),
    ...(given.isSet('history') && { history: true }),
  };
}

type Poll = Parameters<NonNullable<WaitOptions['onPoll']>>[0];

function showProgress({ stderr }: Context, { elapsedMs, nextDelayMs, status: seen, error }: Poll): void {
  if (!stderr.isTTY || nextDelayMs === null) return;
  const what = seen?.state ?? `no status (${error?.code ?? 'unknown'})`;
  const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`;
  writeLine(stderr, `${what} after ${seconds(elapsedMs)}, next poll in ${seconds(nextDelayMs)} …`);
}

function write(given: Arguments, context: Context, status: JobStatus): void {
  const asked = given.isSet('image-links') ? status : { ...status, imageLinks: null };
  const job = given.isSet('history') ? asked : withoutIdData(asked);
  if (given.isSet('json')) writeJsonLine(context, job);
  else
    writeFacts(context, {
      'User id': job.userId,
      'Job id': job.jobId,
      State: job.state,
      Code: job.code,
      ...factsOf(resultFields, job.result),
      Results: job.history?.map(({ resultCode }) => resultCode ?? '-').join(', '),
      'Selfie image': job.imageLinks?.selfieImage,
      Signed: job.signedAt,
    });
}

// The service may send what was not requested, and a result may have data from the ID, too. Only fields that this
// package knows are surely no such data, so `extra` is emptied.
function withoutIdData(job: JobStatus): JobStatus {
  const { result, imageLinks } = job;
  const params = result?.partnerParams ?? null;
  return {
    ...job,
    history: null,
    result: result && { ...result, partnerParams: params && { ...params, extra: {} }, extra: {} },
    imageLinks: imageLinks && { ...imageLinks, extra: {} },
  };
}

export const jobCommands: readonly Command[] = [status, wait];
