/**
 * The fields of a job's status, of a result and of the person's ID (docs/protocol.md §2.4).
 *
 * @module
 */

import type { Field } from '../protocol/fields.js';
import type { HistoryEntry, JobResult, JobStatus, PartnerParams } from './types.js';

/** The fields of a status. Whether it must have the two flags depends on their values: `decode.ts` decides it. */
export const statusFields = {
  userId: { wire: 'user_id', kind: 'code', isStrict: true },
  jobId: { wire: 'job_id', kind: 'code', isStrict: true },
  complete: { wire: 'job_complete', kind: 'flag' },
  success: { wire: 'job_success', kind: 'flag' },
  code: { wire: 'code', kind: 'code', isStrict: true },
  result: { wire: 'result', kind: 'record' },
  imageLinks: { wire: 'image_links', kind: 'record' },
  history: { wire: 'history', kind: 'records' },
} as const satisfies Record<Exclude<keyof JobStatus, 'state' | 'message' | 'signedAt'>, Field>;

/** The fields of a result. The name of `HostedJobID` has the brand word. */
export const resultFields = {
  resultCode: { wire: 'ResultCode', kind: 'code', label: 'Result code' },
  resultText: { wire: 'ResultText', kind: 'text', label: 'Result' },
  resultType: { wire: 'ResultType', kind: 'text' },
  hostedJobId: { wire: 'HostedJobID', kind: 'code' },
  jsonVersion: { wire: 'JSONVersion', kind: 'version' },
  isFinal: { wire: 'IsFinalResult', kind: 'flag' },
  isMachine: { wire: 'IsMachineResult', kind: 'flag' },
  confidence: { wire: 'ConfidenceValue', kind: 'number' },
  actions: { wire: 'Actions', kind: 'strings' },
  partnerParams: { wire: 'PartnerParams', kind: 'record', isStrict: true },
} as const satisfies Record<Exclude<keyof JobResult, 'extra'>, Field>;

/** What was read from the person's ID, in an entry of a history. */
export const identityFields = {
  fullName: { wire: 'FullName', kind: 'text' },
  dateOfBirth: { wire: 'DOB', kind: 'text' },
  idNumber: { wire: 'IDNumber', kind: 'text' },
  idType: { wire: 'IDType', kind: 'text' },
  country: { wire: 'Country', kind: 'text' },
  expirationDate: { wire: 'ExpirationDate', kind: 'text' },
} as const satisfies Record<keyof NonNullable<HistoryEntry['identity']>, Field>;

/** The fields of `PartnerParams`. */
export const partnerParamsFields = {
  userId: { wire: 'user_id', kind: 'code', isStrict: true },
  jobId: { wire: 'job_id', kind: 'code', isStrict: true },
  jobType: { wire: 'job_type', kind: 'code' },
  linkId: { wire: 'link_id', kind: 'code', isStrict: true },
} as const satisfies Record<Exclude<keyof PartnerParams, 'extra'>, Field>;

/** The fields of `image_links`. */
export const imageLinksFields = {
  selfieImage: { wire: 'selfie_image', kind: 'url' },
} as const satisfies Record<Exclude<keyof NonNullable<JobStatus['imageLinks']>, 'expiresAt' | 'extra'>, Field>;
