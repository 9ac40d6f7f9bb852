/**
 * Rules for the properties of a request (docs/protocol.md §2.1, §4).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';

/** A JSON object, as received. */
export type Body = Readonly<Record<string, unknown>>;

/** What a property must be. */
export interface PropertyRule {
  readonly property: string;
  readonly required: boolean;
  /** The text after "must be" in a message. */
  readonly expected: string;
  accepts(value: unknown): boolean;
}

/**
 * Says in the service's words what is wrong with a body; null if the body is right. The message contains no value from
 * the body.
 */
export function findProblem(body: Body, rules: readonly PropertyRule[]): string | null {
  for (const { property, required, expected, accepts } of rules) {
    const value = body[property];
    if (value === undefined && required) return `Missing required parameter: ${property}`;
    if (value !== undefined && !accepts(value)) return `Invalid parameter: ${property} must be ${expected}`;
  }
  return null;
}

export const string = {
  required: false,
  expected: 'a string that is not empty',
  accepts: (value: unknown) => typeof value === 'string' && value !== '',
};

export const boolean = {
  required: false,
  expected: 'a boolean',
  accepts: (value: unknown) => typeof value === 'boolean',
};

/** §4.4 */
export function listLinksRules(firstPage: number): readonly PropertyRule[] {
  const accepts = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= firstPage;
  return [{ property: 'page', required: false, expected: `an integer of ${firstPage} or more`, accepts }];
}

/**
 * §4.5. The documents do not show which properties are required. Here both ids are required, because a job is
 * identified only by both together.
 */
export function jobStatusRules(flags: Wire['jobFlags']): readonly PropertyRule[] {
  const accepts = (value: unknown) => value === 'true' || value === 'false';
  const flag = flags === 'string' ? { ...boolean, expected: '"true" or "false"', accepts } : boolean;
  return [
    { ...string, property: 'user_id', required: true },
    { ...string, property: 'job_id', required: true },
    { ...flag, property: 'image_links' },
    { ...flag, property: 'history' },
  ];
}
