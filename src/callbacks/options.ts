/**
 * Checks the options for receiving callbacks, and fills in their defaults.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedConfigError, HostedValidationError } from '../errors/errors.js';
import { assumedMaxCallbackAgeMs, assumedMaxHintAgeMs } from '../protocol/assumptions.js';
import { hasMethods, withoutUndefined } from '../runtime/untrusted-objects.js';
import { check, inputObject } from '../validation/check.js';
import { duration, durationOr, flag, integer, maxBodyLimit } from '../validation/input.js';
import type { HandlerOptions, ReceiveOptions, ReplayGuard } from './types.js';

/** The settings that `receive` and handlers share. */
export interface ReceiveSettings {
  /** How far a callback's timestamp may be in the past or future, in ms; false accepts any age. */
  readonly maxAgeMs: number | false;
  readonly maxBytes: number;
  /** Whether job status confirms callbacks. */
  readonly confirms: boolean;
  readonly leaseMs: number;
  /** If undefined, the client's own memory is the guard. */
  readonly replayGuard: ReplayGuard | undefined;
}

export interface HandlerSettings extends ReceiveSettings {
  readonly bodyTimeoutMs: number;
  readonly maxConfirmations: number;
  /** If undefined, the limit depends on whether the signed time is written in seconds or milliseconds. */
  readonly maxJobsPerSignature: number | undefined;
  readonly onError: HandlerOptions['onError'];
  /** Called with an event and, if `confirms` is true, with the status of the job. */
  readonly onEvent: (...given: readonly unknown[]) => unknown;
}

/** How large a callback may be, in bytes. */
export const defaultMaxBytes = 8 * 1024 * 1024;

/** Options without a default are own properties, too, so that none is read from a polluted `Object.prototype`. */
const defaults = {
  maxBytes: defaultMaxBytes,
  leaseMs: 300_000,
  bodyTimeoutMs: 10_000,
  maxConfirmations: 10,
  replayGuard: undefined,
  maxJobsPerSignature: undefined,
  onError: undefined,
};

// One schema for `receive` and handlers: a caller may pass the same object to both.
const receiveOptions = inputObject({
  maxAgeMs: z.optional(durationOr(false, 'must be an integer of milliseconds, or false')),
  maxBytes: z.optional(integer(1, maxBodyLimit)),
  replayGuard: z.optional(
    z.custom<ReplayGuard>(
      (value) => hasMethods(value, 'begin', 'commit', 'forget'),
      'must have begin(), commit() and forget()',
    ),
  ),
  // The options below are for handlers only.
  bodyTimeoutMs: z.optional(duration),
  leaseMs: z.optional(duration),
  maxConfirmations: z.optional(integer(1)),
  maxJobsPerSignature: z.optional(integer(1)),
  maxHintAgeMs: z.optional(duration),
  confirm: z.optional(flag),
  onError: z.optional(z.custom<NonNullable<HandlerOptions['onError']>>(isFunction, 'must be a function')),
  onEvent: z.optional(z.custom<unknown>()),
});

/**
 * Checks the options of `receive`, which never confirms a callback, even if it gets the options of a handler.
 *
 * @throws {HostedValidationError} with every problem.
 */
export function readReceiveOptions(options: ReceiveOptions | undefined): ReceiveSettings {
  const { maxAgeMs = assumedMaxCallbackAgeMs, maxBytes = defaultMaxBytes, replayGuard } = checkGiven(options);
  return { maxAgeMs, maxBytes, confirms: false, leaseMs: defaults.leaseMs, replayGuard };
}

/**
 * Checks the options of a handler, and fills in their defaults.
 *
 * @throws {HostedValidationError} with every problem, except a wrong `onEvent`.
 * @throws {HostedConfigError} when `onEvent` is not a function.
 */
export function readHandlerOptions(options: HandlerOptions | undefined): HandlerSettings {
  const { confirm: confirms = true, onEvent, maxAgeMs, maxHintAgeMs, ...others } = checkGiven(options);
  if (!isFunction(onEvent)) {
    throw new HostedConfigError([{ path: 'onEvent', message: 'must be a function' }], { task: 'receive a callback' });
  }
  // A callback that job status confirms may be older.
  const maxAge = confirms ? (maxHintAgeMs ?? assumedMaxHintAgeMs) : (maxAgeMs ?? assumedMaxCallbackAgeMs);
  return { ...defaults, ...withoutUndefined(others), maxAgeMs: maxAge, confirms, onEvent };
}

/** Inherits nothing: a polluted prototype sets no option. */
const noOptions: z.output<typeof receiveOptions> = Object.freeze(Object.create(null));

function checkGiven(options: object | undefined): z.output<typeof receiveOptions> {
  if (options === undefined || options === null) return noOptions;
  const { data, issues } = check(receiveOptions, options);
  if (!data) throw new HostedValidationError(issues, { task: 'receive a callback' });
  return data;
}

function isFunction(value: unknown): value is HandlerSettings['onEvent'] {
  return typeof value === 'function';
}
