/**
 * Job status, described once (docs/protocol.md §4.5).
 *
 * @module
 */

import * as z from 'zod/mini';
import type { Operation } from '../call/operation.js';
import type { Issue } from '../errors/hosted-error.js';
import { assumedRepeatable, type Wire } from '../protocol/assumptions.js';
import { routes } from '../protocol/routes.js';
import { toBoolean, toCode, wireBoolean } from '../protocol/scalars.js';
import { flag, looseInputObject, text } from '../validation/input.js';
import { normaliseRecord } from './normalise.js';
import type { JobRef, JobStatus } from './types.js';
import { type WireJobStatus, wireJobStatus } from './wire.js';

// Whatever carries the ids of a job can be asked about: a job reference, a callback, a row of one's own.
const jobQuery = looseInputObject({
  userId: text,
  jobId: text,
  imageLinks: z.optional(flag),
  history: z.optional(flag),
});

/** §4.5 */
export const jobStatus: Operation<z.output<typeof jobQuery>, WireJobStatus, JobStatus> = {
  name: 'jobs.status',
  route: routes['jobs.status'],
  repeatable: assumedRepeatable['jobs.status'],
  signedResponse: 'required',
  request: jobQuery,
  encode: ({ userId, jobId, imageLinks, history }, wire) => ({
    body: {
      user_id: userId,
      job_id: jobId,
      ...(imageLinks && { image_links: asked(wire) }),
      ...(history && { history: asked(wire) }),
    },
  }),
  response: wireJobStatus,
  decode: (answer, { userId, jobId }, { wire, signedAt }) => {
    const issues = otherJob(answer, { userId, jobId });
    if (issues.length > 0) return { reason: 'mismatch', issues };
    const status = { userId, jobId, ...normaliseRecord(answer, wire.brand), signedAt };
    // §2.4: whatever else an answer says, a job without a final status is pending.
    if (toBoolean(answer.job_complete) !== true) {
      return { value: { state: 'pending', complete: false, success: false, ...status } };
    }
    const success = z.safeParse(wireBoolean, answer.job_success);
    if (!success.success) {
      const message = 'must be true or false, or their text, once the job is complete';
      return { reason: 'shape', issues: [{ path: 'job_success', message }] };
    }
    if (toBoolean(success.data) !== true) {
      return { value: { state: 'failed', complete: true, success: false, ...status } };
    }
    if (wire.namesJob && !namesJob(answer)) {
      const message = 'must be there once the job has succeeded, or in "result.PartnerParams"';
      return { reason: 'mismatch', issues: [{ path: 'job_id', message }] };
    }
    return { value: { state: 'succeeded', complete: true, success: true, ...status } };
  },
};

function asked(wire: Wire): boolean | string {
  return wire.jobFlags === 'string' ? 'true' : true;
}

// The signature does not cover the body: what a response says it is about is compared with what was
// asked. History entries do differ in honest responses, and are not.
function otherJob(answer: WireJobStatus, job: JobRef): readonly Issue[] {
  const params = partnerParamsIn(answer);
  const said = [
    ['user_id', answer.user_id, job.userId],
    ['job_id', answer.job_id, job.jobId],
    ['result.PartnerParams.user_id', params?.user_id, job.userId],
    ['result.PartnerParams.job_id', params?.job_id, job.jobId],
  ] as const;
  return said
    .filter(([, id, expected]) => ![null, expected].includes(toCode(id)))
    .map(([path]) => ({ path, message: 'must be that of the job that was asked for' }));
}

// A status that names no job could be any job's, and this is the one that opens doors. Those that failed
// may have next to nothing in them.
function namesJob(answer: WireJobStatus): boolean {
  return (toCode(answer.job_id) ?? toCode(partnerParamsIn(answer)?.job_id)) !== null;
}

function partnerParamsIn({ result }: WireJobStatus) {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return null;
  return Array.isArray(result.PartnerParams) ? null : result.PartnerParams;
}
