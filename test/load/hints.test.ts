// One signed pair, and many callbacks at once: bounds on requests, jobs and confirmations in flight.

import { HostedTimeoutError } from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { describe, expect, test } from 'vitest';
import { expectLimit, listener, post, recordErrors, statusOf, succeededStatus } from '../callbacks/hint.js';
import { day } from '../callbacks/posted-callback.js';
import { clientOf, now, type Reply, type SentRequest } from '../support/fake-fetch.js';

test.each([
  [1_000, 'in whole seconds', '2026-01-02T03:04:05Z'],
  [1_000, 'in whole seconds with an offset', '2026-01-02T03:04:05+00:00'],
  [1_000, 'as seconds', Math.floor(now / 1_000)],
])(
  'at most %d jobs are asked about under one signed time that is written %s',
  { timeout: 60_000 },
  (most, _how, timestamp) => expectLimit(most, timestamp),
);

// Many at once --------------------------------------------------------------

/** A service that takes 50 ms to answer on a clock, and counts what is in flight. */
function slowService(clock: ReturnType<typeof createTestClock>, answer: (request: SentRequest) => Response) {
  const count = { inFlight: 0, most: 0 };
  const asked: { readonly job: unknown; readonly at: number }[] = [];
  const reply: Reply = async (request) => {
    asked.push({ job: request.body.job_id, at: clock.now() });
    count.inFlight += 1;
    count.most = Math.max(count.most, count.inFlight);
    await clock.sleep?.(50);
    count.inFlight -= 1;
    return answer(request);
  };
  return { count, asked, reply };
}

describe('many at once', { timeout: 60_000 }, () => {
  test('500 genuine callbacks at once are all accepted, with at most ten confirmations in flight', async () => {
    const clock = createTestClock(now);
    const { count, asked, reply } = slowService(clock, ({ body }) => Response.json(succeededStatus(body, clock.now())));
    const { client } = clientOf(reply, { clock });
    const onEvent = listener();
    const handle = client.callbacks.handler({ onEvent });

    const responses = Array.from({ length: 500 }, (_, index) =>
      handle(post({ jobId: `job-${index}`, timestamp: new Date(now - index).toISOString() })),
    );
    await clock.advance(10_000);

    expect(new Set(await Promise.all(responses.map(statusOf)))).toEqual(new Set([200]));
    expect(onEvent).toHaveBeenCalledTimes(500);
    expect(new Set(asked.map(({ job }) => job)).size).toBe(500);
    expect(count.most).toBe(10);
  });

  test('10,000 posts under one old pair cost fifty jobs a request a second, ten at once, and nothing of what else is going on', async () => {
    const clock = createTestClock(now);
    let isAway = false;
    const { count, asked, reply } = slowService(clock, ({ body }) =>
      isAway ? new Response(null, { status: 503 }) : Response.json(succeededStatus(body, clock.now())),
    );
    let linkRequests = 0;
    const links = () => {
      linkRequests += 1;
      return linkRequests % 2 === 1 ? new Response(null, { status: 503 }) : Response.json({ links: [], meta: noPages });
    };
    const { client } = clientOf(
      (request, signal) => {
        const isOfJobs = request.url.endsWith('/job_status');
        return isOfJobs && typeof reply === 'function' ? reply(request, signal) : links();
      },
      { clock },
    );
    const onEvent = listener();
    const { errors, onError } = recordErrors();
    const handle = client.callbacks.handler({ onEvent, onError, maxJobsPerSignature: 50 });
    const old = new Date(now - day).toISOString();
    const genuine = handle(post({ jobId: 'job-0', timestamp: old }));
    await clock.advance(100);
    expect(await statusOf(genuine)).toBe(200);
    await clock.advance(1_000);
    isAway = true;
    asked.length = 0;

    const statuses: Promise<number>[] = [];
    for (let wave = 0; wave < 5; wave++) {
      for (let index = 0; index < 2_000; index++) {
        const properties = { ResultText: `text ${wave} ${index}` };
        statuses.push(statusOf(handle(post({ jobId: `job-${index % 100}`, timestamp: old, properties }))));
      }
      await clock.advance(1_000);
    }
    await clock.advance(20_000);

    expect(new Set(await Promise.all(statuses))).toEqual(new Set([503]));
    const jobs = [...new Set(asked.map(({ job }) => job))];
    expect(jobs).toHaveLength(50);
    for (const job of jobs) {
      const times = asked.filter((each) => each.job === job).map(({ at }) => at);
      expect(times.every((at, index) => index === 0 || at - (times[index - 1] ?? 0) >= 1_000)).toBe(true);
    }
    expect(count.most).toBe(10);
    expect(errors).toHaveLength(10_000);
    // The guard still knows the genuine one, though job status is away.
    const before = asked.length;
    expect(await statusOf(handle(post({ jobId: 'job-0', timestamp: old })))).toBe(200);
    expect(asked).toHaveLength(before);
    expect(onEvent).toHaveBeenCalledTimes(1);
    // And calls are retried as ever: the confirmations that failed took no tokens, of which 500 are 125 such calls.
    for (let call = 0; call < 100; call++) {
      const listed = client.links.list();
      listed.catch(() => undefined);
      await clock.advance(10_000);
      expect((await listed).links).toEqual([]);
    }
    expect(linkRequests).toBe(200);
  });

  test('beyond the ten in flight 1,000 wait for ten seconds at most, and the others get 503 at once', async () => {
    const clock = createTestClock(now);
    const { client, sent } = clientOf(() => new Promise<Response>(() => undefined), { clock });
    const { errors, onError } = recordErrors();
    const handle = client.callbacks.handler({ onEvent: listener(), onError });
    const answered: number[] = [];

    for (let index = 0; index < 1_015; index++) {
      const timestamp = new Date(now - index).toISOString();
      void statusOf(handle(post({ jobId: `job-${index}`, timestamp }))).then((status) => answered.push(status));
    }
    await clock.advance(9_999);
    expect(answered).toEqual(Array(5).fill(503));
    await clock.advance(1);

    expect(answered).toEqual(Array(1_005).fill(503));
    expect(sent).toHaveLength(10);
    expect(new Set(errors.map(({ phase }) => phase))).toEqual(new Set(['confirm']));
    for (const { error } of errors) expect(error).toBeInstanceOf(HostedTimeoutError);
    // The ten in flight end by the time limit of their attempt.
    await clock.advance(30_000);
    expect(answered).toHaveLength(1_015);
  });

  test('callbacks.handler() keeps to maxConfirmations', async () => {
    const clock = createTestClock(now);
    const { count, reply } = slowService(clock, ({ body }) => Response.json(succeededStatus(body, clock.now())));
    const { client } = clientOf(reply, { clock });
    const handle = client.callbacks.handler({ onEvent: listener(), maxConfirmations: 3 });

    const responses = Array.from({ length: 20 }, (_, index) =>
      handle(post({ jobId: `job-${index}`, timestamp: new Date(now - index).toISOString() })),
    );
    await clock.advance(10_000);

    expect(new Set(await Promise.all(responses.map(statusOf)))).toEqual(new Set([200]));
    expect(count.most).toBe(3);
  });
});

const noPages = { currentPage: 1, limit: 20, totalCount: 0, totalPages: 1 };
