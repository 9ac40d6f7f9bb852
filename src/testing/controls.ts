/**
 * Behind the scenes: what a test does in place of end users and reviewers.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import { copyProperties } from '../runtime/prototype.js';
import type { CallbackOptions, Dispatch } from './callbacks.js';
import { sayTable } from './dialect.js';
import { wireLink } from './link-records.js';
import type { Random } from './random.js';
import type { Store, StoredJob, StoredResult } from './store.js';
import type { MockEnvironment } from './types.js';

/** What the controls reach into. */
export interface Backstage {
  readonly store: Store;
  readonly ids: Random;
  readonly dispatch: Dispatch;
  readonly partnerId: string;
}

type JobControls = MockEnvironment['jobs'];
type JobStart = NonNullable<Parameters<JobControls['start']>[0]>;
type Outcome = Parameters<JobControls['complete']>[1];

/** Where callbacks go for a link that has no address of its own: the partner's default (§6). */
const defaultCallbackUrl = 'https://partner.hosted.test/callbacks';

/** Creates the controls of links. `backstage` is asked anew each time, as a reset replaces it. */
export function createLinkControls(backstage: () => Backstage): MockEnvironment['links'] {
  return {
    all() {
      const { store, partnerId } = backstage();
      const links = store.sliceLinks(0, store.countLinks());
      return links.map((link) => wireLink(link, store.jobsOf(link.refId), partnerId, sayTable));
    },
    seed(count) {
      const { store } = backstage();
      for (let index = 0; index < count; index++) store.addLink(seededLink(store.countLinks() + 1));
    },
  };
}

/** Creates the controls of jobs. */
export function createJobControls(backstage: () => Backstage): JobControls {
  const callback = async (job: JobRef, options: CallbackOptions = {}): Promise<Request> => {
    const { store, dispatch } = backstage();
    const known = findJob(store, job);
    const link = known.linkRefId === null ? undefined : store.findLink(known.linkRefId);
    return dispatch.write(known, link?.callbackUrl ?? defaultCallbackUrl, copyProperties(options, callbackOptionNames));
  };
  return {
    start: (job = {}) => startJob(job, backstage()),
    report(job, entry) {
      const { store } = backstage();
      const { resultCode, resultText, resultType = null, final = false } = { ...noResult, ...entry };
      store.addResult(findJob(store, job), { code: resultCode, text: resultText, type: resultType, final });
    },
    complete(job, outcome) {
      const { store } = backstage();
      const { success, ...result } = resultOf(outcome);
      store.addResult(findJob(store, job), { ...result, type: 'SAIA', final: true }, { success });
    },
    callback,
    async deliverCallback(job, given = {}) {
      const { to, ...options } = { to: undefined, ...given };
      const request = await callback(job, options);
      return to === undefined ? globalThis.fetch(request) : to(request);
    },
  };
}

const noResult = { resultType: undefined, final: undefined };

const callbackOptionNames = ['entry', 'variant', 'padBytes'];

function startJob(given: JobStart, { store, ids }: Backstage): JobRef {
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
  const known = store.findJob(job);
  if (known === undefined) {
    throw new Error('Cannot find the job: this environment has none of that user id and job id');
  }
  return known;
}

function resultOf(outcome: Outcome): Pick<StoredResult, 'code' | 'text'> & { success: boolean } {
  if (outcome === 'approved') return { code: '0810', text: 'Enroll User', success: true };
  if (outcome === 'rejected') return { code: '0811', text: 'Failed Enroll', success: false };
  return { code: outcome.resultCode, text: outcome.resultText, success: outcome.success };
}

function seededLink(number: number): Parameters<Store['addLink']>[0] {
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
