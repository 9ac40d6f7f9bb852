/**
 * Reads responses of the sandbox's controls.
 *
 * @module
 */

import type { JobRef } from '../../index.js';
import { isRecord, parseJson } from '../../runtime/untrusted-objects.js';

/** Reads both ids of a job; null if the response does not have them. */
export function readJob(text: string): JobRef | null {
  const value = parseJson(text);
  if (!isRecord(value)) return null;
  const { userId, jobId } = value;
  return typeof userId === 'string' && typeof jobId === 'string' ? { userId, jobId } : null;
}

/** Reads the problems of the input, as one line; null if the response names no problem. */
export function readIssues(text: string): string | null {
  const value = parseJson(text);
  const issues = isRecord(value) && Array.isArray(value.issues) ? value.issues : [];
  const lines = issues.flatMap((issue: unknown) => {
    if (!isRecord(issue) || typeof issue.message !== 'string') return [];
    return [issue.path === 'refId' ? `REF ${issue.message}` : `"${String(issue.path)}" ${issue.message}`];
  });
  return lines.length > 0 ? lines.join('; ') : null;
}
