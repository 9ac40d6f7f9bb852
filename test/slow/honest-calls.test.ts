// Honest services, whose clocks are where they are: none of their responses is taken for our own request.

import { createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { clientOf, now, type Reply, signed } from '../support/fake-fetch.js';
import { type Honest, honestService, passingClock } from '../support/honest-service.js';
import { partsOf } from '../support/parts.js';
import { randomFrom } from '../support/random.js';

const job = { userId: 'user-1', jobId: 'job-1' };
const minute = 60_000;

const forms = ['iso', 'epoch-ms'] as const;
const behind = [-3_000, -1_000, 0, 1_000, 1_500, 2_000, 2_500, 3_000, 5_000, 60_000];
const clocks = [0, 20, 40].flatMap((behindMs) =>
  [[behindMs, behindMs] as const, [0, 40] as const].map((wayMs) => ({ behindMs, wayMs })),
);

const ways: readonly Omit<Honest, 'format'>[] = [
  { behindMs: 0, wayMs: [0, 0.3] },
  { behindMs: 0, wayMs: [0.1, 2] },
  { behindMs: 0.5, wayMs: [0.2, 0.4] },
  // Behind by as much as its responses take, or at times by less.
  { behindMs: 22, wayMs: [20, 25] },
  { behindMs: 10, wayMs: [1, 60] },
  { behindMs: -40, wayMs: [80, 120] },
];

/** A service, how many calls are made, and how many of these may be rejected without retries. */
const services: readonly (Honest & { readonly calls: number; readonly rejected?: number })[] = [
  ...forms.flatMap((format) => ways.map((way) => ({ format, calls: 750, ...way }))),
  ...behind.flatMap((behindMs) =>
    (
      [
        [0, 1],
        [50, 150],
        [10, 1_500],
      ] as const
    ).map((wayMs) => ({ format: 'epoch-s', calls: 400, behindMs, wayMs }) as const),
  ),
  ...clocks.map((way) => ({ format: 'iso', calls: 500, rejected: 1, ...way }) as const),
];

test.each(services)(
  'of $calls honest calls in $format to a service $behindMs ms behind, $wayMs ms away, none fails',
  async ({ calls, rejected, ...service }) => {
    const callAll = async (options: { maxRetries?: number }) => {
      const random = randomFrom(1);
      const clock = passingClock();
      const wire = { echoesTimestamp: false, jobTimestampFormat: service.format };
      const { client, sent } = clientOf(honestService(clock, service, random), { clock, wire, ...options });
      let failed = 0;
      for (let call = 0; call < calls; call++) {
        await client.jobs.status(job).catch(() => {
          failed += 1;
        });
        clock.time += random() * 5;
      }
      return { failed, requestsPerCall: sent.length / calls };
    };

    const { failed, requestsPerCall } = await callAll({});

    expect(failed).toBe(0);
    expect(requestsPerCall).toBeLessThanOrEqual(rejected ? 1.004 : 1.02);
    if (rejected) expect((await callAll({ maxRetries: 0 })).failed).toBeLessThanOrEqual(rejected);
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
