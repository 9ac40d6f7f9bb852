/**
 * The errors about callbacks.
 *
 * @module
 */

import { createVerifyError, type ReadingErrors } from '../call/response.js';
import {
  HostedPollTimeoutError,
  HostedResponseError,
  HostedSignatureError,
  HostedTimeoutError,
} from '../errors/client-errors.js';
import type { ErrorFacts } from '../errors/hosted-error.js';
import type { JobRef, PendingJob } from '../jobs/types.js';
import { assumedSettlingMs } from '../protocol/assumptions.js';

/** The facts that all errors about a received callback have. */
export const callbackFacts = {
  operation: null,
  task: 'receive a callback',
  outcome: 'answered',
} as const satisfies ErrorFacts;

const staleness =
  'it was signed too far in the past or in the future, by the clock of this machine; the limit is "maxHintAgeMs"';

/** Creates the errors about the content of a callback. */
export const callbackErrors: ReadingErrors = {
  createUnusable(reason, issues = []) {
    const why = reason === 'too_large' ? 'it is larger than "maxBytes"' : undefined;
    return new HostedResponseError(reason, issues, callbackFacts, null, why);
  },
  createUnverified(reason) {
    if (reason === 'signer threw') return createVerifyError(callbackFacts);
    return new HostedSignatureError(reason, callbackFacts, reason === 'stale' ? staleness : undefined);
  },
};

const retryableFacts = { ...callbackFacts, retryable: true } as const;

/** Creates the error for a body that is not read, because other bodies take all the memory that they may. */
export function createFullError(): HostedResponseError {
  const why = 'the callbacks that are being read take 64 MiB, and it has waited longest for its next byte';
  return new HostedResponseError('too_large', [], retryableFacts, null, why);
}

/** Creates the error for a callback whose signed time has too many jobs in hand. */
export function createLimitError(why = 'its signature has more jobs in hand than "maxJobsPerSignature" allows') {
  return new HostedSignatureError('mismatch', retryableFacts, `${why}; the callback has to be redelivered later`);
}

/** Creates the error for a callback that is not handled within ten seconds. */
export function createBusyError(why = 'its job has no turn within 10 seconds'): HostedTimeoutError {
  const limit = { phase: 'total', timeoutMs: 10_000 } as const;
  return new HostedTimeoutError(`${why}; the callback has to be redelivered later`, limit, retryableFacts);
}

/** Creates the error for code of the caller that does not respond within ten seconds. */
export function createStepError(of: 'replay guard' | 'signer'): HostedTimeoutError {
  const limit = { phase: 'attempt', timeoutMs: 10_000 } as const;
  return new HostedTimeoutError(`the ${of} did not respond within 10 seconds`, limit, retryableFacts);
}

/** Creates the error for a callback that is marked as final although its job stays pending. */
export function createPendingError({ userId, jobId }: JobRef, lastStatus: PendingJob): HostedPollTimeoutError {
  const wait = { job: { userId, jobId }, lastStatus, elapsedMs: assumedSettlingMs };
  const facts = { ...retryableFacts, operation: 'jobs.status', attempts: 2 } as const;
  return new HostedPollTimeoutError('it is marked as final, but the job is still pending', wait, facts);
}
