/**
 * The operation "job status" (docs/protocol.md §4.5).
 *
 * @module
 */

import * as z from 'zod/mini';
import type { Operation } from '../call/operation.js';
import type { Issue } from '../errors/hosted-error.js';
import { assumedRepeatable, type Wire } from '../protocol/assumptions.js';
import { routes } from '../protocol/routes.js';
import { toBoolean, toCode } from '../protocol/scalars.js';
import { looseInputObject } from '../validation/check.js';
import { flag, nonBlank } from '../validation/input.js';
import { normaliseStatus } from './normalise.js';
import type { JobRef, JobStatus } from './types.js';
import { type WireJobStatus, wireJobStatus } from './wire.js';

// Other properties are allowed: callers may pass any object with the ids of a job, such as a callback's event or a
// database row.
const jobQuery = looseInputObject(
  {
    userId: nonBlank,
    jobId: nonBlank,
    imageLinks: z.optional(flag),
    history: z.optional(flag),
  },
  'must be an object with "userId" and "jobId"',
);

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
      ...(imageLinks && { image_links: encodeFlag(wire) }),
      ...(history && { history: encodeFlag(wire) }),
    },
  }),
  response: wireJobStatus,
  decode: (response, { userId, jobId }, { wire, signedAt }) => {
    const params = partnerParamsIn(response);
    const issues = findMismatches(response, params, { userId, jobId });
    if (issues.length > 0) return { reason: 'mismatch', issues };
    const isComplete = toBoolean(response.job_complete);
    const success = toBoolean(response.job_success);
    const foundJobId = toCode(response.job_id) ?? toCode(params?.job_id);
    const known = { userId, jobId, brand: wire.brand, signedAt };
    // §2.4: a job without a final status is pending, even if the response has other signs of success.
    if (!isComplete) return { value: normaliseStatus(response, { verdict: pending, ...known }), reason: null };
    if (success === null) {
      const message = 'must be true or false, or "true" or "false", if the job is complete';
      return { reason: 'shape', issues: [{ path: 'job_success', message }] };
    }
    if (!success) return { value: normaliseStatus(response, { verdict: failed, ...known }), reason: null };
    // Callers act on "succeeded", so this status must name its job: without an id, it could belong to any job. A failed
    // status is not checked, because it may have very few fields.
    if (wire.namesJob && foundJobId === null) {
      const message = 'must be there, or in "result.PartnerParams", if the job has succeeded';
      return { reason: 'mismatch', issues: [{ path: 'job_id', message }] };
    }
    return { value: normaliseStatus(response, { verdict: succeeded, ...known }), reason: null };
  },
};

const pending = { state: 'pending', complete: false, success: false } as const;
const failed = { state: 'failed', complete: true, success: false } as const;
const succeeded = { state: 'succeeded', complete: true, success: true } as const;

function encodeFlag(wire: Wire): boolean | string {
  return wire.jobFlags === 'string' ? 'true' : true;
}

function partnerParamsIn({ result }: WireJobStatus) {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return null;
  return Array.isArray(result.PartnerParams) ? null : result.PartnerParams;
}

// The signature does not cover the body, so the ids in a response are compared with the requested ids. The ids of
// history entries are not compared: even in genuine responses they may differ.
function findMismatches(
  response: WireJobStatus,
  params: ReturnType<typeof partnerParamsIn>,
  { userId, jobId }: JobRef,
): readonly Issue[] {
  const issues: Issue[] = [];
  const compare = (path: string, id: string | number | null | undefined, expected: string) => {
    if (id === expected || [null, expected].includes(toCode(id))) return;
    issues.push({ path, message: 'must be the id of the requested job' });
  };
  compare('user_id', response.user_id, userId);
  compare('job_id', response.job_id, jobId);
  compare('result.PartnerParams.user_id', params?.user_id, userId);
  compare('result.PartnerParams.job_id', params?.job_id, jobId);
  return issues;
}
