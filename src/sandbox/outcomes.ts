/**
 * The outcomes that an end user can choose, with their results.
 *
 * @module
 */

import type { ResultDraft } from '../testing/store.js';
import type { SandboxOutcome } from './types.js';

/**
 * A result that the service reports. A result with the property `success` completes the job, even if `success` is
 * false.
 */
export type OutcomeResult = ResultDraft & { readonly success?: boolean };

type Results = readonly OutcomeResult[];

/** The results of an outcome. */
export interface OutcomePlan {
  /** The name of the outcome on the link's page. */
  readonly title: string;
  /** The results, in the order in which they are reported. Those after "under review" are reported after the review. */
  readonly results: Results;
}

const approved: OutcomeResult = { code: '0810', text: 'Enroll User', type: 'SAIA', final: true, success: true };
const rejected: OutcomeResult = { code: '0811', text: 'Failed Enroll', type: 'SAIA', final: true, success: false };
const underReview: OutcomeResult = {
  code: '0814',
  text: 'Provisional Enroll - Under Review',
  type: 'SAIA',
  final: false,
};
const rejectedByReview: OutcomeResult = { ...rejected, code: '0816', text: 'Failed Enroll - Rejected After Review' };
const idRead: OutcomeResult = { code: '1012', text: 'ID Number Validated', type: 'ID Verification', final: true };
const idUnknown: OutcomeResult = { code: '1013', text: 'Invalid ID Number', type: 'ID Authority', final: true };

/** Every outcome. */
export const outcomes: Readonly<Record<SandboxOutcome, OutcomePlan>> = {
  approved: { title: 'Approved', results: [approved] },
  rejected: { title: 'Rejected', results: [rejected] },
  review_approved: { title: 'Approved after a review', results: [underReview, approved] },
  review_rejected: { title: 'Rejected after a review', results: [underReview, rejectedByReview] },
  id_verified: { title: 'Approved, and the ID was read', results: [idRead, approved] },
  id_not_found: { title: 'The ID is unknown', results: [idUnknown, rejected] },
  never: { title: 'No result', results: [] },
};

/** The results that are reported at once, and those that are reported after the review. */
export function splitResults(outcome: SandboxOutcome): readonly [now: Results, afterReview: Results] {
  const { results } = outcomes[outcome];
  const count = results.indexOf(underReview) + 1 || results.length;
  return [results.slice(0, count), results.slice(count)];
}

/** The results whose callbacks have pictures. */
const pictured = new Set([approved.code, rejected.code, idRead.code]);

export function hasPicture(resultCode: string): boolean {
  return pictured.has(resultCode);
}

export const outcomeNames = Object.keys(outcomes) as readonly SandboxOutcome[];

/** Whether a value is the name of an outcome. */
export function isOutcome(value: unknown): value is SandboxOutcome {
  return outcomeNames.includes(value as SandboxOutcome);
}
