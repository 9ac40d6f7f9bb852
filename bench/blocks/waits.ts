/** Waits for very many jobs in one process, and measures the CPU time of a poll and the memory of a waiting job. */

import { job, pendingJobStatus } from '../service/fixtures.ts';
import { createGate } from '../service/gate.ts';
import { assertSigned, kinds, proveCall } from '../service/proof.ts';
import { createTarget, type Target } from '../service/target.ts';
import { clientVariant, createClient } from '../variants/client.ts';
import { type Block, type BlockSettings, measureHeap } from './block.ts';

export interface WaitsSettings {
  readonly jobs: number;
  /** The number of polls in one turn. */
  readonly polls: number;
  /** `cpu`: the CPU time of polls while all jobs wait. `heap`: the heap after each job was polled and waits again. */
  readonly measures: 'cpu' | 'heap';
}

const hourMs = 3_600_000;

export async function prepare(settings: WaitsSettings & BlockSettings): Promise<Block> {
  const { dist, polls, measures } = settings;
  const jobs = Array.from({ length: settings.jobs }, (_, index) => ({ userId: 'user-1', jobId: `job-${index}` }));
  const gate = createGate();
  const target = createTarget(null);
  await proveBuild();
  // The response is signed once, before all requests. If it had the timestamp of a poll, it would have the signature
  // of that poll, and the client would reject it.
  target.respondWith(pendingJobStatus());
  const fetch: Target['fetch'] = async (input, init) => {
    await gate.pass();
    return target.fetch(input, init);
  };
  const client = await createClient(dist, { ...target, fetch }, { maxResponseAgeMs: 24 * hourMs });
  // After the first calls, the engine keeps some memory, which does not belong to the waits. So these calls are made
  // before the measurement.
  for (let call = 0; call < 3_000; call++) await client.jobs.status(job);
  target.sent.length = 0;

  let polled = 0;
  let failure: unknown = null;
  let notify: () => void = () => undefined;
  const before = await measureHeap();
  gate.close();
  if (measures === 'cpu') {
    await new Promise<void>((resolve) => wait(allButOneAtOnce(resolve), { initialDelayMs: hourMs, minDelayMs: 100 }));
  } else wait(jobs, { initialDelayMs: 0, minDelayMs: hourMs });

  return async () => {
    polled = 0;
    target.sent.length = 0;
    const startedAt = process.cpuUsage();
    gate.open(polls);
    await new Promise<void>((resolve) => {
      notify = () => {
        if (polled >= polls || failure !== null) resolve();
      };
      notify();
    });
    const { user, system } = process.cpuUsage(startedAt);
    if (failure !== null) throw failure;
    assertSigned(target.sent, polls);
    target.sent.length = 0;
    if (measures === 'heap') return { heap: ((await measureHeap()) - before) / jobs.length };
    return { cpu: (user + system) / polls };
  };

  function wait(
    source: Iterable<(typeof jobs)[0]> | AsyncIterable<(typeof jobs)[0]>,
    delays: { initialDelayMs: number; minDelayMs: number },
  ): void {
    const options = {
      ...delays,
      maxDelayMs: delays.minDelayMs,
      deadlineMs: Number.POSITIVE_INFINITY,
      // The timeouts are long, because the gate may hold a poll while other variants take their turns.
      timeoutMs: 600_000,
      totalTimeoutMs: 600_000,
    };
    const entries = client.jobs.waitForAll(source, {
      ...options,
      onPoll({ status, error }) {
        polled += 1;
        if (status?.state !== 'pending' || !status.signedAt)
          failure ??= error ?? new Error('A poll returned no signed pending status');
        notify();
      },
    });
    entries[Symbol.asyncIterator]()
      .next()
      .catch((error: unknown) => {
        failure ??= error;
        notify();
      });
  }

  /** Yields all jobs. Before the last job, it moves the clocks an hour ahead, so that the first polls are due. */
  async function* allButOneAtOnce(onBegun: () => void) {
    for (const next of jobs) {
      if (next === jobs.at(-1)) passHour();
      yield next;
    }
    onBegun();
  }

  async function proveBuild(): Promise<void> {
    const kind = kinds.status;
    const variant = await clientVariant(dist, target);
    const response = kind.write();
    target.respondWith(response);
    await proveCall({ variant, call: variant.status, kind, target }, response);
  }
}

/** Moves the clocks of this process an hour ahead, because a real hour would take too long. */
function passHour(): void {
  for (const clock of [Date, performance]) {
    const now = clock.now.bind(clock);
    clock.now = () => now() + hourMs;
  }
}
