/**
 * Checks the options for receiving callbacks, and fills in their defaults.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedConfigError, HostedValidationError } from '../errors/errors.js';
import { assumedMaxCallbackAgeMs, assumedMaxHintAgeMs } from '../protocol/assumptions.js';
import { hasMethods } from '../runtime/untrusted-objects.js';
import { check, inputObject } from '../validation/check.js';
import { choice, duration, flag, integer, maxBodyLimit } from '../validation/input.js';
import type { HandlerOptions, ReceiveOptions, ReplayGuard } from './types.js';

/** The settings that `receive` and handlers share. */
export interface ReceiveSettings {
  /** How far a callback's timestamp may be in the past or future, in ms; false accepts any age. */
  readonly maxAgeMs: number | false;
  readonly maxBytes: number;
  /** Whether job status confirms callbacks. */
  readonly confirms: boolean;
  readonly leaseMs: number;
  readonly replayGuard: ReplayGuard;
}

export interface HandlerSettings extends ReceiveSettings {
  readonly bodyTimeoutMs: number;
  readonly maxConfirmations: number;
  /** If undefined, the limit depends on whether the signed time is written in seconds or milliseconds. */
  readonly maxJobsPerSignature: number | undefined;
  readonly onError: Listener | undefined;
  /** Called with an event and, if `confirms` is true, with the status of the job. */
  readonly onEvent: Listener;
}

type Listener = (...given: readonly unknown[]) => unknown;

/** How large a callback may be, in bytes. */
export const defaultMaxBytes = 8 * 1024 * 1024;
const defaultLeaseMs = 300_000;
const defaultBodyTimeoutMs = 10_000;
const defaultMaxConfirmations = 10;

// One schema for `receive` and handlers: a caller may pass the same object to both.
const receiveOptions = inputObject({
  maxAgeMs: z.optional(z.union([choice([false]), duration], 'must be an integer of milliseconds, or false')),
  maxBytes: z.optional(integer(1, maxBodyLimit)),
  replayGuard: z.optional(z.custom<ReplayGuard>(isReplayGuard, 'must have begin(), commit() and forget()')),
  // The options below are for handlers only.
  bodyTimeoutMs: z.optional(duration),
  leaseMs: z.optional(duration),
  maxConfirmations: z.optional(integer(1)),
  maxJobsPerSignature: z.optional(integer(1)),
  maxHintAgeMs: z.optional(duration),
  confirm: z.optional(flag),
  onError: z.optional(z.custom<Listener>(isFunction, 'must be a function')),
  onEvent: z.optional(z.unknown()),
});

/**
 * Checks the options of `receive`. `receive` never confirms a callback, even if its options are an object that was made
 * for a handler.
 *
 * @throws {HostedValidationError} with every problem.
 */
export function readReceiveOptions(options: ReceiveOptions | undefined, memory: ReplayGuard): ReceiveSettings {
  const {
    maxAgeMs = assumedMaxCallbackAgeMs,
    maxBytes = defaultMaxBytes,
    replayGuard = memory,
  } = checkOptions(options);
  return { maxAgeMs, maxBytes, confirms: false, leaseMs: defaultLeaseMs, replayGuard };
}

/**
 * Checks the options of a handler, and fills in their defaults. The default replay guard is the memory of a client that
 * may not have started yet.
 *
 * @throws {HostedValidationError} with every problem, except a wrong `onEvent`.
 * @throws {HostedConfigError} when `onEvent` is not a function.
 */
export function readHandlerOptions(
  options: HandlerOptions | undefined,
): Omit<HandlerSettings, 'replayGuard'> & { readonly replayGuard: ReplayGuard | undefined } {
  const given = checkOptions(options);
  const { onEvent, confirm = true } = given;
  if (!isFunction(onEvent)) {
    throw new HostedConfigError([{ path: 'onEvent', message: 'must be a function' }], { task: 'receive a callback' });
  }
  const { maxAgeMs = assumedMaxCallbackAgeMs, maxHintAgeMs = assumedMaxHintAgeMs } = given;
  return {
    // A callback that job status confirms may be older.
    maxAgeMs: confirm ? maxHintAgeMs : maxAgeMs,
    maxBytes: given.maxBytes ?? defaultMaxBytes,
    confirms: confirm,
    leaseMs: given.leaseMs ?? defaultLeaseMs,
    replayGuard: given.replayGuard,
    bodyTimeoutMs: given.bodyTimeoutMs ?? defaultBodyTimeoutMs,
    maxConfirmations: given.maxConfirmations ?? defaultMaxConfirmations,
    maxJobsPerSignature: given.maxJobsPerSignature,
    onError: given.onError,
    onEvent,
  };
}

/** Inherits nothing: a polluted prototype sets no option. */
const noOptions: z.output<typeof receiveOptions> = Object.freeze(Object.create(null));

function checkOptions(options: object | undefined): z.output<typeof receiveOptions> {
  if (options === undefined || options === null) return noOptions;
  const { data, issues } = check(receiveOptions, options);
  if (!data) throw new HostedValidationError(issues, { task: 'receive a callback' });
  return data;
}

function isFunction(value: unknown): value is Listener {
  return typeof value === 'function';
}

function isReplayGuard(value: unknown): boolean {
  return hasMethods(value, 'begin', 'commit', 'forget');
}
