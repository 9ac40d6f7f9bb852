/**
 * Makes very many calls in one process, and measures what the process keeps afterwards. Successes, faults, aborts
 * and waits take turns, in memory and over loopback. `test/slow/leaks.test.ts` runs a short soak.
 */

import { getEventListeners } from 'node:events';
import { HostedClient, type HostedClientOptions } from 'hosted-client';
import { hastyClock } from './hasty-clock.ts';
import { inMemory, overLoopback } from './kinds.ts';
import { startLoopbackService } from './loopback-service.ts';
import { memoryFetch } from './memory-service.ts';
import { apiKey, partnerId } from './responses.ts';

/** The settings of a soak. */
export interface Soak {
  readonly calls: number;
  /** The number of calls that run at once. */
  readonly concurrency: number;
  /** Collects garbage. If the process does not allow this, `heapBytes` includes garbage. */
  readonly collect: () => void;
  /** Called after every 10,000 calls, with the number of calls that have ended and the bytes of the heap in use. */
  readonly onProgress?: (ended: number, heapBytes: number) => void;
}

/** The resources that the process has in use. */
export interface Holdings {
  readonly heapBytes: number;
  /** The number of active resources of the process, by kind. */
  readonly handles: Readonly<Record<string, number>>;
  /** The number of listeners on the signal that all calls share. */
  readonly listeners: number;
  /** The number of open connections to the loopback server. */
  readonly sockets: number;
}

/** The result of a soak. */
export interface Soaked {
  readonly before: Holdings;
  readonly after: Holdings;
  /** The number of calls by kind and end, for example `'reset: connection'`. */
  readonly endings: Readonly<Record<string, number>>;
  readonly mostListeners: number;
  readonly mostSockets: number;
  /** The names of the warnings that the process emitted, for example about too many listeners. */
  readonly warnings: readonly string[];
}

/** Makes the calls, and returns the resources of the process before and after them. */
export async function soak({ calls, concurrency, collect, onProgress }: Soak): Promise<Soaked> {
  const endings: Record<string, number> = {};
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => warnings.push(name);
  process.on('warning', onWarning);
  const server = await startLoopbackService();
  const options = { partnerId, apiKey, maxResponseBytes: 64 * 1024 } satisfies Partial<HostedClientOptions>;
  const world = {
    memory: new HostedClient({
      ...options,
      baseUrls: { sandbox: 'https://sandbox.hosted.test' },
      fetch: memoryFetch,
      clock: hastyClock,
    }),
    loopback: new HostedClient({ ...options, baseUrls: { sandbox: server.origin }, maxRetries: 0 }),
    signal: new AbortController().signal,
  };
  let mostListeners = 0;

  const listeners = () => getEventListeners(world.signal, 'abort').length;
  const makeCall = async (number: number) => {
    const kinds = number % 8 === 7 ? overLoopback : inMemory;
    const [kind, call] = kinds[Math.floor(number / 8 + number) % kinds.length] ?? (inMemory[0] as (typeof inMemory)[0]);
    const calling = call(world);
    mostListeners = Math.max(mostListeners, listeners());
    const ending = `${kind}: ${await calling.then(() => 'ok', endingOf)}`;
    endings[ending] = (endings[ending] ?? 0) + 1;
  };
  const makeCalls = async (count: number, onEnd: (ended: number) => void) => {
    let started = 0;
    let ended = 0;
    const worker = async () => {
      while (started < count) {
        await makeCall(started++);
        onEnd(++ended);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  };
  const measureHoldings = async (): Promise<Holdings> => {
    await server.quiet();
    // One round is not enough: objects that are finalized in a round are collected in the next round.
    for (let round = 0; round < 2; round++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      collect();
    }
    const heapBytes = process.memoryUsage().heapUsed;
    const handles: Record<string, number> = {};
    for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
    return { heapBytes, handles, listeners: listeners(), sockets: server.open() };
  };

  try {
    // The first calls compile code and fill pools, so they happen before the measurement.
    await makeCalls(Math.min(5_000, Math.ceil(calls / 4)), () => undefined);
    for (const ending of Object.keys(endings)) delete endings[ending];
    const before = await measureHoldings();
    await makeCalls(calls, (ended) => {
      if (ended % 10_000 === 0) onProgress?.(ended, process.memoryUsage().heapUsed);
    });
    const after = await measureHoldings();
    return { before, after, endings, mostListeners, mostSockets: server.most(), warnings };
  } finally {
    process.off('warning', onWarning);
    await server.close();
  }
}

function endingOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name);
}
