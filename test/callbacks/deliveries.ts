// Deliveries to one handler, step by step, and what becomes of each.

import {
  type CallbackEvent,
  type ConfirmedEvent,
  type HandlerOptions,
  HostedClient,
  type HostedClientOptions,
  type HostedEvent,
  type JobStatus,
  type ReplayGuard,
} from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { expect } from 'vitest';
import {
  apiKey,
  now,
  optionsOf,
  type Reply,
  type SentRequest,
  serviceOf,
  sign,
  signed,
} from '../support/fake-fetch.js';

/** A callback to post. `{}` is the genuine result of job-1, signed when the test starts. */
export interface Posted {
  readonly job?: string;
  /** When it was signed, in ms after the start of the test. */
  readonly at?: number;
  /** The signed time, if it is written in another way. */
  readonly timestamp?: string | number;
  readonly key?: string;
  /** Properties of its body that are not those of the genuine result. */
  readonly says?: object;
  /** The whole body, if it is not that of a callback. */
  readonly body?: BodyInit | null;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** Whether something has read the body before the handler. */
  readonly isRead?: boolean;
}

export const genuine = { ResultCode: '0810', HostedJobID: '0000001111' };

/** The body of a callback, signed with the key of `clientOf` by node:crypto. */
export function bodyOf({ job = 'job-1', at = 0, timestamp, key = apiKey, says }: Posted = {}): string {
  const time = timestamp ?? new Date(now + at).toISOString();
  const PartnerParams = { user_id: 'user-1', job_id: job };
  const pair = { timestamp: time, signature: sign(String(time), key) };
  return JSON.stringify({ ...genuine, PartnerParams, ...pair, ...says });
}

export function post(posted: Posted = {}): Request {
  const { body = bodyOf(posted), method = 'POST', headers = {} } = posted;
  const init = { method, headers, body: method === 'GET' || method === 'HEAD' ? null : body, duplex: 'half' };
  return new Request('https://partner.test/callbacks', init as RequestInit);
}

/** The status of each job that is requested: it has succeeded. */
export function succeededStatus({ user_id, job_id }: SentRequest['body'], at = now): object {
  const history = [{ ...genuine, PartnerParams: { user_id, job_id } }];
  const record = { job_complete: true, job_success: true, user_id, job_id, history };
  return signed(record, { timestamp: new Date(at).toISOString() });
}

type Stage = 'begin' | 'confirm' | 'handle' | 'commit' | 'forget';
type How = 'release' | 'fail';

/**
 * What happens next: so many ms pass; a callback is delivered, delivered and held at stages, or delivered without
 * waiting for the response; or the oldest held delivery goes on, or its stage fails.
 */
export type Step = number | Posted | { readonly stages: readonly Stage[]; readonly posted: Posted } | How;

/** Delivers a callback, and holds it at these stages one after the other. */
export const hold = (posted: Posted, ...stages: readonly Stage[]): Step => ({ stages, posted });

/** Delivers a callback, and goes on at once. */
export const start = (posted: Posted = {}): Step => ({ stages: [], posted });

export interface Setup {
  readonly confirm?: false;
  /** Responses of job status. Without any, each job has succeeded. */
  readonly reply?: Reply | readonly Reply[];
  /** What a guard of the caller does; its calls are counted from 1. Without it, the client's own guard is used. */
  readonly guard?: Partial<Record<keyof ReplayGuard, (call: number) => unknown>>;
  readonly onEvent?: (call: number) => unknown;
  readonly handler?: Partial<HandlerOptions>;
  readonly client?: Partial<HostedClientOptions>;
}

export const away = () => Promise.reject(new Error('the store is away'));
export const broken = () => {
  throw new Error('the store is broken');
};

/** Fails the first time. */
export const failsOnce = (call: number) => (call === 1 ? away() : undefined);

type At = Parameters<NonNullable<HandlerOptions['onError']>>[1];

/** A handler, and a record of all that a user notices of its deliveries. */
export function startHandler({ confirm, reply, guard, onEvent, handler, client: options }: Setup = {}) {
  const clock = createTestClock(now);
  const events: HostedEvent[] = [];
  const errors: { readonly error: unknown; readonly at: At }[] = [];
  const handled: (readonly [event: CallbackEvent | ConfirmedEvent, status: JobStatus | undefined])[] = [];
  const lines: string[] = [];
  const stages: Stage[] = [];
  const keys = new Set<string>();
  const service = serviceOf(reply ?? (({ body }) => Response.json(succeededStatus(body, clock.now()))));
  const held: { readonly rest: readonly Stage[]; readonly delivery: Promise<unknown>; settle(how: How): void }[] = [];
  const started: Promise<unknown>[] = [];
  let hold: { readonly stage: Stage; reached(settle: (how: How) => void): void } | null = null;

  /** Runs a stage, and holds it before if a step wants that. */
  async function pass(stage: Stage, run: () => unknown): Promise<never> {
    stages.push(stage);
    if (hold?.stage === stage) {
      const { reached } = hold;
      hold = null;
      await new Promise<void>((resolve, reject) => {
        reached((how) => (how === 'release' ? resolve() : reject(new Error('it failed'))));
      });
    }
    return (await run()) as never;
  }

  const ignore = () => undefined;
  const logger = { debug: ignore, info: ignore, error: ignore, warn: (line: string) => void lines.push(line) };
  const fetch: typeof globalThis.fetch = (...sent) => pass('confirm', () => service.fetch(...sent));
  const client = new HostedClient(
    optionsOf({ fetch }, { clock, logger, onEvent: (event) => void events.push(event), ...options }),
  );
  const guardStep = (step: keyof ReplayGuard, usual?: 'new') => {
    let calls = 0;
    return (key: string) => {
      if (step === 'begin') keys.add(key);
      else expect(keys).toContain(key);
      calls += 1;
      return pass(step, () => (guard?.[step] ? guard[step](calls) : usual));
    };
  };
  const replayGuard = { begin: guardStep('begin', 'new'), commit: guardStep('commit'), forget: guardStep('forget') };
  const handle = client.callbacks.handler({
    ...(confirm === false && { confirm: false as never }),
    ...(guard && { replayGuard }),
    onEvent: (event: CallbackEvent | ConfirmedEvent, status?: JobStatus) => {
      handled.push([event, status]);
      const call = handled.length;
      return pass('handle', () => onEvent?.(call));
    },
    onError: (error, at) => void errors.push({ error, at }),
    ...handler,
  });

  async function deliver(posted: Posted = {}): Promise<Response> {
    const request = post(posted);
    if (posted.isRead) await request.text();
    const response = await handle(request);
    expect(await response.text()).toBe('');
    expect(response.headers.get('retry-after')).toEqual(
      response.status === 503 ? expect.stringMatching(/^[1-9]\d*$/) : null,
    );
    expect(response.headers.get('allow')).toBe(response.status === 405 ? 'POST' : null);
    return response;
  }

  /** Waits until the delivery that `goOn` moves is at the first of these stages. */
  function holdAt([stage, ...rest]: readonly Stage[], goOn: () => Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      let delivery: Promise<unknown> = Promise.resolve();
      const reached = (settle: (how: How) => void) => {
        held.push({ rest, settle, delivery });
        resolve();
      };
      if (stage) hold = { stage, reached };
      delivery = goOn();
    });
  }

  async function take(step: Step): Promise<unknown> {
    if (typeof step === 'number') return clock.advance(step);
    if (step === 'release' || step === 'fail') {
      const oldest = held.shift();
      const goOn = async () => {
        oldest?.settle(step);
        await oldest?.delivery;
      };
      return oldest?.rest.length && step === 'release' ? holdAt(oldest.rest, goOn) : goOn();
    }
    if (!('stages' in step)) return deliver(step);
    if (step.stages.length > 0) return holdAt(step.stages, () => deliver(step.posted));
    return started.push(deliver(step.posted));
  }

  const deliveries = () => events.filter((event) => event.type === 'callback');
  return {
    client,
    clock,
    deliver,
    /** Takes one step after the other. What is held in the end goes on. */
    async run(steps: readonly Step[]): Promise<void> {
      for (const step of steps) await take(step);
      while (held.length > 0) await take('release');
      await Promise.all(started);
      await clock.advance(0);
    },
    deliveries,
    /** The status of each delivery that ended, and its reason or result, in order. */
    endings: () => deliveries().map(({ status, reason, result }) => `${status} ${reason ?? result}`),
    errors,
    handled,
    lines,
    /** The stages of all deliveries, in order; those of a guard only if the caller gives one. */
    stages: () => stages.join(' '),
    sent: service.sent,
  };
}

export interface Outcome {
  /** The status of each delivery that ended, with its reason or result, in order. */
  readonly endings: readonly string[];
  /** The code and the job's state that `onEvent` got; `none` stands for an event without an entry. */
  readonly handled?: readonly string[];
  readonly requests?: number;
  /** The stages of all deliveries, in order. */
  readonly stages?: string;
  readonly errors?: readonly object[];
  /** How long each delivery took, in ms. */
  readonly took?: readonly number[];
  /** Parts of the log lines. Without it, only failures have log lines. */
  readonly lines?: readonly string[];
}

/** A test of deliveries: its name, the handler, what happens, and the outcome. */
export type Sequence = readonly [what: string, setup: Setup, steps: readonly Step[], outcome: Outcome];

/** Takes the steps with a new handler, and expects this outcome. */
export async function expectOutcome(
  setup: Setup,
  steps: readonly Step[],
  { endings, took, lines, ...outcome }: Outcome,
): Promise<void> {
  const handler = startHandler(setup);

  await handler.run(steps);

  expect(handler.endings()).toEqual(endings);
  const failures = endings.map((ending) => Number.parseInt(ending, 10)).filter((status) => status !== 200);
  expect(handler.errors.map(({ at }) => at)).toMatchObject(failures.map((status) => ({ status })));
  if (took) expect(handler.deliveries().map(({ durationMs }) => durationMs)).toEqual(took);
  if (lines) expect(handler.lines).toEqual(lines.map((line) => expect.stringContaining(line)));
  else expect(handler.lines.length > 0).toBe(failures.length > 0);
  expect({
    handled: handler.handled.map(([{ entry }, status]) =>
      [entry?.resultCode ?? 'none', status?.state].join(' ').trim(),
    ),
    requests: handler.sent.length,
    stages: handler.stages(),
    errors: handler.errors,
  }).toMatchObject(outcome);
}

/** A handler that confirms, and one that does not. */
export const both = [{}, { confirm: false }] as const;
export const nameOf = ({ confirm }: Setup) => (confirm === false ? 'unconfirmed, ' : '');
export const unavailable = new Response(null, { status: 503 });
