/**
 * The ids of a job, copied from a caller's object, which may change later.
 *
 * @module
 */

import { readProperty } from '../runtime/prototype.js';
import type { JobRef } from './types.js';

/** Copies the ids of a caller's object. Where it cannot be read, the check of the first poll's input reports it. */
export function copyIds(job: unknown): JobRef {
  try {
    const idOf = (name: keyof JobRef) => readProperty(Object(job), name) as string;
    return { userId: idOf('userId'), jobId: idOf('jobId') };
  } catch {
    return {} as JobRef;
  }
}
