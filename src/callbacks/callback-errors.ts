/**
 * The errors about callbacks.
 *
 * @module
 */

import { createVerifyError, type ReadingErrors } from '../call/response.js';
import { HostedResponseError, HostedSignatureError } from '../errors/errors.js';
import type { ErrorFacts } from '../errors/hosted-error.js';

/** The facts that all errors about a received callback have. */
export const callbackFacts = {
  operation: null,
  task: 'receive a callback',
  outcome: 'answered',
} as const satisfies ErrorFacts;

const staleness =
  'it was signed too far in the past or in the future; the limit is "maxAgeMs", or "maxHintAgeMs" in a handler that confirms';

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

/**
 * A property of what `onEvent` of a tracker throws: the error because of which the callback was not stored. A symbol of
 * all realms, because a tracker may come from another copy of this package than its client.
 */
export const notStored = Symbol.for('hosted-client.not-stored');

/** Creates the error for a callback that names one job more than its signed time may name. */
export function createJobLimitError(): HostedSignatureError {
  return createBusyError('its signature was used for too many different jobs');
}

/** Creates the error for a callback that is not handled now, but can be handled when it is redelivered. */
export function createBusyError(why = 'another delivery of the same callback is being handled'): HostedSignatureError {
  const facts = { ...callbackFacts, retryable: true };
  return new HostedSignatureError('replayed', facts, `${why}; the callback has to be redelivered later`);
}
