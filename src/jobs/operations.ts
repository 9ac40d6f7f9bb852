/**
 * The operation "job status" (docs/protocol.md §4.5).
 *
 * @module
 */

import * as z from 'zod/mini';
import type { Operation } from '../call/operation.js';
import { routes } from '../protocol/routes.js';
import { looseInputObject } from '../validation/check.js';
import { flag, nonBlank, stringOf } from '../validation/input.js';
import { decodeStatus } from './decode.js';
import type { JobStatus } from './types.js';

const mustHaveJobId =
  'must be a string: a job gets its id when the end user starts it, and a callback brings both ids (event.userId and event.jobId)';

// Other properties are allowed: callers may pass any object with the ids of a job, such as a callback's event or a
// database row.
const jobQuery = looseInputObject(
  {
    userId: nonBlank,
    jobId: stringOf(/\S/, 'must not be blank', mustHaveJobId),
    imageLinks: z.optional(flag),
    history: z.optional(flag),
  },
  ({ input }) =>
    typeof input === 'string'
      ? 'must be one object with "userId" and "jobId", not the ids one by one'
      : 'must be an object with "userId" and "jobId"',
);

/** §4.5 */
export const jobStatus: Operation<z.output<typeof jobQuery>, JobStatus> = {
  name: 'jobs.status',
  route: routes['jobs.status'],
  request: jobQuery,
  encode({ userId, jobId, imageLinks, history }, { jobFlags }) {
    const yes = jobFlags === 'string' ? 'true' : true;
    const flags = { ...(imageLinks && { image_links: yes }), ...(history && { history: yes }) };
    return { body: { user_id: userId, job_id: jobId, ...flags } };
  },
  decode: decodeStatus,
};
