/**
 * What a response says in a few words, and where the link or job is that it did not find.
 *
 * @module
 */

import { type Environment, environments } from '../options.js';
import type { OperationName } from '../protocol/routes.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import type { Body } from '../testing/request-rules.js';
import type { Store } from '../testing/store.js';

/** A request for an operation, with the bodies of request and response. */
export interface Answered {
  readonly environment: Environment;
  readonly operation: OperationName;
  readonly input: Body;
  readonly output: Body;
  storeOf(environment: Environment): Store;
}

/** Says in a few words what a successful response says. */
export function summarize({ environment, operation, input, output, storeOf }: Answered): string {
  if (operation === 'links.list') {
    const { length = 0 } = Object.values(output).find(Array.isArray) ?? [];
    const other = environments.find((name) => name !== environment && storeOf(name).countLinks() > 0);
    const elsewhere = length === 0 && other ? `, and ${storeOf(other).countLinks()} in ${other}` : '';
    return `${length} ${length === 1 ? 'link' : 'links'}${elsewhere}`;
  }
  if (operation !== 'jobs.status') {
    const { name, company_name } = operation === 'links.create' ? input : output;
    return String(name ?? company_name ?? '');
  }
  const isTrue = (value: unknown) => /^true$/i.test(String(value));
  if (!isTrue(output.job_complete)) return 'pending';
  const code = isRecord(output.result) ? ` ${output.result.ResultCode}` : '';
  return `${isTrue(output.job_success) ? 'succeeded' : 'failed'}${code}`;
}

/** Says where a link or job is that a request did not find; null if it found it, or failed for another reason. */
export function findElsewhere({ environment, output, input, storeOf }: Answered, refId: string, isKept: boolean) {
  const what = { 2215: 'link', 2304: 'job' }[String(output.code)];
  if (what === undefined) return null;
  const has = (name: Environment) =>
    what === 'link'
      ? storeOf(name).findLink(refId)
      : storeOf(name)
          .jobs()
          .find(({ jobId }) => jobId === input.job_id);
  const where = [environment, ...environments].find(has);
  if (where === environment) return 'the job is of another user';
  if (where !== undefined) return `the ${what} is in ${where}, and the request went to ${environment}`;
  return isKept ? null : 'after a restart without a folder, earlier links and jobs are gone';
}
