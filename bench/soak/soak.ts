/**
 * What stays behind after very many calls in one process: successes, faults, aborts and waits in turn,
 * in memory and over loopback. A short form of it is one of the tests.
 */

import { getEventListeners } from 'node:events';
import { HostedClient, type HostedClientOptions } from 'hosted-client';
import { hastyClock } from './hasty-clock.ts';
import { inMemory, overLoopback } from './kinds.ts';
import { startLoopbackService } from './loopback-service.ts';
import { memoryFetch } from './memory-service.ts';
import { apiKey, partnerId } from './responses.ts';

/** How much is done, and how. */
export interface Soak {
  readonly calls: number;
  /** How many calls are under way at once. */
  readonly concurrency: number;
  /** Collects garbage, where that can be asked for; without it the heap says little. */
  readonly collect: () => void;
  /** Called now and then with the number of calls that have ended. */
  readonly onProgress?: (ended: number, heapBytes: number) => void;
}

/** What the process holds. */
export interface Holdings {
  readonly heapBytes: number;
  /** Active resources of the process, by their kind. */
  readonly handles: Readonly<Record<string, number>>;
  /** Listeners of the one signal that every call is given. */
  readonly listeners: number;
  /** Connections that are open at the loopback server. */
  readonly sockets: number;
}

/** What came of it. */
export interface Soaked {
  readonly before: Holdings;
  readonly after: Holdings;
  /** How often each kind of call ended in each way: `'a reset: connection'`. */
  readonly endings: Readonly<Record<string, number>>;
  readonly mostListeners: number;
  readonly mostSockets: number;
  /** Names of the warnings of the process, such as that of too many listeners. */
  readonly warnings: readonly string[];
}

/** Makes so many calls, and returns what the process held before and after. */
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
    // Twice: what is finalized in one round is collected in the next.
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
    // Code is compiled and pools are filled by the first calls.
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
