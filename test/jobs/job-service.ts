/** A service of job status, written by hand and signed by node:crypto, which tells what it was asked and when. */

import { HostedClient, type HostedClientOptions } from 'hosted-client';
import { partnerId, sign } from '../support/fake-fetch.js';
import { createImmediateSigner } from '../support/immediate-signer.js';
import { createTestClock } from './idle-clock.js';

/** A request for a job's status, as it came. */
export interface Asked {
  readonly userId: string;
  readonly jobId: string;
  /** Milliseconds since the service was made. */
  readonly at: number;
  readonly timestamp: string;
  readonly signature: string;
}

/** What the service does about one request: a record to sign, a response as it is, or nothing for ever. */
export type Reply = object | Response | 'stall';

/** How far the service's clock is behind: two that are level would sign their halves of a call alike. */
const lagMs = 7;

/** No test needs as many requests. */
const mostRequests = 2_000;

/** A clock that can be read, and may sleep. */
type Time = Pick<ReturnType<typeof createTestClock>, 'now' | 'sleep'>;

/** A service that answers what `reply` says, and a client of it, both by `clock`; `byPlatform` gives the client none. */
export function serviceOf<Clock extends Time = ReturnType<typeof createTestClock>>(
  reply: (asked: Asked, before: readonly Asked[]) => Reply,
  {
    clock = createTestClock() as unknown as Clock,
    latencyMs = 0,
    byPlatform = false,
    ...options
  }: Partial<HostedClientOptions> & { clock?: Clock; latencyMs?: number; byPlatform?: boolean } = {},
) {
  const startedAt = clock.now();
  const asked: Asked[] = [];
  const fetch = async (_url: string, init: { body: string; signal: AbortSignal }): Promise<Response> => {
    // A poller that never waits would ask without an end.
    if (asked.length >= mostRequests) throw new TypeError('fetch failed');
    const body = JSON.parse(init.body) as Record<string, string>;
    const request: Asked = {
      userId: String(body.user_id),
      jobId: String(body.job_id),
      at: clock.now() - startedAt,
      timestamp: String(body.timestamp),
      signature: String(body.sec_key),
    };
    const given = reply(request, [...asked]);
    asked.push(request);
    if (given === 'stall') return await untilAborted(init.signal);
    if (latencyMs > 0) await clock.sleep?.(latencyMs, init.signal);
    return given instanceof Response ? given : Response.json(signedAt(clock.now() - lagMs, given));
  };
  const client = new HostedClient({
    partnerId,
    signer: createImmediateSigner(),
    baseUrls: { sandbox: 'https://sandbox.hosted.test' },
    fetch: fetch as unknown as typeof globalThis.fetch,
    ...(byPlatform ? {} : { clock }),
    ...options,
  } as HostedClientOptions);
  return { client, clock, asked, polledAt: () => asked.map(({ at }) => at) };
}

/** A record under a timestamp of this time, signed as the service signs. */
export function signedAt(ms: number, record: object): object {
  const timestamp = new Date(ms).toISOString();
  return { timestamp, sec_key: sign(timestamp), ...record };
}

export const pending = { job_complete: false, code: '2314', result: 'No zip uploaded yet' };

/** A final status that names its job. */
export function passed({ userId, jobId }: Pick<Asked, 'userId' | 'jobId'>): object {
  return { user_id: userId, job_id: jobId, job_complete: true, job_success: true, code: '2302' };
}

/** Nothing comes; only the request's own signal ends it. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
