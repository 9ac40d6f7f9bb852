/**
 * Posts callbacks. The callbacks of one job are posted in order, one at a time. After a failure, a callback is posted
 * again.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { Environment } from '../options.js';
import type { Store } from '../testing/store.js';
import { checkInput, createInputError, resendInput } from './input.js';
import { jobKey } from './job-key.js';
import { maskSecrets, maskUrl } from './kept-bodies.js';
import type { KeptCallback, KeptState } from './kept-state.js';
import type { SandboxSettings } from './options.js';
import type { PostResult } from './post-callback.js';
import type { Sandbox, SandboxCallback } from './types.js';
import type { Work } from './work.js';

const deletedProblem = 'the job was deleted';

export interface CallbackSettings {
  readonly options: Pick<SandboxSettings, 'callbackRetriesMs' | 'keepRequests' | 'defaultCallbackUrl'>;
  work(): Work;
  storeOf(environment: Environment): Store;
  /** Whether the final status of a job was ever requested. */
  isConfirmed(environment: Environment, job: JobRef): boolean;
  /** Posts a callback once. Rejects if the job was deleted. */
  post(callback: KeptCallback, url: string, signal: AbortSignal): Promise<PostResult>;
  /** Called after each delivery. */
  onAttempt(callback: SandboxCallback): void;
  /** Called when a callback is forgotten, because newer callbacks have taken its place. */
  onForget(id: number): void;
  onChange(): void;
}

type CallbackState = Pick<KeptState, 'lastCallbackId' | 'callbacks'>;

export type Callbacks = ReturnType<typeof createCallbacks>;

/** Creates an empty list of callbacks. */
export function createCallbacks(settings: CallbackSettings) {
  const list: SandboxCallback[] = [];
  const known = new Map<number, KeptCallback>();
  /**
   * The unfinished callbacks of each job. The first callback of each queue is being posted, or waits for its next
   * attempt.
   */
  const queues = new Map<string, KeptCallback[]>();
  /** For each callback that waits for its next delivery, the function that cancels the timer. */
  const pauses = new Map<number, () => void>();
  /** The callbacks that are being posted. */
  const posting = new Set<KeptCallback>();
  let lastId = 0;

  function add(
    callback: Omit<KeptCallback, 'view'>,
    about: Omit<SandboxCallback, 'id' | 'at' | 'state' | 'attempts' | 'nextAttemptAt'>,
  ) {
    lastId += 1;
    const own = { id: lastId, at: new Date(), state: 'waiting', attempts: [], nextAttemptAt: null } as const;
    const kept: KeptCallback = { ...callback, view: { ...about, ...own, attempts: [] } };
    remember(kept);
    settings.onChange();
    return kept;
  }

  function remember(kept: KeptCallback): void {
    known.set(kept.view.id, kept);
    list.push(kept.view);
    const removed = list.splice(0, Math.max(0, list.length - settings.options.keepRequests));
    for (const { id } of removed) {
      known.delete(id);
      settings.onForget(id);
    }
  }

  /**
   * Posts the callback of a job's result, after the job's earlier callbacks. If there is no callback URL, does nothing.
   */
  function send(environment: Environment, job: JobRef, entry: number): void {
    const stored = settings.storeOf(environment).findJob(job);
    const result = stored?.results[entry];
    if (stored === undefined || result === undefined) return;
    const { linkRefId } = stored;
    const url = findReceiver({ environment, linkRefId });
    if (url === null) return;
    const about = {
      environment,
      job: { userId: job.userId, jobId: job.jobId },
      linkRefId,
      resultCode: result.code,
      url: maskUrl(url),
      variant: null,
      copyOf: null,
    };
    enqueue(add({ entry, isRepeated: true }, about));
  }

  /** The URL that the callbacks of a link are posted to; null if there is none. */
  function findReceiver({ environment, linkRefId }: Pick<SandboxCallback, 'environment' | 'linkRefId'>): string | null {
    const link = linkRefId === null ? undefined : settings.storeOf(environment).findLink(linkRefId);
    return link?.callbackUrl ?? settings.options.defaultCallbackUrl ?? null;
  }

  function enqueue(kept: KeptCallback): void {
    const key = jobKey(kept.view);
    const queue = queues.get(key) ?? [];
    queues.set(key, [...queue, kept]);
    if (queue.length === 0) start(kept);
  }

  function start(kept: KeptCallback): void {
    const work = settings.work();
    const { id, nextAttemptAt } = kept.view;
    const delayMs = nextAttemptAt === null ? 0 : nextAttemptAt.getTime() - Date.now();
    const begin = () => {
      pauses.delete(id);
      work.run(deliver(kept, work));
    };
    if (delayMs <= 0) begin();
    else pauses.set(id, work.later(delayMs, begin));
  }

  async function deliver(kept: KeptCallback, work: Work): Promise<void> {
    await attempt(kept, work.signal);
    if (work.signal.aborted) return;
    if (kept.view.state === 'waiting') start(kept);
    else dequeue(kept);
  }

  /** Removes a finished callback from its queue. If it was the first, the next one is posted. */
  function dequeue(kept: KeptCallback): void {
    const key = jobKey(kept.view);
    const queue = queues.get(key) ?? [];
    const rest = queue.filter((each) => each !== kept);
    if (rest.length === 0) queues.delete(key);
    else queues.set(key, rest);
    const [next] = rest;
    if (next !== undefined && next !== queue[0]) start(next);
  }

  function endPause({ view }: KeptCallback): void {
    pauses.get(view.id)?.();
    pauses.delete(view.id);
  }

  /** Posts a callback, and decides whether it is posted again. */
  async function attempt(kept: KeptCallback, signal: AbortSignal): Promise<void> {
    const at = new Date();
    const startedAt = performance.now();
    kept.view.nextAttemptAt = null;
    posting.add(kept);
    const { status, problem, isAllowed } = await postOf(kept, signal);
    posting.delete(kept);
    if (signal.aborted) return;
    const { view } = kept;
    const durationMs = Math.round(performance.now() - startedAt);
    view.attempts.push({ at, status, problem: problem ?? findMistake(view), durationMs });
    const pauseMs = kept.isRepeated ? settings.options.callbackRetriesMs[view.attempts.length - 1] : undefined;
    if (!isAllowed) view.state = 'not_allowed';
    else if (problem === null) view.state = 'delivered';
    else if (pauseMs === undefined || problem === deletedProblem) view.state = 'gave_up';
    else view.nextAttemptAt = new Date(Date.now() + pauseMs);
    settings.onAttempt(view);
    settings.onChange();
  }

  /** Says what is wrong with a receiver that accepted this callback; null if nothing is known to be wrong. */
  function findMistake({ variant, copyOf, environment, job }: SandboxCallback): string | null {
    const accepted = `the receiver accepted a copy of callback ${copyOf} that is ${variant}`;
    if (variant === 'forged' || variant === 'unsigned') return `${accepted}: verify the signature of callbacks`;
    // The signature of the other copies is right, so a receiver may accept them, if it takes the result from the status.
    return variant === null || settings.isConfirmed(environment, job)
      ? null
      : `${accepted}, and never requested the job status: take results only from there, because the signature of a callback does not cover its body`;
  }

  async function postOf(kept: KeptCallback, signal: AbortSignal): Promise<PostResult> {
    const url = findReceiver(kept.view) ?? kept.view.url;
    // The link of a job does not change, but a restart can change the default.
    kept.view.url = maskUrl(url);
    if (url !== maskSecrets(url)) {
      const problem = 'the callback URL has a user name or password: remove it';
      return { status: null, problem, isAllowed: false };
    }
    try {
      return await settings.post(kept, url, signal);
    } catch {
      // `reset` of the testing kit has deleted the job.
      return { status: null, problem: deletedProblem, isAllowed: true };
    }
  }

  async function resend(id: number, given: Parameters<Sandbox['resend']>[1] = {}): Promise<SandboxCallback> {
    const { variant = null } = checkInput(resendInput, { variant: given.variant }, 'send a callback again');
    const { view, entry } = find(id, 'send a callback again');
    return deliverNow(add({ entry, isRepeated: false }, { ...view, variant, copyOf: view.copyOf ?? id }));
  }

  async function retryNow(id: number): Promise<SandboxCallback> {
    const kept = find(id, 'retry a callback');
    const { state, nextAttemptAt } = kept.view;
    if (nextAttemptAt === null && (state !== 'gave_up' || posting.has(kept))) {
      const message = 'must be the id of a callback that waits for its next delivery or was given up';
      throw createInputError('callbackId', message, 'retry a callback');
    }
    return deliverNow(kept);
  }

  async function deliverNow(kept: KeptCallback): Promise<SandboxCallback> {
    const work = settings.work();
    const task = deliver(kept, work);
    // The pause ends after the delivery has begun. In the other order, `idle` would resolve too early.
    work.run(task);
    endPause(kept);
    await task;
    return kept.view;
  }

  async function stopTrying(id: number): Promise<SandboxCallback> {
    const kept = find(id, 'stop a callback');
    const { view } = kept;
    if (view.state !== 'waiting') {
      throw createInputError('callbackId', 'must be the id of a callback that is waiting', 'stop a callback');
    }
    kept.isRepeated = false;
    if (posting.has(kept)) return view;
    view.state = 'gave_up';
    view.nextAttemptAt = null;
    dequeue(kept);
    endPause(kept);
    settings.onChange();
    return view;
  }

  function find(id: number, task: string): KeptCallback {
    const kept = known.get(id);
    if (kept !== undefined) return kept;
    throw createInputError('callbackId', 'must be the id of a callback that is remembered', task);
  }

  return {
    /** The latest callbacks, oldest first. The array is never replaced, so callers can keep it. */
    list: list as readonly SandboxCallback[],
    send,
    findReceiver,
    resend,
    retryNow,
    stopTrying,
    /** The state to save: the callbacks in the list, and waiting callbacks that were already removed from the list. */
    state(): CallbackState {
      const waiting = [...queues.values()].flat().filter(({ view }) => !known.has(view.id));
      return { lastCallbackId: lastId, callbacks: [...waiting, ...known.values()] };
    },
    /**
     * Restores a saved state, and posts its waiting callbacks. A waiting callback that `resend` created is not posted.
     */
    restore(state: CallbackState): void {
      lastId = state.lastCallbackId;
      for (const kept of state.callbacks) {
        remember(kept);
        if (kept.view.state !== 'waiting') continue;
        if (kept.isRepeated) enqueue(kept);
        else kept.view.state = 'gave_up';
      }
    },
    /**
     * Removes all callbacks. Ids do not start again: later callbacks get higher ids. So `GET /control/callbacks?after=ID`
     * never misses a callback.
     */
    clear(): void {
      list.length = 0;
      known.clear();
      queues.clear();
      pauses.clear();
    },
  };
}
