/**
 * Copies the ids of a job from a caller's object, which may change later.
 *
 * @module
 */

import { readProperty } from '../runtime/untrusted-objects.js';
import type { JobRef } from './types.js';

/** Copies the ids. If the object cannot be read, the input check of the first poll reports it. */
export function copyIds(job: unknown): JobRef {
  try {
    const idOf = (name: keyof JobRef) => readProperty(Object(job), name) as string;
    return { userId: idOf('userId'), jobId: idOf('jobId') };
  } catch {
    return {} as JobRef;
  }
}
