// Honest services, whose clocks are where they are: none of their responses is taken for our own request.

import { createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { clientOf, now, type Reply, signed } from '../support/fake-fetch.js';
import { type Honest, honestService, passingClock } from '../support/honest-service.js';
import { partsOf } from '../support/parts.js';
import { randomFrom } from '../support/random.js';

const job = { userId: 'user-1', jobId: 'job-1' };
const minute = 60_000;

/** How many calls failed, and how many requests a call made. */
async function callsOf(service: Honest, { calls, ...options }: { calls: number; maxRetries?: number }) {
  const random = randomFrom(1);
  const clock = passingClock();
  const reply = honestService(clock, service, random);
  const wire = { echoesTimestamp: false, jobTimestampFormat: service.format };
  const { client, sent } = clientOf(reply, { clock, wire, ...options });
  let failed = 0;
  for (let call = 0; call < calls; call++) {
    await client.jobs.status(job).catch(() => {
      failed += 1;
    });
    clock.time += random() * 5;
  }
  return { failed, requestsPerCall: sent.length / calls };
}

test.each<[string, number, readonly [number, number]]>([
  ['in the same process', 0, [0, 0.3]],
  ['on the same machine', 0, [0.1, 2]],
  ['in the same house, half a millisecond behind', 0.5, [0.2, 0.4]],
  ['that is behind by as much as its responses take', 22, [20, 25]],
  ['that is behind by less than they take, at times', 10, [1, 60]],
  ['far away, and ahead', -40, [80, 120]],
])('of 1,500 honest calls in milliseconds to a service %s none fails, and few are made twice', async (...row) => {
  const [, behindMs, wayMs] = row;
  for (const format of ['iso', 'epoch-ms'] as const) {
    const { failed, requestsPerCall } = await callsOf({ format, behindMs, wayMs }, { calls: 750 });

    expect(failed).toBe(0);
    expect(requestsPerCall).toBeLessThanOrEqual(1.02);
  }
});

test.each([-3_000, -1_000, 0, 1_000, 1_500, 2_000, 2_500, 3_000, 5_000, 60_000])(
  'of 400 honest calls in whole seconds to a service %i ms behind none fails, and few are made twice',
  async (behindMs) => {
    for (const wayMs of [
      [0, 1],
      [50, 150],
      [10, 1_500],
    ] as const) {
      const { failed, requestsPerCall } = await callsOf({ format: 'epoch-s', behindMs, wayMs }, { calls: 400 });

      expect(failed).toBe(0);
      expect(requestsPerCall).toBeLessThanOrEqual(1.02);
    }
  },
);

test.each<[string, number, number, readonly [number, number]]>([
  ['level', 10, 0, [0, 2]],
  ['level, and slow', 60, 0, [50, 50]],
  ['behind by as much as its responses take', 20, 22, [20, 25]],
])('of 300 honest calls to a service that is %s, %i at once, none fails', async (_what, atOnce, behindMs, way) => {
  const [least, most] = way;
  const random = randomFrom(1);
  const clock = createTestClock(now);
  const takeWay = () => clock.sleep?.(least + random() * (most - least));
  const reply: Reply = async () => {
    await takeWay();
    const timestamp = new Date(clock.now() - behindMs).toISOString();
    await takeWay();
    return Response.json(signed({ job_complete: false }, { timestamp }));
  };
  const { client, sent } = clientOf(reply, { wire: { echoesTimestamp: false }, clock });
  let left = 300;
  const callOn = async () => {
    for (; left > 0; ) {
      left -= 1;
      await client.jobs.status(job);
    }
  };

  const calls = Promise.all(Array.from({ length: atOnce }, callOn));
  await clock.advance(minute);
  await calls;

  expect(sent.length).toBeLessThanOrEqual(1.02 * 300);
  const times = sent.map(({ body }) => String(body.timestamp));
  expect(new Set(times).size).toBe(sent.length);
});

test.each([-2_000, 0, 2_500, 3_500, 4_000, 5_000, 10_000, 60_000])(
  'no honest wait in whole seconds ends by the signatures of its own polls, with a service %i ms behind',
  async (behindMs) => {
    const random = randomFrom(1);
    const clock = passingClock();
    const reply = honestService(clock, { format: 'epoch-s', behindMs, wayMs: [50, 150] }, random);
    const wire = { echoesTimestamp: false, jobTimestampFormat: 'epoch-s' as const };
    const { poll, sent } = partsOf(reply, { clock, wire });
    let polls = 0;
    for (let wait = 0; wait < 20; wait++) {
      for (let delayMs = 2_000; delayMs < 60_000; delayMs *= 1.3) {
        await poll({ issues: null });
        polls += 1;
        clock.time += Math.min(delayMs, 30_000) * (0.5 + random() / 2);
      }
    }

    expect(sent.length / polls).toBeLessThanOrEqual(1.02);
  },
);

const clocks = [0, 20, 40].flatMap((behindMs) =>
  [[behindMs, behindMs] as const, [0, 40] as const].map((wayMs) => ({ behindMs, wayMs })),
);

test.each(clocks)(
  'of 500 honest calls to a service $behindMs ms behind, $wayMs ms away, at most one is rejected without retries',
  async (service) => {
    const once = await callsOf({ format: 'iso', ...service }, { calls: 500, maxRetries: 0 });
    const retried = await callsOf({ format: 'iso', ...service }, { calls: 500 });

    expect(once.failed).toBeLessThanOrEqual(1);
    expect(retried.failed).toBe(0);
    expect(retried.requestsPerCall).toBeLessThanOrEqual(1.004);
  },
);
