/**
 * What travels when job status is asked for and answered, checked member by member
 * (docs/protocol.md §2.4, §4.5). Unknown members pass; so do the brand's own, which are read by
 * name in `normalise.ts`.
 *
 * @module
 */

import * as z from 'zod/mini';
import { wireAnything, wireBoolean, wireCode, wireEmptyList, wireMembers, wireText, wireVersion } from '../scalars.js';

/** What the service sends back of what the partner sent along. */
export const wirePartnerParams = z.looseObject(
  { user_id: wireCode, job_id: wireCode, job_type: wireCode, link_id: wireCode },
  'must be an object',
);

// An ID number written as a number has lost digits: it is refused.
const resultMembers = {
  ResultCode: wireCode,
  ResultText: wireText,
  ResultType: wireText,
  JSONVersion: wireVersion,
  IsFinalResult: z.nullish(wireBoolean),
  IsMachineResult: z.nullish(wireBoolean),
  ConfidenceValue: wireAnything,
  Actions: wireMembers,
  PartnerParams: z.nullish(z.union([wirePartnerParams, wireEmptyList], 'must be an object')),
  IDNumber: wireText,
  SecondaryIDNumber: wireText,
};

/** One result. */
export const wireResult = z.looseObject(resultMembers, 'must be an object');

/** One result as it was sent to the callback. */
export const wireHistoryEntry = z.looseObject(
  {
    ...resultMembers,
    FullName: wireText,
    DOB: wireText,
    IDType: wireText,
    Country: wireText,
    ExpirationDate: wireText,
  },
  'must be an object',
);

/** The answer to job status, its signature aside (`signing/response.ts`). */
export const wireJobStatus = z.looseObject({
  user_id: wireCode,
  job_id: wireCode,
  job_complete: wireBoolean,
  job_success: wireAnything,
  code: wireCode,
  result: z.nullish(z.union([z.string(), wireResult, wireEmptyList], 'must be a result or a text')),
  history: z.nullish(z.union([z.array(wireHistoryEntry), wireHistoryEntry], 'must be a list of results')),
  image_links: wireMembers,
});

export type WirePartnerParams = z.infer<typeof wirePartnerParams>;
export type WireResult = z.infer<typeof wireResult>;
export type WireHistoryEntry = z.infer<typeof wireHistoryEntry>;
export type WireJobStatus = z.infer<typeof wireJobStatus>;
