// Many callbacks at once: the limits of requests and of jobs in hand at the same time.

import type { HandlerOptions } from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { expect, test, vi } from 'vitest';
import { post } from '../callbacks/deliveries.js';
import { clientOf, now, type Reply, type SentRequest, signed } from '../support/fake-fetch.js';

/** A handler of a service that takes 50 ms to respond, and counts the requests at the same time. */
function startSlow(options: Partial<HandlerOptions> = {}) {
  const clock = createTestClock(now);
  const count = { inFlight: 0, most: 0 };
  const requests: { readonly job: unknown; readonly at: number }[] = [];
  const service = { isAway: false };
  const reply: Reply = async ({ url, body }) => {
    if (!url.endsWith('/job_status')) return links();
    requests.push({ job: body.job_id, at: clock.now() });
    count.inFlight += 1;
    count.most = Math.max(count.most, count.inFlight);
    await clock.sleep?.(50);
    count.inFlight -= 1;
    return service.isAway ? new Response(null, { status: 503 }) : Response.json(succeeded(body, clock.now()));
  };
  let linkRequests = 0;
  const links = () => {
    linkRequests += 1;
    return linkRequests % 2 === 1 ? new Response(null, { status: 503 }) : Response.json({ links: [], meta: noPages });
  };
  const { client } = clientOf(reply, { clock });
  const onEvent = vi.fn();
  const handle = client.callbacks.handler({ onEvent, ...options });
  const deliver = async (posted: Parameters<typeof post>[0]) => (await handle(post(posted))).status;
  return { clock, count, requests, service, client, onEvent, deliver };
}

function succeeded({ user_id, job_id }: SentRequest['body'], at: number): object {
  const result = { ResultCode: '0810', PartnerParams: { user_id, job_id } };
  const record = { job_complete: true, job_success: true, user_id, job_id, history: [result] };
  // Unlike the time of a request, whose signature at the same ms would be the same.
  return signed(record, { timestamp: new Date(at).toISOString().replace('Z', '+00:00') });
}

const noPages = { currentPage: 1, limit: 20, totalCount: 0, totalPages: 1 };

test.each([
  [500, 10, {}],
  [20, 3, { maxConfirmations: 3 }],
])('%d genuine callbacks at once are all accepted, with at most %d requests in flight', async (many, most, options) => {
  const { clock, count, requests, onEvent, deliver } = startSlow(options);

  const statuses = Array.from({ length: many }, (_, index) => deliver({ job: `job-${index}`, at: -index }));
  await clock.advance(10_000);

  expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
  expect(onEvent).toHaveBeenCalledTimes(many);
  expect(new Set(requests.map(({ job }) => job)).size).toBe(many);
  expect(count.most).toBe(most);
});

test('10,000 posts with one old signature cost fifty jobs a request a second, ten at once, and no other call anything', async () => {
  const { clock, count, requests, service, client, onEvent, deliver } = startSlow({ maxJobsPerSignature: 50 });
  service.isAway = true;

  const statuses: Promise<number>[] = [];
  for (let wave = 0; wave < 5; wave++) {
    for (let index = 0; index < 2_000; index++) {
      const says = { ResultText: `text ${wave} ${index}` };
      statuses.push(deliver({ job: `job-${index % 100}`, at: -86_400_000, says }));
    }
    await clock.advance(1_000);
  }
  await clock.advance(20_000);

  expect(new Set(await Promise.all(statuses))).toEqual(new Set([503]));
  expect(onEvent).not.toHaveBeenCalled();
  const jobs = new Set(requests.map(({ job }) => job));
  expect(jobs.size).toBe(50);
  for (const job of jobs) {
    const times = requests.filter((each) => each.job === job).map(({ at }) => at);
    expect(times.every((at, index) => index === 0 || at - (times[index - 1] ?? 0) >= 1_000)).toBe(true);
  }
  expect(count.most).toBe(10);
  // Calls are retried as ever: the requests that failed took no tokens, of which 500 are 125 such calls.
  for (let call = 0; call < 100; call++) {
    const listed = client.links.list();
    listed.catch(() => undefined);
    await clock.advance(10_000);
    expect((await listed).links).toEqual([]);
  }
});
