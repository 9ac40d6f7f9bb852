/**
 * The ids of a job, taken from an object that is the caller's to change.
 *
 * @module
 */

import { readProperty } from '../runtime/prototype.js';
import type { JobRef } from './types.js';

/** Copies the ids of a caller's object. Where it cannot be read, the check of each poll's input says so. */
export function copyIds(job: unknown): JobRef {
  try {
    const idOf = (name: keyof JobRef) => readProperty(Object(job), name) as string;
    return { userId: idOf('userId'), jobId: idOf('jobId') };
  } catch {
    return {} as JobRef;
  }
}
