/** Feeds a run: begins its jobs evenly over some time, and delivers their callbacks as the service does. */

import { idsOf } from './jobs.ts';
import { untilStored } from './worker.ts';
import { toTrack, type World } from './world.ts';

/** Feeds everything; resolves with how late the feed was at most, in ms. */
export async function feed(world: World): Promise<number> {
  const { scenario, service, tracker, slots, counts, problems, random, sleep } = world;
  const { overMs, pendingMs, callbacks = 0, doubled = 0, early = 0, linked = false } = scenario.feed;
  const { endless = 0, failing = 0, restAfterMs = 0 } = scenario.feed;
  const handle = tracker?.handler();
  const startedAt = Date.now();
  if (linked && tracker) await tracker.trackLink(service.addLink(), { context: { n: -1 } });

  async function post(body: string): Promise<number | null> {
    if (handle) return (await handle(new Request('http://web.test/callbacks', { method: 'POST', body }))).status;
    const slot = slots[Math.floor(random() * slots.length)];
    const response = await fetch(`http://127.0.0.1:${slot?.port}/`, { method: 'POST', body }).catch(() => null);
    return response?.status ?? null;
  }

  async function deliver(body: string): Promise<void> {
    for (let status = await post(body); status !== 200; status = await post(body)) {
      if (status !== null && status !== 503) return void problems.add(`a callback got ${status}`);
      counts[status === null ? 'broken' : 'repeated'] += 1;
      await sleep(status === null ? 100 : 500);
    }
  }

  async function tellOf(n: number): Promise<void> {
    const body = service.writeCallback(idsOf(n));
    const again = Array.from({ length: Math.floor(random() + doubled) }, () => random() * 1_000);
    counts.callbacks += 1 + again.length;
    const first = deliver(body);
    await Promise.all([first, ...again.map((ms) => first.then(() => sleep(ms)).then(() => deliver(body)))]);
  }

  function drawPendingMs(): number {
    if (!pendingMs) return 0;
    const [mean, most] = pendingMs;
    return Math.min(most, -Math.log(1 - random()) * mean);
  }

  async function feedBatch(numbers: readonly number[]): Promise<void> {
    const called: number[] = [];
    const before: number[] = [];
    for (const n of numbers) {
      const isCalled = random() < callbacks;
      const isEarly = isCalled && random() < early;
      if (isCalled) (isEarly ? before : called).push(n);
      if (n < failing || n >= failing + endless) service.endsAt[n] = Date.now() + (isEarly ? 0 : drawPendingMs());
    }
    await Promise.all(before.map(tellOf));
    if (tracker && !linked) {
      const jobs = toTrack(numbers, scenario, startedAt, scenario.jobs);
      await untilStored(
        () => tracker.track(jobs),
        () => (counts.repeated += 1),
      );
    }
    await Promise.all(
      called.map(async (n) => {
        await sleep((service.endsAt[n] ?? 0) - Date.now());
        await tellOf(n);
      }),
    );
  }

  async function feedFast(from: number, to: number): Promise<void> {
    const size = scenario.instant ? 2_000 : 500;
    for (let n = from; n < to; n += size) await feedBatch(rangeOf(n, Math.min(n + size, to)));
  }

  const first = failing + endless;
  await feedFast(0, failing);
  await sleep(startedAt + restAfterMs - Date.now());
  await feedFast(failing, first);
  const restAt = Date.now();
  world.rest = { at: performance.now(), pending: service.stillPending };
  const rest = scenario.jobs - first;
  const size = Math.max(1, Math.min(overMs > 0 ? 50 : 500, Math.round(rest / Math.max(1, overMs / 100))));
  const living: Promise<void>[] = [];
  let slowestMs = 0;
  for (let n = 0; n < rest; n += size) {
    const dueAt = restAt + (n / rest) * overMs;
    await sleep(dueAt - Date.now());
    slowestMs = Math.max(slowestMs, Date.now() - dueAt);
    const fed = feedBatch(rangeOf(first + n, first + Math.min(n + size, rest)));
    living.push(fed);
    if (overMs === 0) await fed;
  }
  await Promise.all(living);
  world.isFed = true;
  return slowestMs;
}

const rangeOf = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
