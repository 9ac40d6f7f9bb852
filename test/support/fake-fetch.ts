/**
 * A service of one answer: what a test wants to come back, signed by a second implementation of the
 * scheme, and a record of what was sent.
 */

import { createHmac } from 'node:crypto';
import { type CallOptions, HostedClient, type HostedClientOptions } from 'hosted-client';

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

/** A client of a service that gives these answers in turn, the last one again and again. */
export function clientOf(replies: Reply | readonly Reply[], options: Partial<HostedClientOptions> = {}) {
  const sent: SentRequest[] = [];
  const queue = Array.isArray(replies) ? [...(replies as readonly Reply[])] : [replies as Reply];
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    const request = { url: String(url), init, body: JSON.parse(String(init.body)) as Record<string, unknown> };
    sent.push(request);
    const reply = (queue.length > 1 ? queue.shift() : queue[0]) as Reply;
    if (typeof reply === 'function') return reply(request, init.signal as AbortSignal);
    return reply instanceof Response ? reply.clone() : Response.json(reply);
  };
  const client = new HostedClient({
    partnerId,
    ...(options.signer ? {} : { apiKey }),
    baseUrls: { sandbox: 'https://sandbox.hosted.test', production: 'https://production.hosted.test' },
    fetch: fetch as typeof globalThis.fetch,
    clock: stillClock(),
    ...options,
  });
  return { client, sent };
}

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

/** What a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error('expected a rejection');
    },
    (error: unknown) => error,
  );
}

export type { CallOptions };
