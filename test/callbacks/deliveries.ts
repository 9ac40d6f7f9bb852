// Callbacks signed by node:crypto, a job status that says what a test wants, and one handler on a test clock.

import {
  type CallbackHint,
  type HandlerOptions,
  HostedClient,
  type HostedClientOptions,
  type HostedEvent,
  type JobEvent,
  type JobStatus,
  type ReplayGuard,
} from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { expect } from 'vitest';
import { apiKey, clientOf, now, optionsOf, type SentRequest, serviceOf, sign, signed } from '../support/fake-fetch.js';

export const nowText = '2026-01-02T03:04:05.678Z';
export const day = 24 * 60 * 60 * 1000;

/** A callback to post. `{}` is a final result of job-1, signed when the test starts. */
export interface Posted {
  readonly job?: string;
  /** When it was signed, in ms after the start of the test. */
  readonly at?: number;
  /** The signed time, if it is written in another way. */
  readonly timestamp?: string | number;
  readonly key?: string;
  readonly isFinal?: boolean;
  /** Properties of its body that are not those of the usual result. */
  readonly says?: object;
  /** The whole body, if it is not that of a callback. */
  readonly body?: BodyInit | null;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** Whether other code has read the body before the handler. */
  readonly isRead?: boolean;
}

/** A result with no more in it than a callback needs. */
export const result = { ResultCode: '0810', ResultType: 'SAIA', HostedJobID: '0000001111', IsFinalResult: 'true' };

export function bodyOf({ job = 'job-1', at = 0, timestamp, key = apiKey, isFinal = true, says }: Posted = {}): string {
  const time = timestamp ?? new Date(now + at).toISOString();
  const PartnerParams = { user_id: 'user-1', job_id: job };
  const pair = { timestamp: time, signature: sign(String(time), key) };
  return JSON.stringify({ ...result, IsFinalResult: String(isFinal), PartnerParams, ...pair, ...says });
}

export function post(posted: Posted = {}): Request {
  const { body = bodyOf(posted), method = 'POST', headers = {} } = posted;
  const init = { method, headers, body: method === 'GET' || method === 'HEAD' ? null : body, duplex: 'half' };
  return new Request('https://partner.test/callbacks', init as RequestInit);
}

/** What job status says. `{}` is a job that succeeded by one result, signed when it is served. */
export interface Says {
  readonly state?: JobStatus['state'];
  /** The codes of its history. */
  readonly codes?: readonly string[];
  /** When it was signed, in ms after the start of the test. */
  readonly at?: number;
  /** How long its response takes, in ms. */
  readonly takesMs?: number;
}

/** The body of a status. Its time is written unlike that of requests, whose signature at the same ms would be the same. */
export function statusOf({ state = 'succeeded', codes, at = 0 }: Says, { user_id, job_id }: Record<string, unknown>) {
  const history = (codes ?? (state === 'pending' ? [] : ['0810'])).map((ResultCode) => ({ ...result, ResultCode }));
  const verdict = { job_complete: state !== 'pending', job_success: state === 'succeeded' };
  const timestamp = new Date(now + at).toISOString().replace('Z', '+00:00');
  return signed({ ...verdict, user_id, job_id, history }, { timestamp });
}

type Reply = Says | Response | ((request: SentRequest) => Response | Promise<Response>);
type TestClock = ReturnType<typeof createTestClock>;

export interface Setup {
  /** What job status says, one time after the other; the last one again and again. */
  readonly says?: readonly Reply[];
  /** What a guard of the caller does; its calls are counted from 1. Without it, the client's own guard is used. */
  readonly guard?: Partial<Record<keyof ReplayGuard, (call: number, clock: TestClock) => unknown>>;
  readonly onEvent?: (call: number, clock: TestClock) => unknown;
  readonly handler?: Partial<HandlerOptions>;
  readonly client?: Partial<HostedClientOptions>;
}

export const away = () => Promise.reject(new Error('the store is away'));
export const broken = () => {
  throw new Error('the store is broken');
};
export const forever = () => new Promise<never>(() => undefined);

type At = Parameters<NonNullable<HandlerOptions['onError']>>[1];

/** A handler, and a record of all that a user notices of its deliveries. */
export function startHandler({ says = [{}], guard, onEvent, handler, client: options }: Setup = {}) {
  const clock = createTestClock(now);
  const events: HostedEvent[] = [];
  const errors: { readonly error: unknown; readonly at: At }[] = [];
  const handed: (readonly [event: JobEvent, status: JobStatus])[] = [];
  const lines: string[] = [];
  /** All that happened, each after the ms that had passed. What is handed over is named unless it is the usual status. */
  const log: string[] = [];
  const note = (line: string) => void log.push(`${clock.now() - now} ${line}`);
  const of = (job: unknown) => (job === 'job-1' ? '' : ` ${job}`);

  const service = serviceOf(
    says.map((reply) => async (request: SentRequest) => {
      note(`ask${of(request.body.job_id)}`);
      const servedAt = clock.now() - now;
      if (typeof reply === 'function') return reply(request);
      if (reply instanceof Response) return reply.clone();
      if (reply.takesMs) await clock.sleep?.(reply.takesMs);
      return Response.json(statusOf({ at: servedAt, ...reply }, request.body));
    }),
  );
  const ignore = () => undefined;
  const logger = { debug: ignore, info: ignore, error: ignore, warn: (line: string) => void lines.push(line) };
  const client = new HostedClient(
    optionsOf(service, {
      clock,
      logger,
      onEvent: (event) => void events.push(event),
      ...options,
      wire: { echoesTimestamp: false, ...options?.wire },
    }),
  );
  const guardStep = (step: keyof ReplayGuard, usual?: 'new') => {
    let calls = 0;
    return async () => {
      calls += 1;
      note(step);
      return (guard?.[step] ? await guard[step](calls, clock) : usual) as never;
    };
  };
  const replayGuard = { begin: guardStep('begin', 'new'), commit: guardStep('commit'), forget: guardStep('forget') };
  const handle = client.callbacks.handler({
    ...(guard && { replayGuard }),
    onEvent: (event, status) => {
      handed.push([event, status]);
      const said = [status.state, ...(status.history ?? []).map(({ resultCode }) => resultCode)].join(' ');
      note(said === 'succeeded 0810' ? 'hand' : `hand ${said}`);
      return onEvent?.(handed.length, clock) as undefined;
    },
    onError: (error, at) => void errors.push({ error, at }),
    ...handler,
  });

  /** Delivers a callback. Resolves with the status of the response and its body, which is one word. */
  async function deliver(posted: Posted = {}): Promise<string> {
    const request = post(posted);
    if (posted.isRead) await request.text();
    const response = await handle(request);
    const word = await response.text();
    expect(word).toMatch(/^[a-z_]+$/);
    expect(response.headers.get('retry-after')).toBe(response.status === 503 ? '30' : null);
    expect(response.headers.get('allow')).toBe(response.status === 405 ? 'POST' : null);
    const ending = `${response.status} ${word}`;
    note(`${ending}${of(posted.job ?? 'job-1')}`);
    return ending;
  }

  return {
    client,
    clock,
    deliver,
    handle,
    errors,
    handed,
    lines,
    log,
    sent: service.sent,
    deliveries: () => events.filter((event) => event.type === 'callback'),
    /** Lets so many ms pass, or delivers callbacks; then lets 40 s pass, in which all deliveries end. */
    async run(steps: readonly (number | Posted)[] = [{}]): Promise<string> {
      const delivered: Promise<string>[] = [];
      for (const step of steps) {
        if (typeof step !== 'number') delivered.push(deliver(step));
        await clock.advance(typeof step === 'number' ? step : 0);
      }
      await clock.advance(40_000);
      await Promise.all(delivered);
      return log.join(', ');
    },
  };
}

/** A test of deliveries: its name, the handler, the log, and what happens; by default, one callback is delivered. */
export type Sequence = readonly [what: string, setup: Setup, log: string, steps?: readonly (number | Posted)[]];

/** The namespace of a client whose service gives no response that counts. */
export function receiver(options: Partial<HostedClientOptions> = {}) {
  return clientOf({}, options).client.callbacks;
}

/** What `receive` makes of the usual callback. */
export const hint: CallbackHint = {
  userId: 'user-1',
  jobId: 'job-1',
  linkId: null,
  isFinal: true,
  signedAt: new Date(now),
};
