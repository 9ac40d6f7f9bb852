/**
 * Checks the input of a call, and signs its requests. The input is checked once. Each attempt then has a signature of
 * its own. `transport.ts` writes the request.
 *
 * @module
 */

import { HostedConfigError, HostedValidationError } from '../errors/errors.js';
import { HostedError, type Issue } from '../errors/hosted-error.js';
import type { CallOptions } from '../options.js';
import type { Wire } from '../protocol/assumptions.js';
import { timeOf } from '../signing/verify.js';
import { check, inputObject } from '../validation/check.js';
import { callOptions } from '../validation/input.js';
import type { Attempt, RunningCall } from './attempt.js';
import type { Operation } from './operation.js';
import { correctTime, rememberSent, writeTimestamp } from './signing-times.js';

const checkedOptions = inputObject(callOptions);
const noOptions = check(checkedOptions, {});

/**
 * Checks the input and the options of a call, and copies them. A later change by the caller has no effect.
 *
 * @throws {HostedValidationError} with every problem of the input and the options.
 */
export function checkInput<Input>(
  operation: Operation<Input, unknown>,
  given: { readonly input: unknown; readonly options: unknown; readonly wire: Wire },
): Pick<RunningCall<Input>, 'input' | 'encoded' | 'options'> {
  const { wire } = given;
  const input = check(operation.request, given.input);
  const options = given.options === undefined ? noOptions : check(checkedOptions, given.options);
  const fail = (issues: readonly Issue[]) => new HostedValidationError(issues, { operation: operation.name });
  if (input.data === undefined || options.data === undefined) {
    throw fail([...input.issues, ...nameOptions(options.issues)]);
  }
  const encoded = operation.encode(input.data, wire);
  // The paths of `links.get` (§4.3) and `links.list` (§4.4) have the same shape. So `links.get` with the list marker as
  // its link id would list all links.
  if (encoded.linkId === wire.listMarker) throw fail([{ path: 'refId', message: isMarker }]);
  return { input: input.data, encoded, options: options.data as CallOptions };
}

/** Gives the path `options` to each issue without a path. The path is missing if the options are not an object. */
function nameOptions(issues: readonly Issue[]): readonly Issue[] {
  return issues.map(({ path, message }) => ({ path: path || 'options', message }));
}

const isMarker = 'must not be the value of the option "wire.listMarker"';

/** The signature of a request, and the timestamp that it covers. */
export interface RequestSignature {
  /** The timestamp in the form that is sent: with exactly the characters that were signed. */
  readonly timestamp: string | number;
  readonly signature: string;
}

/**
 * Signs the request of an attempt, and remembers the signature. Each attempt is signed for a time of its own. Returns a
 * promise only if the signer returns a promise.
 *
 * @throws {HostedConfigError} when the signer throws, or does not return a non-empty string.
 */
export function signRequest(attempt: Attempt): RequestSignature | Promise<RequestSignature> {
  const { operation, sent, shared } = attempt.call;
  const time = chooseTime(attempt);
  const timestamp = writeTimestamp(time, operation.route.host, shared.settings.wire);
  const finish = (signature: string) => {
    // The time is read from the timestamp, as it will be from a response that has the same one.
    const signedFor = timeOf(timestamp.signed)?.getTime() ?? time;
    rememberSent(sent, signature, { signedFor, now: attempt.begunAt });
    return { timestamp: timestamp.sent, signature };
  };
  const signature = sign(attempt, timestamp.signed);
  return typeof signature === 'string' ? finish(signature) : signature.then(finish);
}

function sign(attempt: Attempt, timestamp: string): string | Promise<string> {
  const { partnerId, signer } = attempt.call.shared.settings;
  const assertSignature = (signature: unknown): string => {
    if (typeof signature === 'string' && signature !== '') return signature;
    throw createSignerError();
  };
  // An error of the caller's signer may contain a key, so it is not passed on, unless it is an error of this package.
  const fail = (error: unknown): never => {
    throw error instanceof HostedError ? error : createSignerError();
  };
  try {
    const signature: unknown = signer.sign({ partnerId, timestamp });
    if (typeof signature === 'string') return assertSignature(signature);
    return Promise.resolve(signature).then(assertSignature).catch(fail);
  } catch (error) {
    return fail(error);
  }
}

function chooseTime(attempt: Attempt): number {
  const { begunAt: now } = attempt;
  const { operation, part, shared } = attempt.call;
  const times = shared.signingTimes[operation.route.host];
  const isPoll = part !== undefined && part.sent !== null;
  const last = attempt.history.at(-1);
  const collided = last?.retriedFor === 'collision' ? last.signedFor : null;
  attempt.signedFor = collided ? times.nextAfterCollision(collided, now, isPoll) : times.next(now, isPoll);
  return correctTime(attempt.signedFor.time, attempt.offsetMs, now);
}

// `retry.ts` adds the operation and the outcome to this error.
function createSignerError(): HostedConfigError {
  return new HostedConfigError(
    [{ path: 'signer', message: 'must return a non-empty string from sign(), but did not' }],
    {},
  );
}
