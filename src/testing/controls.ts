/**
 * The controls: what a test does in place of end users and reviewers.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import { copyProperties } from '../runtime/prototype.js';
import type { CallbackOptions, CallbackWriter } from './callbacks.js';
import { spellTable } from './dialect.js';
import { writeLink } from './link-records.js';
import type { Random } from './random.js';
import type { Store, StoredJob, StoredResult } from './store.js';
import type { MockEnvironment } from './types.js';

/** What the controls change and read. */
export interface ControlContext {
  readonly store: Store;
  readonly ids: Random;
  readonly callbacks: CallbackWriter;
  readonly partnerId: string;
}

type JobControls = MockEnvironment['jobs'];
type JobStart = NonNullable<Parameters<JobControls['start']>[0]>;
type Outcome = Parameters<JobControls['complete']>[1];

/** Where callbacks go for a link that has no callback URL: the partner's default (§6). */
const defaultCallbackUrl = 'https://partner.hosted.test/callbacks';

/** Creates the controls of links. `getContext` is called each time, as a reset replaces the context. */
export function createLinkControls(getContext: () => ControlContext): MockEnvironment['links'] {
  return {
    all() {
      const { store, partnerId } = getContext();
      const links = store.sliceLinks(0, store.countLinks());
      return links.map((link) => writeLink(link, store.jobsOf(link.refId), partnerId, spellTable));
    },
    seed(count) {
      const { store } = getContext();
      for (let index = 0; index < count; index++) store.addLink(createSeedLink(store.countLinks() + 1));
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
    start: (job = {}) => startJob(job, getContext()),
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

function startJob(given: JobStart, { store, ids }: ControlContext): JobRef {
  const { userId, jobId, linkRefId }: JobStart = copyProperties(given, ['userId', 'jobId', 'linkRefId']);
  const link = linkRefId === undefined ? undefined : store.findLink(linkRefId);
  if (linkRefId !== undefined && link === undefined) {
    throw new Error('Cannot start a job: this environment has no link of that reference id');
  }
  const linkUserId = link?.isSingleUse ? link.userId : undefined;
  const job = { userId: userId ?? linkUserId ?? ids.uuid(), jobId: jobId ?? ids.uuid() };
  if (store.findJob(job) !== undefined) {
    throw new Error('Cannot start a job: this environment has one of that user id and job id already');
  }
  store.addJob(job, link?.refId ?? null);
  return job;
}

function findJob(store: Store, job: JobRef): StoredJob {
  const stored = store.findJob(job);
  if (stored === undefined) {
    throw new Error('Cannot find the job: this environment has none of that user id and job id');
  }
  return stored;
}

function toResult(outcome: Outcome): Pick<StoredResult, 'code' | 'text'> & { success: boolean } {
  if (outcome === 'approved') return { code: '0810', text: 'Enroll User', success: true };
  if (outcome === 'rejected') return { code: '0811', text: 'Failed Enroll', success: false };
  return { code: outcome.resultCode, text: outcome.resultText, success: outcome.success };
}

function createSeedLink(number: number): Parameters<Store['addLink']>[0] {
  return {
    name: `Link ${number}`,
    idTypes: [{ country: 'NG', id_type: 'PASSPORT', verification_method: 'doc_verification' }],
    isSingleUse: false,
    callbackUrl: defaultCallbackUrl,
    companyName: 'Example Partner',
    dataPrivacyPolicyUrl: 'https://partner.hosted.test/privacy',
    logoUrl: null,
    userId: null,
    expiresAt: null,
  };
}
