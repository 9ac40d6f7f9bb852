/**
 * The controls of the mock service: a test uses them to act as end users and reviewers.
 *
 * @module
 */

import { HostedValidationError } from '../errors/client-errors.js';
import type { JobRef } from '../jobs/types.js';
import { copyProperties } from '../runtime/untrusted-objects.js';
import type { CallbackOptions, CallbackWriter } from './callbacks.js';
import { spellTable } from './dialect.js';
import type { FaultQueue } from './faults.js';
import { defaultCallbackUrl, seedDraft, type WireIdType } from './link-fields.js';
import { writeLink } from './link-records.js';
import type { Random } from './random.js';
import type { Store, StoredJob, StoredLink, StoredResult } from './store.js';
import { parseIsoTime } from './timestamps.js';
import type { MockEnvironment } from './types.js';

/** The state that the controls change and read. */
export interface ControlContext {
  readonly store: Store;
  readonly ids: Random;
  readonly callbacks: CallbackWriter;
  readonly faults: FaultQueue;
  readonly partnerId: string;
  now(): number;
}

type JobControls = MockEnvironment['jobs'];
export type JobStart = NonNullable<Parameters<JobControls['start']>[0]>;
type Outcome = Parameters<JobControls['complete']>[1];

/** Creates the controls of links. `getContext` is called each time, because a reset replaces the context. */
export function createLinkControls(getContext: () => ControlContext): MockEnvironment['links'] {
  return {
    all() {
      const { store, partnerId } = getContext();
      const links = store.sliceLinks(0, store.countLinks());
      return links.map((link) => writeLink(link, store.jobsOf(link.refId), partnerId, spellTable));
    },
    seed(count) {
      const { store } = getContext();
      for (let index = 0; index < count; index++) {
        store.addLink({ ...seedDraft, name: `Link ${store.countLinks() + 1}` });
      }
    },
  };
}

/** Creates the controls of jobs. */
export function createJobControls(getContext: () => ControlContext): JobControls {
  const writeCallback = async (job: JobRef, options: CallbackOptions = {}): Promise<Request> => {
    const { store, callbacks } = getContext();
    const stored = findJob(store, job);
    const link = stored.linkRefId === null ? undefined : store.findLink(stored.linkRefId);
    const url = link?.callbackUrl ?? defaultCallbackUrl;
    return callbacks.write(stored, url, copyProperties(options, callbackOptionNames));
  };
  return {
    start: (job = {}) => startJob(copyProperties(job, startNames), getContext()),
    report(job, entry) {
      const { store } = getContext();
      const { resultCode, resultText, resultType = null, final = false } = { ...noResult, ...entry };
      store.addResult(findJob(store, job), { code: resultCode, text: resultText, type: resultType, final });
    },
    complete(job, outcome) {
      const { store } = getContext();
      const { success, ...result } = toResult(outcome);
      store.addResult(findJob(store, job), { ...result, type: 'SAIA', final: true }, { success });
    },
    callback: writeCallback,
    async deliverCallback(job, given = {}) {
      const { to, ...options } = { to: undefined, ...given };
      const request = await writeCallback(job, options);
      return to === undefined ? globalThis.fetch(request) : to(request);
    },
  };
}

const noResult = { resultType: undefined, final: undefined };

const callbackOptionNames = ['entry', 'variant', 'padBytes'];

const startNames = ['userId', 'jobId', 'linkRefId'];

/** Starts a job. `idType` is the ID type that the end user chose. */
export function startJob(
  { userId, jobId, linkRefId }: JobStart,
  context: ControlContext,
  idType: WireIdType | null = null,
): JobRef {
  const { store, ids } = context;
  const link = linkRefId === undefined ? undefined : store.findLink(linkRefId);
  if (linkRefId !== undefined && link === undefined) {
    throw new Error('Cannot start a job: this environment has no link with this reference id');
  }
  const closed = link === undefined ? null : closedStateOf(link, context);
  if (closed !== null) {
    throw new HostedValidationError([{ path: 'linkRefId', message: closedMessage(closed) }], { task: 'start a job' });
  }
  const linkUserId = link?.isSingleUse ? link.userId : undefined;
  const job = { userId: userId ?? linkUserId ?? ids.uuid(), jobId: jobId ?? ids.uuid() };
  if (store.findJob(job) !== undefined) {
    throw new Error('Cannot start a job: this environment already has a job with this user id and job id');
  }
  store.addJob(job, { linkRefId: link?.refId ?? null, idType });
  return job;
}

/**
 * Says why no job can start on a link. Null if a job can start. §3 does not show what happens on an expired link or a
 * used link. In this mock, no job starts on such a link.
 */
export function closedStateOf(
  link: StoredLink,
  { store, now }: Pick<ControlContext, 'store' | 'now'>,
): 'disabled' | 'expired' | 'used' | null {
  if (link.disabledAt !== null) return 'disabled';
  const expiresAt = link.expiresAt === null ? null : parseIsoTime(link.expiresAt);
  if (expiresAt !== null && expiresAt <= now()) return 'expired';
  return link.isSingleUse === true && store.jobsOf(link.refId).length > 0 ? 'used' : null;
}

/** Writes the message for a link on which no job can start. */
export function closedMessage(closed: keyof typeof closedTexts): string {
  return `must be an open link, and this link ${closedTexts[closed]}`;
}

const closedTexts = {
  disabled: 'is disabled',
  expired: 'has expired',
  used: 'is for a single use and already has a job',
} as const;

function findJob(store: Store, job: JobRef): StoredJob {
  const stored = store.findJob(job);
  if (stored === undefined) {
    throw new Error('Cannot find the job: this environment has no job with this user id and job id');
  }
  return stored;
}

function toResult(outcome: Outcome): Pick<StoredResult, 'code' | 'text'> & { success: boolean } {
  if (outcome === 'approved') return { code: '0810', text: 'Enroll User', success: true };
  if (outcome === 'rejected') return { code: '0811', text: 'Failed Enroll', success: false };
  return { code: outcome.resultCode, text: outcome.resultText, success: outcome.success };
}
