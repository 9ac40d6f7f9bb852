// One signature, and many callbacks at once: the limits of requests, jobs and confirmations at the same time.

import { type HandlerOptions, HostedTimeoutError } from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { describe, expect, test, vi } from 'vitest';
import { expectOutcome, post, succeededStatus } from '../callbacks/deliveries.js';
import { confirmedListener, statusOf } from '../callbacks/handled-callback.js';
import { day } from '../callbacks/posted-callback.js';
import { clientOf, now, type Reply, type SentRequest } from '../support/fake-fetch.js';

test.each([
  [1_000, 'in seconds', '2026-01-02T03:04:05Z'],
  [1_000, 'in seconds with an offset', '2026-01-02T03:04:05+00:00'],
  [1_000, 'as seconds', Math.floor(now / 1_000)],
])(
  'at most %d jobs of one signed time are confirmed if it is written %s',
  { timeout: 60_000 },
  (most, _how, timestamp) =>
    expectOutcome(
      {},
      [
        ...Array.from({ length: most + 2 }, (_, job) => ({ job: `job-${job}`, timestamp })),
        { job: 'job-0', timestamp },
      ],
      {
        endings: [...Array<string>(most).fill('200 accepted'), '503 limit', '503 limit', '200 repeat'],
        requests: most,
      },
    ),
);

// Many at once --------------------------------------------------------------

/** A service that takes 50 ms to respond, and counts the requests at the same time. */
function slowService(clock: ReturnType<typeof createTestClock>, respond: (request: SentRequest) => Response) {
  const count = { inFlight: 0, most: 0 };
  const requests: { readonly job: unknown; readonly at: number }[] = [];
  const reply: Reply = async (request) => {
    requests.push({ job: request.body.job_id, at: clock.now() });
    count.inFlight += 1;
    count.most = Math.max(count.most, count.inFlight);
    await clock.sleep?.(50);
    count.inFlight -= 1;
    return respond(request);
  };
  return { count, requests, reply };
}

describe('many at once', { timeout: 60_000 }, () => {
  test('500 genuine callbacks at once are all accepted, with at most ten confirmations in flight', async () => {
    const clock = createTestClock(now);
    const { count, requests, reply } = slowService(clock, ({ body }) =>
      Response.json(succeededStatus(body, clock.now())),
    );
    const { client } = clientOf(reply, { clock });
    const onEvent = confirmedListener();
    const handle = client.callbacks.handler({ onEvent });

    const responses = Array.from({ length: 500 }, (_, index) =>
      handle(post({ job: `job-${index}`, timestamp: new Date(now - index).toISOString() })),
    );
    await clock.advance(10_000);

    expect(new Set(await Promise.all(responses.map(statusOf)))).toEqual(new Set([200]));
    expect(onEvent).toHaveBeenCalledTimes(500);
    expect(new Set(requests.map(({ job }) => job)).size).toBe(500);
    expect(count.most).toBe(10);
  });

  test('10,000 posts with one old signature cost fifty jobs a request a second, ten at once, and no other call anything', async () => {
    const clock = createTestClock(now);
    let isAway = false;
    const { count, requests, reply } = slowService(clock, ({ body }) =>
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
    const onEvent = confirmedListener();
    const onError = vi.fn<NonNullable<HandlerOptions['onError']>>();
    const handle = client.callbacks.handler({ onEvent, onError, maxJobsPerSignature: 50 });
    const old = new Date(now - day).toISOString();
    const genuine = handle(post({ job: 'job-0', timestamp: old }));
    await clock.advance(100);
    expect(await statusOf(genuine)).toBe(200);
    await clock.advance(1_000);
    isAway = true;
    requests.length = 0;

    const statuses: Promise<number>[] = [];
    for (let wave = 0; wave < 5; wave++) {
      for (let index = 0; index < 2_000; index++) {
        const says = { ResultText: `text ${wave} ${index}` };
        statuses.push(statusOf(handle(post({ job: `job-${index % 100}`, timestamp: old, says }))));
      }
      await clock.advance(1_000);
    }
    await clock.advance(20_000);

    expect(new Set(await Promise.all(statuses))).toEqual(new Set([503]));
    const jobs = [...new Set(requests.map(({ job }) => job))];
    expect(jobs).toHaveLength(50);
    for (const job of jobs) {
      const times = requests.filter((each) => each.job === job).map(({ at }) => at);
      expect(times.every((at, index) => index === 0 || at - (times[index - 1] ?? 0) >= 1_000)).toBe(true);
    }
    expect(count.most).toBe(10);
    expect(onError).toHaveBeenCalledTimes(10_000);
    // The guard still knows the genuine one, though job status is away.
    const before = requests.length;
    expect(await statusOf(handle(post({ job: 'job-0', timestamp: old })))).toBe(200);
    expect(requests).toHaveLength(before);
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
    const onError = vi.fn<NonNullable<HandlerOptions['onError']>>();
    const handle = client.callbacks.handler({ onEvent: confirmedListener(), onError });
    const statuses: number[] = [];

    for (let index = 0; index < 1_015; index++) {
      const timestamp = new Date(now - index).toISOString();
      void statusOf(handle(post({ job: `job-${index}`, timestamp }))).then((status) => statuses.push(status));
    }
    await clock.advance(9_999);
    expect(statuses).toEqual(Array(5).fill(503));
    await clock.advance(1);

    expect(statuses).toEqual(Array(1_005).fill(503));
    expect(sent).toHaveLength(10);
    expect(new Set(onError.mock.calls.map(([, { phase }]) => phase))).toEqual(new Set(['confirm']));
    for (const [error] of onError.mock.calls) expect(error).toBeInstanceOf(HostedTimeoutError);
    // The ten in flight end by the time limit of their attempt.
    await clock.advance(30_000);
    expect(statuses).toHaveLength(1_015);
  });

  test('callbacks.handler() keeps to maxConfirmations', async () => {
    const clock = createTestClock(now);
    const { count, reply } = slowService(clock, ({ body }) => Response.json(succeededStatus(body, clock.now())));
    const { client } = clientOf(reply, { clock });
    const handle = client.callbacks.handler({ onEvent: confirmedListener(), maxConfirmations: 3 });

    const responses = Array.from({ length: 20 }, (_, index) =>
      handle(post({ job: `job-${index}`, timestamp: new Date(now - index).toISOString() })),
    );
    await clock.advance(10_000);

    expect(new Set(await Promise.all(responses.map(statusOf)))).toEqual(new Set([200]));
    expect(count.most).toBe(3);
  });
});

const noPages = { currentPage: 1, limit: 20, totalCount: 0, totalPages: 1 };
