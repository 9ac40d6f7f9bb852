/**
 * Checks the input of the methods of a sandbox, and of the controls.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedValidationError } from '../errors/client-errors.js';
import type { IdType } from '../links/types.js';
import { type Environment, environments } from '../options.js';
import { type OperationName, routes } from '../protocol/routes.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import { oneOfEnvironments } from '../settings.js';
import type { MockFault } from '../testing/types.js';
import { check, inputObject } from '../validation/check.js';
import { anyString, choice, integer, stringOf } from '../validation/input.js';
import { faultTexts, variants } from './faults.js';
import { outcomeNames } from './outcomes.js';
import type { SandboxOutcome } from './types.js';

const environment = choice<Environment>(environments, `must be ${oneOfEnvironments}`);
const outcome = choice<SandboxOutcome>(outcomeNames, `must be one of ${outcomeNames.join(', ')}`);
const operationNames = Object.keys(routes) as OperationName[];
const variant = choice(variants, 'must be "forged", "stale", "altered" or "unsigned", or left out');
const faultKinds = Object.keys(faultTexts) as readonly MockFault['kind'][];

/** An environment. */
export const environmentInput = inputObject({ environment });

/** An outcome to play. Only the control can do without a link. */
export const playInput = inputObject({
  refId: z.optional(anyString),
  outcome,
  environment: z.optional(environment),
  idType: z.optional(z.custom<IdType>(isIdType, 'must be an object with "country" and "idType"')),
});

/** A callback to send again. */
export const resendInput = inputObject({ variant: z.optional(variant) });

/** A fault for the next requests. */
export const failNextInput = inputObject({
  environment: z.optional(environment),
  operation: choice(operationNames, `must be one of ${operationNames.join(', ')}`),
  fault: inputObject(
    {
      kind: choice(faultKinds, `must be one of ${faultKinds.join(', ')}`),
      status: z.optional(integer(200, 599)),
      body: z.optional(z.unknown()),
      // Node cannot send a header that contains, for example, a line end.
      retryAfter: z.optional(stringOf(/^[\x20-\x7e]*$/, 'must contain only printable ASCII characters')),
    },
    'must be an object with the property "kind"',
  ).check(
    z.refine(
      (fault) => fault.kind !== 'status' || fault.status !== undefined,
      'must have a "status" if its kind is "status"',
    ),
  ),
  times: z.optional(integer(0, 1_000_000)),
});

/**
 * Checks the input of a method or a control.
 *
 * @throws {HostedValidationError} when the input is invalid; the error names every problem.
 */
export function checkInput<T>(schema: z.ZodMiniType<T>, given: unknown, task = 'run a control'): T {
  const { data, issues } = check(schema, given);
  if (data === undefined) throw new HostedValidationError(issues, { task });
  return data;
}

/** Creates the error for one property of an input. */
export function createInputError(path: string, message: string, task: string): HostedValidationError {
  return new HostedValidationError([{ path, message }], { task });
}

function isIdType(value: unknown): boolean {
  return isRecord(value) && typeof value.country === 'string' && typeof value.idType === 'string';
}
