/**
 * Checks the options for receiving callbacks, and fills in their defaults.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedConfigError, HostedValidationError } from '../errors/client-errors.js';
import { assumedMaxHintAgeMs } from '../protocol/assumptions.js';
import { hasMethods, withoutUndefined } from '../runtime/untrusted-objects.js';
import { check, inputObject, looseInputObject } from '../validation/check.js';
import { duration, functionOf, integer, missing, nonBlank, validDate } from '../validation/input.js';
import { maxBytesInHand } from './intake.js';
import type { CallbackHint, HandlerOptions, ReceiveOptions, ReplayGuard } from './types.js';

/** The settings that `receive` and handlers share. */
export type ReceiveSettings = Readonly<Required<ReceiveOptions>>;

/**
 * The settings of a handler. Without `maxJobsPerSignature`, the limit depends on whether the signed time is written in
 * seconds or milliseconds. Without `replayGuard`, the client's own memory is the guard.
 */
export type HandlerSettings = ReturnType<typeof readHandlerOptions>;

/**
 * The option with which a tracker receives callbacks by a handler of its client. A symbol of all realms, because a tracker
 * may come from another copy of this package than its client.
 */
export const storeHint = Symbol.for('hosted-client.store-hint');

/** How large a callback may be, in bytes, if no option says otherwise. */
export const defaultMaxBytes = 2 * 1024 * 1024;

const receiveDefaults: ReceiveSettings = { maxHintAgeMs: assumedMaxHintAgeMs, maxBytes: defaultMaxBytes };

const handlerDefaults = { ...receiveDefaults, leaseMs: 300_000, bodyTimeoutMs: 10_000, maxConfirmations: 10 };

const receiveShape = {
  maxHintAgeMs: z.optional(duration),
  maxBytes: z.optional(integer(1, maxBytesInHand)),
  maxAgeMs: gone('use "maxHintAgeMs"'),
};

const receiveOptions = inputObject({
  ...receiveShape,
  replayGuard: gone('receive() keeps nothing: use callbacks.handler()'),
});

const handlerOptions = inputObject(
  {
    ...receiveShape,
    confirm: gone('a handler always confirms: use callbacks.receive() for what is not confirmed'),
    replayGuard: z.optional(
      z.custom<ReplayGuard>(
        (value) => hasMethods(value, 'begin', 'commit', 'forget'),
        'must have begin(), commit() and forget()',
      ),
    ),
    bodyTimeoutMs: z.optional(duration),
    leaseMs: z.optional(duration),
    maxConfirmations: z.optional(integer(1)),
    maxJobsPerSignature: z.optional(integer(1)),
    onError: z.optional(functionOf<NonNullable<HandlerOptions['onError']>>()),
    onEvent: z.optional(z.custom<unknown>()),
  },
  'must be an object: { onEvent: (event, status) => { … } }',
);

/** An option that does not exist any more. */
function gone(instead: string) {
  return missing(`is not an option any more: ${instead}`);
}

/**
 * Checks the options of `receive`.
 *
 * @throws {HostedValidationError} with every problem.
 */
export function readReceiveOptions(options: ReceiveOptions | undefined): ReceiveSettings {
  return { ...receiveDefaults, ...withoutUndefined(checkGiven(receiveOptions, options ?? {})) };
}

const hintInput = looseInputObject(
  {
    userId: nonBlank,
    jobId: nonBlank,
    signedAt: validDate('must be a date: pass what receive() returned'),
  },
  () => 'must be what receive() returned',
);

/**
 * Checks what a caller passes to `confirm`.
 *
 * @throws {HostedValidationError} with every problem.
 */
export function checkHint(hint: unknown): Pick<CallbackHint, 'userId' | 'jobId' | 'signedAt'> {
  return checkGiven(hintInput, hint, 'confirm a callback');
}

/**
 * Checks the options of a handler, and fills in their defaults.
 *
 * @throws {HostedValidationError} with every problem, except a wrong `onEvent`.
 * @throws {HostedConfigError} when `onEvent` is not a function.
 */
export function readHandlerOptions(options: HandlerOptions) {
  const { onEvent, ...others } = checkGiven(handlerOptions, options ?? {});
  const store: unknown = Object.hasOwn(Object(options), storeHint) ? Object(options)[storeHint] : undefined;
  if (typeof onEvent !== 'function' && typeof store !== 'function') {
    throw new HostedConfigError([{ path: 'onEvent', message: 'must be a function' }], { task: 'receive a callback' });
  }
  return {
    // Options that were not given are own properties, too, so that none is read from a polluted `Object.prototype`.
    ...others,
    ...handlerDefaults,
    ...withoutUndefined(others),
    onEvent: onEvent as HandlerOptions['onEvent'],
    /**
     * Stores a hint in place of confirming it. If it rejects, the callback has to be redelivered. Undefined but in the
     * handler of a tracker.
     */
    storeHint: store as ((hint: CallbackHint) => Promise<void>) | undefined,
  };
}

function checkGiven<T extends object>(schema: z.ZodMiniType<T>, given: unknown, task = 'receive a callback'): T {
  const { data, issues } = check(schema, given);
  if (!data) throw new HostedValidationError(issues, { task });
  return data;
}
