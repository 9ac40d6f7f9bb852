/**
 * The shape of a job status response, checked field by field (docs/protocol.md §2.4, §4.5). Unknown fields are kept.
 * One of them is `${Brand}JobID`: the start of this name depends on the option `wire.brand`. `normalise.ts` reads this
 * field.
 *
 * @module
 */

import * as z from 'zod/mini';
import { assumedMaxEntries } from '../protocol/assumptions.js';
import { wireAnything, wireBoolean, wireCode, wireEmptyList, wireString, wireVersion } from '../protocol/scalars.js';
import { list, oneOf, record } from '../validation/structure.js';

export const partnerParamsFields = { user_id: wireCode, job_id: wireCode, job_type: wireCode, link_id: wireCode };

/** The fields that the partner sent, as the service returns them. */
export const wirePartnerParams = record(partnerParamsFields);

/**
 * The fields of {@link wireResult}. An ID number must be a string: if it was sent as a number, it may have lost digits.
 */
export const resultFields = {
  ResultCode: wireCode,
  ResultText: wireString,
  ResultType: wireString,
  JSONVersion: wireVersion,
  IsFinalResult: z.nullish(wireBoolean),
  IsMachineResult: z.nullish(wireBoolean),
  ConfidenceValue: wireAnything,
  Actions: objectOr(record({})),
  PartnerParams: objectOr(wirePartnerParams),
  IDNumber: wireString,
  SecondaryIDNumber: wireString,
};

export const wireResult = record(resultFields);

/** One result that was posted to the callback URL. */
export const wireHistoryEntry = record({
  ...resultFields,
  FullName: wireString,
  DOB: wireString,
  IDType: wireString,
  Country: wireString,
  ExpirationDate: wireString,
});

const wireHistory = list(wireHistoryEntry, { message: 'must be a list of results', max: assumedMaxEntries.results });

/** The response to a job status request. Its signature is not part of this shape (see `signing/verify.ts`). */
export const wireJobStatus = record({
  user_id: wireCode,
  job_id: wireCode,
  job_complete: wireBoolean,
  job_success: wireAnything,
  code: wireCode,
  result: z.nullish(
    oneOf({ string: z.string(), record: wireResult, list: wireEmptyList }, 'must be an object or a string'),
  ),
  history: z.nullish(oneOf({ list: wireHistory, record: wireHistoryEntry }, 'must be a list of results')),
  image_links: objectOr(record({ selfie_image: wireAnything })),
});

function objectOr<T>(schema: z.ZodMiniType<T>) {
  return z.nullish(oneOf({ record: schema, list: wireEmptyList }, 'must be an object'));
}

export type WirePartnerParams = z.infer<typeof wirePartnerParams>;
export type WireResult = z.infer<typeof wireResult>;
export type WireHistoryEntry = z.infer<typeof wireHistoryEntry>;
export type WireJobStatus = z.infer<typeof wireJobStatus>;
