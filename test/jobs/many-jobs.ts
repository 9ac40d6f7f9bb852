/** A service of many jobs that end when they are due, a client that waits for them, and what is counted meanwhile. */

import { HostedClient, type HostedEvent } from 'hosted-client';
import { createCountingClock } from '../support/counting-clock.js';
import { partnerId, sign } from '../support/fake-fetch.js';
import { createImmediateSigner } from '../support/immediate-signer.js';
import { createTestClock } from './idle-clock.js';

/** What the service knows of a job: pending until it is due, or a response of another kind. */
type Course =
  | { readonly completeAt: number; readonly success?: boolean }
  | { readonly answer: () => object | Response };

interface Poll {
  readonly jobId: string;
  /** In ms since the start. */
  readonly at: number;
}

export const steady = { jitter: false } as const;

const pendingRecord = { job_complete: false, job_success: false, code: '2314', result: 'No zip uploaded yet' };

/** Time limits that are no delay of any wait, so that the sleeps of requests can be told from others. */
const limits = { timeoutMs: 29_999, totalTimeoutMs: 119_999 } as const;

/** A service of jobs that end when they are due, after `latencyMs` a request, and a client of it, by one clock. */
export function start({ latencyMs = 0 } = {}) {
  const clock = createTestClock();
  const startedAt = clock.now();
  const courses = new Map<string, Course>();
  const polls: Poll[] = [];
  const events: HostedEvent[] = [];
  const counting = createCountingClock(clock, Object.values(limits));
  let inFlight = 0;
  let mostInFlight = 0;

  async function answerTo(userId: string, jobId: string): Promise<Response> {
    const course = courses.get(jobId);
    if (course === undefined) return Response.json({ error: 'Job not found', code: '2304' }, { status: 400 });
    if ('answer' in course) {
      const given = course.answer();
      return given instanceof Response ? given : signedNow(given);
    }
    if (clock.now() - startedAt < course.completeAt) return signedNow(pendingRecord);
    const ids = { user_id: userId, job_id: jobId };
    return signedNow({ job_complete: true, job_success: course.success ?? true, code: '2302', ...ids });
  }

  function signedNow(record: object): Response {
    const timestamp = new Date(clock.now() - 1).toISOString();
    return Response.json({ ...record, timestamp, sec_key: sign(timestamp) });
  }

  const fetch = async (_url: unknown, init: RequestInit = {}) => {
    const { user_id: userId, job_id: jobId } = JSON.parse(String(init.body)) as Record<'user_id' | 'job_id', string>;
    polls.push({ jobId, at: clock.now() - startedAt });
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    try {
      if (latencyMs > 0) await clock.sleep?.(latencyMs, init.signal ?? undefined);
      return await answerTo(userId, jobId);
    } finally {
      inFlight -= 1;
    }
  };
  const client = new HostedClient({
    partnerId,
    signer: createImmediateSigner(),
    baseUrls: { sandbox: 'https://sandbox.hosted.test' },
    fetch: fetch as typeof globalThis.fetch,
    clock: counting,
    onEvent: (event) => events.push(event),
    ...limits,
  });

  return {
    client,
    clock,
    polls,
    events,
    courses,
    /** Makes a job that takes this course. */
    job: (jobId: string, course: Course = { completeAt: Number.POSITIVE_INFINITY }) => {
      courses.set(jobId, course);
      return { userId: `user-of-${jobId}`, jobId };
    },
    inFlight: () => inFlight,
    mostInFlight: () => mostInFlight,
    /** Sleepers of any kind. */
    asleep: counting.asleep,
    /** The most there ever were at once besides the time limits of requests. */
    mostAlarms: counting.mostAlarms,
    /** How many there were in all. */
    alarmsSet: counting.alarmsSet,
    polledAt: (jobId: string) => polls.filter((poll) => poll.jobId === jobId).map(({ at }) => at),
  };
}

type Entry<J> = { job: J; status?: { state: string } | undefined; error?: unknown };

/** Reads a wait to its end, as quickly as it comes. */
export function collect<J>(entries: AsyncIterable<Entry<J>>) {
  const seen: Entry<J>[] = [];
  const read = async () => {
    for await (const entry of entries) seen.push(entry);
  };
  const outcome: { state: 'pending' | 'done' | 'failed'; error: unknown } = { state: 'pending', error: null };
  const ended = read().then(
    () => Object.assign(outcome, { state: 'done' }),
    (error: unknown) => Object.assign(outcome, { state: 'failed', error }),
  );
  return { seen, outcome, ended };
}

/** Reads a wait to its end, while its clock advances by so much; gives what came, and how it ended. */
export async function collectFor<J>(
  clock: { advance(ms: number): Promise<void> },
  ms: number,
  entries: AsyncIterable<Entry<J>>,
) {
  const { seen, outcome, ended } = collect(entries);
  await clock.advance(ms);
  await ended;
  return { seen, outcome };
}

/** An iterator of jobs that notes what is asked of it. */
export function source<J>(jobs: readonly J[]) {
  const calls = { taken: 0, returned: 0 };
  const iterable: Iterable<J> = {
    [Symbol.iterator]: () => ({
      next: () => {
        const value = jobs[calls.taken];
        if (calls.taken >= jobs.length) return { done: true, value: undefined };
        calls.taken += 1;
        return { done: false, value: value as J };
      },
      return: () => {
        calls.returned += 1;
        return { done: true, value: undefined };
      },
    }),
  };
  return { iterable, calls };
}

export const mistake = new Error('of the source');
