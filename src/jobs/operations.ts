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
import { flag, looseInputObject, nonBlank } from '../validation/input.js';
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
    const issues = findMismatches(response, { userId, jobId });
    if (issues.length > 0) return { reason: 'mismatch', issues };
    const known = { userId, jobId, brand: wire.brand, signedAt };
    // §2.4: a job without a final status is pending, even if the response has other signs of success.
    if (toBoolean(response.job_complete) !== true) {
      return { value: normaliseStatus(response, { verdict: pending, ...known }), reason: null };
    }
    const success = toBoolean(response.job_success);
    if (success === null) {
      const message = 'must be true or false, or "true" or "false", if the job is complete';
      return { reason: 'shape', issues: [{ path: 'job_success', message }] };
    }
    if (!success) return { value: normaliseStatus(response, { verdict: failed, ...known }), reason: null };
    if (wire.namesJob && !hasJobId(response)) {
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

// The signature does not cover the body, so the ids in a response are compared with the requested ids. The ids of
// history entries are not compared: even in genuine responses they may differ.
function findMismatches(response: WireJobStatus, { userId, jobId }: JobRef): readonly Issue[] {
  const params = partnerParamsIn(response);
  const issues: Issue[] = [];
  const compare = (path: string, id: string | number | null | undefined, expected: string) => {
    if (id === undefined || id === expected) return;
    const code = toCode(id);
    if (code !== null && code !== expected) issues.push({ path, message: 'must be the id of the requested job' });
  };
  compare('user_id', response.user_id, userId);
  compare('job_id', response.job_id, jobId);
  compare('result.PartnerParams.user_id', params?.user_id, userId);
  compare('result.PartnerParams.job_id', params?.job_id, jobId);
  return issues;
}

// Callers act on "succeeded", so this status must name its job: without an id, it could belong to any job. A failed
// status is not checked, because it may have very few fields.
function hasJobId(response: WireJobStatus): boolean {
  const paramsJobId = partnerParamsIn(response)?.job_id;
  return (toCode(response.job_id) ?? toCode(paramsJobId)) !== null;
}

function partnerParamsIn({ result }: WireJobStatus) {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return null;
  return Array.isArray(result.PartnerParams) ? null : result.PartnerParams;
}
