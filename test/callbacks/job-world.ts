// A service that signs genuinely, the processes that receive its callbacks, and what they write down, on one clock.

import {
  type HandlerOptions,
  HostedClient,
  type HostedClientOptions,
  type JobEvent,
  type JobRef,
  type JobStatus,
  type ReplayGuard,
} from 'hosted-client';
import { loadKy } from '../../src/call/transport.js';
import { createMemoryGuard } from '../../src/callbacks/memory-guard.js';
import { createDueQueue, type Due } from '../../src/runtime/due-queue.js';
import { apiKey, now, partnerId, sign } from '../support/fake-fetch.js';

// The first request loads the code that sends: a file, for which the clock below does not wait.
await loadKy();

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;
/** How long the service waits before each redelivery. */
export const backoffMs = [second, 5 * second, 25 * second, 2 * minute, 10 * minute, hour, 6 * hour, 15 * hour];

export type VirtualClock = ReturnType<typeof createVirtualClock>;

interface Timer extends Due {
  wake(): void;
}

/** Resolves when all code has run that waits for nothing else than promises. */
const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/**
 * A clock that jumps to the next sleep as soon as all code waits. It is many times faster than the test clock, but the
 * code may wait for nothing else than promises: no thread, no file, no socket.
 */
export function createVirtualClock(startMs = now) {
  let nowMs = startMs;
  const timers = createDueQueue<Timer>();
  const clock = {
    now: () => nowMs,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const onAbort = () => {
          timers.remove(timer);
          reject(signal?.reason);
        };
        const timer: Timer = {
          dueAt: nowMs + Math.max(0, ms),
          order: 0,
          index: -1,
          wake() {
            signal?.removeEventListener('abort', onAbort);
            resolve();
          },
        };
        timers.add(timer);
        signal?.addEventListener('abort', onAbort);
      }),
    /** Runs `act` at a time. */
    at(ms: number, act: () => unknown): void {
      timers.add({ dueAt: Math.max(nowMs, ms), order: 0, index: -1, wake: act });
    },
    /** Lets so many ms pass. */
    async advance(ms: number): Promise<void> {
      const endMs = nowMs + ms;
      await turn();
      for (let dueAt = timers.nextDueAt(); dueAt !== null && dueAt <= endMs; dueAt = timers.nextDueAt()) {
        nowMs = dueAt;
        timers.take()?.wake();
        await turn();
      }
      nowMs = endMs;
    },
  };
  return clock;
}

/** A result, as it stands in a history. */
export type Entry = Readonly<Record<string, unknown>>;

/** What a job's status says. */
export interface Content {
  readonly state: 'pending' | 'succeeded' | 'failed';
  readonly entries: readonly Entry[];
  /** Whether the status has a history. Default true. */
  readonly hasHistory?: boolean;
  /** Other properties of the status. */
  readonly more?: object;
}

export const job: JobRef = { userId: 'user-1', jobId: 'job-1' };

/** The entry of a result. By default, it is one that names the job. */
export function entryOf(id: string, more: object = {}, { userId, jobId }: JobRef = job): Entry {
  const PartnerParams = { user_id: userId, job_id: jobId };
  return { ResultCode: '0810', ResultType: 'SAIA', HostedJobID: id, IsFinalResult: 'true', PartnerParams, ...more };
}

/** Writes a status of a job, signed for `at`. */
export function writeStatus(
  { state, entries, hasHistory = true, more }: Content,
  { userId, jobId }: JobRef,
  timestamp: string,
): object {
  return {
    timestamp,
    signature: sign(timestamp),
    job_complete: state !== 'pending',
    job_success: state === 'succeeded',
    user_id: userId,
    job_id: jobId,
    ...(entries.length > 0 && { result: entries.at(-1) }),
    ...(hasHistory && { history: entries }),
    ...more,
  };
}

/** What a callback says of its job, and when it was signed. */
export interface Hint extends JobRef {
  readonly entry: Entry;
  readonly timestamp: string;
}

/** Writes a callback as a request. */
export function writeCallback({ userId, jobId, entry, timestamp }: Hint): Request {
  const PartnerParams = { user_id: userId, job_id: jobId };
  const body = JSON.stringify({ ...entry, PartnerParams, timestamp, signature: sign(timestamp) });
  return new Request('https://partner.test/callbacks', { method: 'POST', body });
}

export const toIso = (ms: number) => new Date(ms).toISOString();

/** A time in whole seconds. */
export const toSeconds = (ms: number) => toIso(Math.floor(ms / second) * second).replace('.000Z', 'Z');

/** A request for job status that a process has sent. */
export interface Asked extends JobRef {
  readonly at: number;
  /** Whether the response is signed for the same time as the request, by chance: the client then asks again at once. */
  collides: boolean;
}

/** Whether two requests for a job were less than a second apart. */
export function isAskedTooOften(asked: readonly Asked[]): boolean {
  const latest = new Map<string, Asked>();
  return asked.some((request) => {
    const before = latest.get(request.jobId);
    // The second request of a call counts with its first.
    latest.set(request.jobId, before?.collides ? { ...before, collides: false } : request);
    return before !== undefined && !before.collides && request.at - before.at < second;
  });
}

/** What a process is given. */
export interface ProcessOptions {
  readonly clock: VirtualClock;
  /** Responds to requests for job status. */
  readonly respond: (job: JobRef) => Promise<object>;
  readonly onEvent: HandlerOptions['onEvent'];
  readonly guard?: ReplayGuard | undefined;
  readonly handler?: Partial<HandlerOptions>;
  readonly client?: Partial<HostedClientOptions>;
}

export type Process = ReturnType<typeof startProcess>;

/** Starts a process with a client and a handler. When it is killed, what it waits for never comes. */
export function startProcess({ clock, respond, onEvent, guard, handler, client: clientOptions }: ProcessOptions) {
  let isUp = true;
  const asked: Asked[] = [];
  const cuts = new Set<() => void>();
  const alive = <T>(work: Promise<T>) =>
    new Promise<T>((resolve, reject) => {
      work.then(
        (value) => isUp && resolve(value),
        (error: unknown) => isUp && reject(error),
      );
    });
  const fetch = async (_url: unknown, { body }: RequestInit = {}) => {
    const { user_id: userId, job_id: jobId, timestamp } = JSON.parse(String(body));
    const request = { userId, jobId, at: clock.now(), collides: false };
    asked.push(request);
    const record = await alive(respond({ userId, jobId }));
    request.collides = Object(record).timestamp === timestamp;
    return Response.json(record);
  };
  const silent = () => undefined;
  const client = new HostedClient({
    partnerId,
    apiKey,
    baseUrls: { sandbox: 'https://sandbox.hosted.test', production: 'https://production.hosted.test' },
    fetch: fetch as typeof globalThis.fetch,
    clock: { now: clock.now, sleep: (ms: number, signal?: AbortSignal) => alive(clock.sleep(ms, signal)) },
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    ...clientOptions,
  } as HostedClientOptions);
  const replayGuard = guard && {
    begin: (...given: Parameters<ReplayGuard['begin']>) => alive(guard.begin(...given)),
    commit: (...given: Parameters<ReplayGuard['commit']>) => alive(guard.commit(...given)),
    forget: (...given: Parameters<ReplayGuard['forget']>) => alive(guard.forget(...given)),
  };
  const handle = client.callbacks.handler({
    onEvent: (event, status) => alive(Promise.resolve(onEvent(event, status))),
    ...(replayGuard && { replayGuard }),
    ...handler,
  });
  return {
    client,
    /** The requests for job status, in order. */
    asked,
    /** Delivers a callback, and resolves with the status and the word of the response, or with how the connection ended. */
    async deliver(hint: Hint): Promise<string> {
      if (!isUp) return 'refused';
      let cut = () => {};
      const isCut = new Promise<string>((resolve) => {
        cut = () => resolve('cut');
      });
      cuts.add(cut);
      const responded = handle(writeCallback(hint)).then(async (it) => `${it.status} ${await it.text()}`);
      const response = await Promise.race([responded, isCut]);
      cuts.delete(cut);
      return response;
    },
    isUp: () => isUp,
    kill(): void {
      isUp = false;
      for (const cut of cuts) cut();
    },
  };
}

/** A guard that processes share. */
export function createSharedGuard({ now: elapsed }: VirtualClock): ReplayGuard {
  return createMemoryGuard({ elapsed });
}

/** A row of the table. */
export interface Row {
  readonly state: JobStatus['state'];
  readonly signedAt: Date;
  readonly status: JobStatus;
}

/** The table of the recipes, by the ids of a job. */
export function createTable() {
  const rows = new Map<string, Row>();
  const keyOf = ({ userId, jobId }: JobRef) => JSON.stringify([userId, jobId]);
  return {
    rowOf: (ref: JobRef = job) => rows.get(keyOf(ref)) ?? null,
    /** `insert … on conflict … do update set … where results.signed_at < excluded.signed_at` */
    upsert({ signedAt, ...ref }: JobEvent, status: JobStatus): boolean {
      const row = rows.get(keyOf(ref));
      if (row && !(row.signedAt < signedAt)) return false;
      rows.set(keyOf(ref), { state: status.state, signedAt, status });
      return true;
    },
  };
}
