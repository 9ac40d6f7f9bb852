/**
 * Compares the tracker for tests with calls of the client alone: a job is polled for thirty days, its handler fails
 * eight times, and then as many statuses are fetched by calls alone. Both take turns, so that a busy machine slows down
 * both. Run it with `npm run bench:test-tracker`.
 */

import { HostedClient } from 'hosted-client';
import { createMockService, createTestClock, createTestTracker } from 'hosted-client/testing';
import { rounded } from './statistics.ts';

const dayMs = 86_400_000;
/** In the first rounds, the code is still being compiled. */
const warmUps = 3;
const rounds = 5;

async function createKit() {
  const clock = createTestClock();
  const service = createMockService({ clock });
  let requests = 0;
  const client = new HostedClient({
    ...service.sandbox.clientOptions,
    fetch: (...given) => {
      requests += 1;
      return service.fetch(...given);
    },
  });
  const tracker = createTestTracker({ client, clock, deadlineMs: 40 * dayMs });
  let handled = 0;
  await tracker.onCompletion(() => {
    handled += 1;
    if (handled <= 8) throw new Error('the handler fails');
  });
  const job = service.sandbox.jobs.start();
  await tracker.track(job);
  return { clock, service: service.sandbox, client, tracker, job, count: () => requests, handled: () => handled };
}

/** Measures the processor time of work, in ms, because other programs may keep the machine busy. */
async function measure(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

const ratios: number[] = [];
for (let round = 0; round < warmUps + rounds; round++) {
  const { clock, service, client, tracker, job, count, handled } = await createKit();
  let tracking = 0;
  let calling = 0;
  for (let day = 3; day <= 30; day += 3) {
    const before = count();
    tracking += await measure(() => clock.advance(3 * dayMs));
    const calls = count() - before;
    calling += await measure(async () => {
      for (let call = 0; call < calls; call++) await client.jobs.status(job);
    });
    if (day === 27) service.jobs.complete(job, 'approved');
  }
  const state = (await tracker.get(job))?.state;
  if (state !== 'done' || handled() !== 9) throw new Error(`the job is ${state} after ${handled()} deliveries`);
  await tracker.stop();
  if (round >= warmUps) ratios.push(tracking / calling);
  console.log(`${count() / 2} requests: ${rounded(tracking)} ms tracked, ${rounded(calling)} ms called alone`);
}
ratios.sort((one, other) => one - other);
console.log(
  `Tracked requests take ${rounded(ratios[(rounds - 1) / 2] ?? 0)} times as long as calls alone (${ratios.map(rounded).join(', ')}).`,
);
