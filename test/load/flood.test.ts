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
  toSeconds,
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
  const took = genuine.map(({ ms }) => ms).sort((one, other) => one - other);
  const ending = Map.groupBy(genuine, ({ response }) => response);
  return { genuine, posts, requests: process.asked.length, took, ending };
}

for (const [pairs, withinMs] of [[25, 2_000], [500, 10_000]] as const) {
  for (const isEndless of [false, true]) {
    test(`a genuine callback is handled within ${withinMs} ms, however many are posted under ${pairs} captured pairs ${isEndless}`, async () => {
      const { took, ending, posts, requests } = await measureFlood({ pairs, isEndless });
      console.log(pairs, isEndless, took.at(0), took[took.length>>1], took.at(-1), [...ending].map(([a, b]) => `${a} ${b.length}`), posts, requests);
      expect(took.at(-1)).toBeLessThanOrEqual(withinMs);
    });
  }
}
for (const writeTime of [toIso, toSeconds]) {
  test(`2,000 callbacks signed for ${writeTime(Date.UTC(2026, 0))} all get 200 within their redeliveries`, async () => {
    const { clock, table, change, deliver } = startWorld({ writeTime });
    const jitter = randomFrom(1);
    const jobs = Array.from({ length: 2_000 }, (_, index) => ({ userId: `user-${index}`, jobId: `job-${index}` }));

    const responses = jobs.map((ref) => {
      const hint = change({ state: 'succeeded', entries: [entryOf('1', {}, ref)] }, ref);
      return clock.sleep(1_500 * jitter()).then(() => deliver(hint, 0, jitter));
    });
    await clock.advance(48 * hour);

    const last = (await Promise.all(responses)).map((all) => all.at(-1));
    expect(last.filter((response) => response !== '200 accepted')).toEqual([]);
    expect(jobs.every((ref) => table.rowOf(ref)?.state === 'succeeded')).toBe(true);
  });
}

