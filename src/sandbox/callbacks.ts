/**
 * Posts callbacks. The callbacks of one job are posted in order, one at a time. After a failure, a callback is posted
 * again.
 *
 * @module
 */

import { HostedValidationError } from '../errors/errors.js';
import type { JobRef } from '../jobs/types.js';
import type { Environment } from '../options.js';
import type { StoredJob } from '../testing/store.js';
import type { PostResult } from './post-callback.js';
import type { SandboxCallback } from './types.js';
import type { Work } from './work.js';

/** The mistakes that `resend` can put into a callback on purpose. */
export const variants = ['forged', 'stale', 'altered', 'unsigned'] as const;

export type Variant = (typeof variants)[number];

/** A callback, with the data that is needed to post it again, even after a restart. */
export interface KeptCallback {
  readonly view: MutableCallback;
  /** The index of the reported result in the job's list of results. */
  readonly entry: number;
  readonly variant: Variant | null;
  /** Whether the callback is posted again after a failure. */
  readonly isRepeated: boolean;
  /** When the next delivery is planned, in ms since the epoch; null before the first delivery. */
  nextAt: number | null;
}

type Attempt = SandboxCallback['attempts'][number];
type MutableCallback = Omit<SandboxCallback, 'state' | 'attempts'> & {
  state: SandboxCallback['state'];
  attempts: Attempt[];
};

export interface CallbackSettings {
  readonly retriesMs: readonly number[];
  readonly keep: number;
  readonly defaultUrl: string | null;
  work(): Work;
  findJob(environment: Environment, job: JobRef): StoredJob | undefined;
  /** The callback URL of a link; null if the link has no callback URL. */
  urlOf(environment: Environment, linkRefId: string): string | null;
  /** Writes the signed body of a callback, in parts. */
  write(callback: KeptCallback): Promise<readonly Buffer[]>;
  post(url: string, body: readonly Buffer[], signal: AbortSignal): Promise<PostResult>;
  onChange(): void;
}

export interface Callbacks {
  /** The latest callbacks, oldest first. The array is never replaced, so callers can keep it. */
  readonly list: readonly SandboxCallback[];
  /**
   * Posts the callback of a job's result, after the job's earlier callbacks. If there is no callback URL, does nothing.
   */
  send(environment: Environment, job: JobRef, entry: number): void;
  /** Posts a callback again, as a new callback with only one delivery. */
  resend(id: number, variant: Variant | null): Promise<SandboxCallback>;
  /** The state to save: the callbacks in the list, and waiting callbacks that were already removed from the list. */
  state(): { readonly lastId: number; readonly kept: readonly KeptCallback[] };
  /**
   * Restores a saved state, and posts its waiting callbacks. A waiting callback that `resend` created is not posted.
   */
  restore(state: { readonly lastId: number; readonly kept: readonly KeptCallback[] }): void;
  /**
   * Removes all callbacks. Ids do not start again: later callbacks get higher ids. So `GET /control/callbacks?after=ID`
   * never misses a callback.
   */
  clear(): void;
}

/** Creates an empty list of callbacks. */
export function createCallbacks(settings: CallbackSettings): Callbacks {
  const list: SandboxCallback[] = [];
  const known = new Map<number, KeptCallback>();
  /**
   * The unfinished callbacks of each job. The first callback of each queue is being posted, or waits for its next
   * attempt.
   */
  const queues = new Map<string, KeptCallback[]>();
  let lastId = 0;

  function add(
    callback: Omit<KeptCallback, 'view' | 'nextAt'>,
    about: Omit<SandboxCallback, 'id' | 'state' | 'attempts'>,
  ) {
    lastId += 1;
    const kept: KeptCallback = {
      ...callback,
      view: { id: lastId, ...about, state: 'waiting', attempts: [] },
      nextAt: null,
    };
    remember(kept);
    settings.onChange();
    return kept;
  }

  function remember(kept: KeptCallback): void {
    known.set(kept.view.id, kept);
    list.push(kept.view);
    const removed = list.length > settings.keep ? list.splice(0, list.length - settings.keep) : [];
    for (const { id } of removed) known.delete(id);
  }

  function send(environment: Environment, job: JobRef, entry: number): void {
    const stored = settings.findJob(environment, job);
    const result = stored?.results[entry];
    if (stored === undefined || result === undefined) return;
    const { linkRefId } = stored;
    const url = (linkRefId === null ? null : settings.urlOf(environment, linkRefId)) ?? settings.defaultUrl;
    if (url === null) return;
    const about = {
      environment,
      job: { userId: job.userId, jobId: job.jobId },
      linkRefId,
      resultCode: result.code,
      url,
    };
    enqueue(add({ entry, variant: null, isRepeated: true }, about));
  }

  function enqueue(kept: KeptCallback): void {
    const key = keyOf(kept);
    const queue = queues.get(key) ?? [];
    queues.set(key, [...queue, kept]);
    if (queue.length === 0) start(kept);
  }

  function start(kept: KeptCallback): void {
    const work = settings.work();
    const delayMs = kept.nextAt === null ? 0 : kept.nextAt - Date.now();
    if (delayMs <= 0) work.run(deliver(kept, work));
    else work.later(delayMs, () => work.run(deliver(kept, work)));
  }

  async function deliver(kept: KeptCallback, work: Work): Promise<void> {
    await attempt(kept, work.signal);
    if (work.signal.aborted) return;
    if (kept.view.state === 'waiting') return start(kept);
    const key = keyOf(kept);
    const [, ...rest] = queues.get(key) ?? [];
    if (rest.length === 0) queues.delete(key);
    else queues.set(key, rest);
    const [next] = rest;
    if (next !== undefined) start(next);
  }

  /** Posts a callback, and decides whether it is posted again. */
  async function attempt(kept: KeptCallback, signal: AbortSignal): Promise<void> {
    const { view } = kept;
    const at = new Date();
    const startedAt = performance.now();
    const { status, problem, isAllowed } = await postOf(kept, signal);
    if (signal.aborted) return;
    view.attempts.push({ at, status, problem, durationMs: Math.round(performance.now() - startedAt) });
    const pauseMs = kept.isRepeated ? settings.retriesMs[view.attempts.length - 1] : undefined;
    if (!isAllowed) view.state = 'not_allowed';
    else if (problem === null) view.state = 'delivered';
    else if (pauseMs === undefined) view.state = 'gave_up';
    else kept.nextAt = Date.now() + pauseMs;
    settings.onChange();
  }

  async function postOf(kept: KeptCallback, signal: AbortSignal): Promise<PostResult> {
    try {
      return await settings.post(kept.view.url, await settings.write(kept), signal);
    } catch {
      const { environment, job } = kept.view;
      // Either `reset` of the testing kit has deleted the job, or `Request` rejects the callback URL.
      const isGone = settings.findJob(environment, job) === undefined;
      const problem = isGone ? 'the job was deleted' : 'the callback URL has a user name or password: remove it';
      return { status: null, problem, isAllowed: true };
    }
  }

  async function resend(id: number, variant: Variant | null): Promise<SandboxCallback> {
    const before = known.get(id);
    if (before === undefined) {
      const issues = [{ path: 'callbackId', message: 'must be the id of a callback that is remembered' }];
      throw new HostedValidationError(issues, { task: 'send a callback again' });
    }
    const { id: _id, state: _state, attempts: _attempts, ...about } = before.view;
    const again = add({ entry: before.entry, variant, isRepeated: false }, about);
    const work = settings.work();
    const task = attempt(again, work.signal);
    work.run(task);
    await task;
    return again.view;
  }

  return {
    list,
    send,
    resend,
    state() {
      const waiting = [...queues.values()].flat().filter(({ view }) => !known.has(view.id));
      return { lastId, kept: [...waiting, ...known.values()] };
    },
    restore(state) {
      ({ lastId } = state);
      for (const kept of state.kept) {
        remember(kept);
        if (kept.view.state !== 'waiting') continue;
        if (kept.isRepeated) enqueue(kept);
        else kept.view.state = 'gave_up';
      }
    },
    clear() {
      list.length = 0;
      known.clear();
      queues.clear();
    },
  };
}

function keyOf({ view: { environment, job } }: KeptCallback): string {
  return JSON.stringify([environment, job.userId, job.jobId]);
}
