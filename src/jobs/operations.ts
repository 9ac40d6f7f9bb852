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
import { toCode } from '../protocol/scalars.js';
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
  decode: (response, { userId, jobId }, context) => {
    const issues = findMismatches(response, { userId, jobId });
    return issues.length > 0 ? { reason: 'mismatch', issues } : normaliseStatus(response, { userId, jobId }, context);
  },
};

function encodeFlag(wire: Wire): boolean | string {
  return wire.jobFlags === 'string' ? 'true' : true;
}

// The signature does not cover the body, so the ids in a response are compared with the requested ids. The ids of
// history entries are not compared: even in genuine responses they may differ.
function findMismatches(response: WireJobStatus, { userId, jobId }: JobRef): readonly Issue[] {
  const params = partnerParamsIn(response);
  const issues: Issue[] = [];
  const compare = (path: string, id: string | number | null | undefined, expected: string) => {
    if (id === expected) return;
    const code = toCode(id);
    if (code !== null && code !== expected) issues.push({ path, message: 'must be the id of the requested job' });
  };
  compare('user_id', response.user_id, userId);
  compare('job_id', response.job_id, jobId);
  compare('result.PartnerParams.user_id', params?.user_id, userId);
  compare('result.PartnerParams.job_id', params?.job_id, jobId);
  return issues;
}

function partnerParamsIn({ result }: WireJobStatus) {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return null;
  return Array.isArray(result.PartnerParams) ? null : result.PartnerParams;
}
