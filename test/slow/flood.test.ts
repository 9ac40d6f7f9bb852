// Many callbacks at once: of an attacker, who posts captured pairs with invented jobs, and of a service that ends many
// jobs at the same time. The body of a callback is not signed, so anyone who has seen one can post its pair with any job.

import type { JobRef } from 'hosted-client';
import { expect, test } from 'vitest';
import {
  backoffMs,
  createVirtualClock,
  entryOf,
  hour,
  minute,
  second,
  startProcess,
  toIso,
  writeStatus,
} from '../callbacks/job-world.js';
import { randomFrom } from '../support/random.js';

const statusMs = 200;
const jobsPerPair = 8;

/** Starts a process whose requests for job status take 200 ms. Only genuine jobs have succeeded. */
function startReceiver() {
  const clock = createVirtualClock();
  const handled = new Set<string>();
  const respond = async (ref: JobRef) => {
    const isGenuine = ref.userId === 'genuine';
    const timestamp = toIso(clock.now() + statusMs / 2);
    await clock.sleep(statusMs);
    return isGenuine
      ? writeStatus({ state: 'succeeded', entries: [entryOf('1', {}, ref)] }, ref, timestamp)
      : writeStatus({ state: 'pending', entries: [] }, ref, timestamp);
  };
  const onEvent = ({ jobId }: JobRef) => void handled.add(jobId);
  return { clock, handled, process: startProcess({ clock, respond, onEvent }) };
}

interface Flood {
  /** How many pairs an attacker has captured. */
  readonly pairs: number;
  /** Whether the attacker invents a job for each post, and does not use the same eight ones. */
  readonly isEndless: boolean;
}

/** Posts a genuine callback every 400 ms for a minute, while the flood lasts. Returns how long each took, and its response. */
async function measureFlood({ pairs, isEndless }: Flood) {
  const { clock, process } = startReceiver();
  const random = randomFrom(1);
  const endsAt = clock.now() + minute;
  const yesterday = clock.now() - 24 * hour;
  let invented = 0;
  let posts = 0;

  async function attack(pair: number, index: number): Promise<void> {
    await clock.sleep(random() * second);
    for (;;) {
      if (clock.now() > endsAt) return;
      const jobId = isEndless ? `endless-${invented++}` : `invented-${pair}-${index}`;
      posts += 1;
      const hint = { userId: 'attacker', jobId, entry: entryOf('1'), timestamp: toIso(yesterday + pair) };
      await process.deliver(hint);
      await clock.sleep(1);
    }
  }

  for (let pair = 0; pair < pairs; pair++) {
    for (let index = 0; index < jobsPerPair; index++) void attack(pair, index);
  }
  const genuine: { readonly ms: number; readonly response: string }[] = [];
  for (let at = 5 * second; at < minute; at += 400) {
    clock.at(endsAt - minute + at, async () => {
      const startedAt = clock.now();
      const hint = { userId: 'genuine', jobId: `job-${at}`, entry: entryOf('1'), timestamp: toIso(startedAt - 20) };
      const response = await process.deliver(hint);
      genuine.push({ ms: clock.now() - startedAt, response });
    });
  }
  await clock.advance(minute + 30 * second);
  return { genuine, posts };
}

const floods = [
  { pairs: 25, withinMs: 2_000 },
  // The turn begins within ten seconds; then comes the request.
  { pairs: 500, withinMs: 10_000 + statusMs },
];

for (const { pairs, withinMs } of floods) {
  for (const isEndless of [false, true]) {
    const jobs = isEndless ? 'ever new jobs' : 'eight jobs each';
    test(`a genuine callback gets 200 within ${withinMs} ms while ${pairs} captured pairs are posted with ${jobs}`, async () => {
      const { genuine, posts } = await measureFlood({ pairs, isEndless });

      expect(genuine.length).toBeGreaterThan(130);
      expect(genuine.filter(({ response, ms }) => response !== '200 accepted' || ms > withinMs)).toEqual([]);
      expect(posts).toBeGreaterThan(1_500);
    });
  }
}

for (const timestamp of ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05Z']) {
  test(`2,000 callbacks signed for ${timestamp} all get 200 within their redeliveries`, async () => {
    const { clock, handled, process } = startReceiver();
    const random = randomFrom(1);

    async function deliver(jobId: string): Promise<string> {
      const hint = { userId: 'genuine', jobId, entry: entryOf('1'), timestamp };
      await clock.sleep(1_500 * random());
      let response = await process.deliver(hint);
      for (const waitMs of backoffMs) {
        if (response.startsWith('200')) break;
        await clock.sleep(waitMs * (0.9 + 0.2 * random()));
        response = await process.deliver(hint);
      }
      return response;
    }
    const responses = Array.from({ length: 2_000 }, (_, index) => deliver(`job-${index}`));
    await clock.advance(48 * hour);

    expect((await Promise.all(responses)).filter((response) => response !== '200 accepted')).toEqual([]);
    expect(handled.size).toBe(2_000);
  });
}
