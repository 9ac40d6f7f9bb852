/**
 * How errors speak: what was tried, why it failed, and what may have happened all the same.
 *
 * @module
 */

import type { Issue } from './errors.js';
import type { OperationName } from './routes.js';

const undertaking: Readonly<Record<OperationName, string>> = {
  'links.create': 'create a link',
  'links.update': 'change a link',
  'links.get': 'get a link',
  'links.list': 'list links',
  'jobs.status': 'get the status of a job',
};

/** What may have happened all the same when an operation failed, and what to do about it. */
const aftermath: Partial<Record<OperationName, string>> = {
  'links.create':
    'the link may exist all the same: look for it with links.list(), by its name or user id, before creating it again',
};

/** The message of an error of a call: `Cannot list links: …`. */
export function cannot(operation: OperationName, why: string, mayHaveActed = false): string {
  const after = mayHaveActed ? aftermath[operation] : undefined;
  return `Cannot ${undertaking[operation]}: ${why}${after ? `; ${after}` : ''}`;
}

/** One line of all issues: `"page" must be …; "limit" must be …`. */
export function listIssues(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `"${path}" ${message}`)).join('; ');
}
