/**
 * A service of one answer: what a test wants to come back, signed by a second implementation of the
 * scheme, and a record of what was sent.
 */

import { createHmac } from 'node:crypto';
import {
  type CallOptions,
  HostedApiError,
  HostedAuthenticationError,
  HostedClient,
  type HostedClientOptions,
  HostedConfigError,
  HostedConnectionError,
  HostedNotFoundError,
  HostedPollTimeoutError,
  HostedRateLimitError,
  HostedResponseError,
  HostedServerError,
  HostedSignatureError,
  HostedTimeoutError,
  HostedValidationError,
  type NewLink,
  type OperationName,
} from 'hosted-client';

export const partnerId = '085';
export const apiKey = 'test-key';
export const now = Date.parse('2026-01-02T03:04:05.678Z');

/** `base64(HMAC-SHA256(key, timestamp + partner + 'sid_request'))`, by node:crypto. */
export function sign(timestamp: string, key = apiKey, partner = partnerId): string {
  return createHmac('sha256', key).update(`${timestamp}${partner}sid_request`).digest('base64');
}

/** A record as the service would sign it, at the test's time. */
export function signed(
  record: object,
  { member = 'sec_key', timestamp = new Date(now).toISOString() }: { member?: string; timestamp?: string } = {},
): Record<string, unknown> {
  return { ...record, timestamp, [member]: sign(timestamp) };
}

/** A request as it was handed to fetch. */
export interface SentRequest {
  readonly url: string;
  readonly init: RequestInit;
  readonly body: Record<string, unknown>;
}

/** One answer: a body as JSON, a response, or what to do with the request. */
export type Reply = Response | object | ((request: SentRequest, signal: AbortSignal) => Response | Promise<Response>);

/** A service that gives these answers in turn, the last one again and again. */
export function serviceOf(replies: Reply | readonly Reply[]) {
  const sent: SentRequest[] = [];
  const waiting: { readonly count: number; resolve(): void }[] = [];
  const queue = Array.isArray(replies) ? [...(replies as readonly Reply[])] : [replies as Reply];
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    const request = { url: String(url), init, body: JSON.parse(String(init.body)) as Record<string, unknown> };
    sent.push(request);
    for (const watcher of waiting) if (sent.length >= watcher.count) watcher.resolve();
    const reply = (queue.length > 1 ? queue.shift() : queue[0]) as Reply;
    if (typeof reply === 'function') return reply(request, init.signal as AbortSignal);
    return reply instanceof Response ? reply.clone() : Response.json(reply);
  };
  /** Resolves once so many requests have been sent. */
  const arrived = (count: number) =>
    new Promise<void>((resolve) => {
      if (sent.length >= count) resolve();
      else waiting.push({ count, resolve });
    });
  return { fetch: fetch as typeof globalThis.fetch, sent, arrived };
}

/** Options of a client of a service. */
export function optionsOf(
  { fetch }: { readonly fetch: typeof globalThis.fetch },
  options: Partial<HostedClientOptions> = {},
): HostedClientOptions {
  const given = {
    partnerId,
    ...(options.signer ? {} : { apiKey }),
    baseUrls: { sandbox: 'https://sandbox.hosted.test', production: 'https://production.hosted.test' },
    fetch,
    clock: stillClock(),
    ...options,
    // On a clock that stands still both sides sign at one millisecond, and so alike.
    wire: { echoesTimestamp: true, ...options.wire },
  };
  return given as HostedClientOptions;
}

/** A client of a service that gives these answers in turn, the last one again and again. */
export function clientOf(replies: Reply | readonly Reply[], options: Partial<HostedClientOptions> = {}) {
  const { fetch, sent, arrived } = serviceOf(replies);
  return { client: new HostedClient(optionsOf({ fetch }, options)), sent, arrived };
}

/** A link that the service accepts. */
export const newLink = {
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://partner.test/privacy',
  callbackUrl: 'https://partner.test/callback',
} satisfies NewLink;

/**
 * Every operation: how it is called, a response that it can use, whether it changes anything (section 4 of
 * docs/protocol.md), and whether the design lets it be repeated.
 */
export const operations = [
  {
    name: 'links.create',
    writes: true,
    repeatable: false,
    answer: () => ({ link: 'https://links.hosted.test/1', ref_id: 'ref-1' }),
    call: (client: HostedClient, options?: CallOptions) => client.links.create(newLink, options),
  },
  {
    name: 'links.update',
    writes: true,
    repeatable: true,
    answer: () => ({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1', id_types: [], disabled_at: null }),
    call: (client: HostedClient, options?: CallOptions) => client.links.update('ref-1', { idTypes: [] }, options),
  },
  {
    name: 'links.get',
    writes: false,
    repeatable: true,
    answer: () => ({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' }),
    call: (client: HostedClient, options?: CallOptions) => client.links.get('ref-1', options),
  },
  {
    name: 'links.list',
    writes: false,
    repeatable: true,
    answer: () => ({ links: [], meta: { currentPage: 1, limit: 20, totalCount: 0, totalPages: 1 } }),
    call: (client: HostedClient, options?: CallOptions) => client.links.list(options),
  },
  {
    name: 'jobs.status',
    writes: false,
    repeatable: true,
    answer: () => signed({ job_complete: false }),
    call: (client: HostedClient, options?: CallOptions) =>
      client.jobs.status({ userId: 'user-1', jobId: 'job-1' }, options),
  },
] as const;

/** Does not compile for an operation that has no row above. */
type Complete<Missing extends never> = Missing;
export type NoOperation = Complete<Exclude<OperationName, (typeof operations)[number]['name']>>;

/** A clock that stands still, whose sleeps never end by themselves but obey their signal. */
export function stillClock(at = now): { now(): number; sleep(ms: number, signal?: AbortSignal): Promise<void> } {
  return {
    now: () => at,
    sleep: (_ms, signal) =>
      new Promise((_resolve, reject) => {
        if (signal?.aborted) reject(signal.reason);
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  };
}

/** A clock whose back-off sleeps end at once and are recorded; its time limits never end. */
export function recordingClock(limits: readonly number[] = [30_000, 120_000], at = now) {
  const slept: number[] = [];
  const still = stillClock(at);
  return {
    slept,
    now: still.now,
    sleep: async (ms: number, signal?: AbortSignal) => {
      if (limits.includes(ms)) return still.sleep(ms, signal);
      signal?.throwIfAborted();
      slept.push(ms);
    },
  };
}

/** A clock that moves only when told, and tells when somebody has fallen asleep on it. */
export function manualClock(at = now) {
  const sleepers = new Set<{ readonly until: number; readonly ms: number; wake(): void }>();
  let waiting: { readonly ms: number; resolve(): void }[] = [];
  const clock = {
    time: at,
    now: () => clock.time,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        const sleeper = { until: clock.time + ms, ms, wake: resolve };
        const onAbort = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        if (signal?.aborted) return onAbort();
        sleepers.add(sleeper);
        signal?.addEventListener('abort', onAbort, { once: true });
        for (const { resolve } of waiting.filter((watcher) => watcher.ms === ms)) resolve();
        waiting = waiting.filter((watcher) => watcher.ms !== ms);
        clock.advance(0);
      }),
    /** How many sleeps have not ended. */
    sleeping: () => sleepers.size,
    /** Resolves as soon as somebody sleeps for this long. */
    asleep: (ms: number) =>
      new Promise<void>((resolve) => {
        if ([...sleepers].some((sleeper) => sleeper.ms === ms)) resolve();
        else waiting.push({ ms, resolve });
      }),
    advance: (ms: number) => {
      clock.time += ms;
      for (const sleeper of [...sleepers].filter(({ until }) => until <= clock.time)) {
        sleepers.delete(sleeper);
        sleeper.wake();
      }
    },
  };
  return clock;
}

/** A promise, and how to settle it. */
export function deferred<T = void>() {
  let settle: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return { promise, resolve: (value: T) => settle(value) };
}

/** What a platform's fetch throws: one failure, or one for each address that was tried. */
export function failed(...codes: readonly string[]): TypeError {
  const causes = codes.map((code) => Object.assign(new Error('connect'), { code }));
  const cause = causes.length === 1 ? causes[0] : new AggregateError(causes, 'connect');
  return new TypeError('fetch failed', { cause });
}

/** The code of each class of errors, by docs/errors.md. */
const codes = new Map<unknown, string>([
  [HostedApiError, 'api'],
  [HostedAuthenticationError, 'authentication'],
  [HostedConfigError, 'config'],
  [HostedConnectionError, 'connection'],
  [HostedNotFoundError, 'not_found'],
  [HostedPollTimeoutError, 'poll_timeout'],
  [HostedRateLimitError, 'rate_limit'],
  [HostedResponseError, 'response'],
  [HostedServerError, 'server'],
  [HostedSignatureError, 'signature'],
  [HostedTimeoutError, 'timeout'],
  [HostedValidationError, 'validation'],
]);

type ErrorClass<E> = new (...given: never[]) => E;

/** The error, which must be of this class, and have the code of this class. */
function checked<E>(error: unknown, type: ErrorClass<E> | undefined): E {
  if (type === undefined) return error as E;
  if (!(error instanceof type)) throw new Error(`expected ${type.name}`, { cause: error });
  const { code } = error as { readonly code?: unknown };
  if (code !== codes.get(type)) throw new Error(`expected the code of ${type.name}, got ${code}`, { cause: error });
  return error;
}

/** What a promise rejects with: an error of this class, if there is one. */
export async function rejection<E = unknown>(promise: Promise<unknown>, type?: ErrorClass<E>): Promise<E> {
  const error = await promise.then(
    () => {
      throw new Error('expected a rejection');
    },
    (reason: unknown) => reason,
  );
  return checked(error, type);
}

/** What a function throws: an error of this class, if there is one. */
export function thrownBy<E = unknown>(run: () => unknown, type?: ErrorClass<E>): E {
  try {
    run();
  } catch (error) {
    return checked(error, type);
  }
  throw new Error('expected a throw');
}
