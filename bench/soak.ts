/**
 * What stays behind after 100,000 calls in one process: successes, faults, aborts and waits in turn,
 * in memory and over loopback. Heap, handles, listeners and sockets must end where they began. Run it
 * with `npm run soak`; a short form of it is one of the tests.
 */

import { createHmac } from 'node:crypto';
import { getEventListeners, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { HostedClient, type HostedClientOptions } from 'hosted-client';

/** How much is done, and how. */
export interface Soak {
  readonly calls: number;
  /** How many calls are under way at once. */
  readonly concurrency: number;
  /** Collects garbage, where that can be asked for; without it the heap says little. */
  readonly collect: () => void;
  /** Is told now and then how many calls have ended. */
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

interface World {
  /** Answers in memory; its waits are cut short. */
  readonly memory: HostedClient;
  /** Talks to the loopback server, on the platform's own timers. */
  readonly loopback: HostedClient;
  readonly signal: AbortSignal;
}

const partnerId = '085';
const apiKey = 'soak-key';
const job = { userId: 'user-1', jobId: 'job-1' };
const newLink = {
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://partner.hosted.test/privacy',
  callbackUrl: 'https://partner.hosted.test/callback',
};

/** The kinds of calls, taken in turn. Those of `loopback` are one in every eight of the mixture. */
const inMemory: readonly (readonly [string, (world: World) => Promise<unknown>])[] = [
  ['create', ({ memory, signal }) => memory.links.create(newLink, { signal })],
  ['update', ({ memory, signal }) => memory.links.update('good', { idTypes: [] }, { signal })],
  ['get', ({ memory, signal }) => memory.links.get('good', { signal })],
  ['list', ({ memory, signal }) => memory.links.list({ signal })],
  ['status', ({ memory, signal }) => memory.jobs.status(job, { signal })],
  ['wait', ({ memory, signal }) => memory.jobs.waitForCompletion(job, { signal })],
  ['wait for several', ({ memory, signal }) => waitForSeveral(memory, signal)],
  [
    'watch, left early',
    ({ memory, signal }) => firstOf(memory.jobs.watch({ userId: 'user-1', jobId: 'pending' }, { signal })),
  ],
  [
    'wait, out of time',
    ({ memory, signal }) =>
      memory.jobs.waitForCompletion({ userId: 'user-1', jobId: 'pending' }, { signal, deadlineMs: 3, minDelayMs: 100 }),
  ],
  ['walk, left early', ({ memory, signal }) => firstOf(memory.links.list({ signal, prefetch: 2 }))],
  ['one 503', ({ memory, signal }) => memory.links.get('once-503', { signal })],
  ['503', ({ memory, signal }) => memory.links.get('503', { signal })],
  ['429', ({ memory, signal }) => memory.links.get('429', { signal })],
  ['404', ({ memory, signal }) => memory.links.get('404', { signal })],
  ['401', ({ memory, signal }) => memory.links.get('401', { signal })],
  ['reset', ({ memory, signal }) => memory.links.get('reset', { signal })],
  ['body that breaks', ({ memory, signal }) => memory.links.get('break', { signal })],
  ['HTML', ({ memory, signal }) => memory.links.get('html', { signal })],
  ['too large', ({ memory, signal }) => memory.links.get('large', { signal })],
  ['redirect', ({ memory, signal }) => memory.links.get('redirect', { signal })],
  ['no link id', ({ memory, signal }) => memory.links.get('..', { signal })],
  ['timeout', ({ memory, signal }) => memory.links.get('stall', { signal, timeoutMs: 2, maxRetries: 0 })],
  ['deaf timeout', ({ memory, signal }) => memory.links.get('deaf', { signal, timeoutMs: 2, maxRetries: 0 })],
  ['total timeout', ({ memory, signal }) => memory.links.get('stall', { signal, totalTimeoutMs: 2 })],
  ['abort before', ({ memory }) => memory.links.get('good', { signal: AbortSignal.abort() })],
  ['abort during fetch', ({ memory }) => aborted((signal) => memory.links.get('stall', { signal }))],
  ['abort during back-off', ({ memory }) => aborted((signal) => memory.links.get('sleepy', { signal, maxRetries: 9 }))],
  [
    'abort of a wait',
    ({ memory }) =>
      aborted((signal) =>
        memory.jobs.waitForCompletion(
          { userId: 'user-1', jobId: 'pending' },
          { signal, minDelayMs: 60_000, maxDelayMs: 60_000 },
        ),
      ),
  ],
];

const overLoopback: readonly (readonly [string, (world: World) => Promise<unknown>])[] = [
  ['socket: create', ({ loopback, signal }) => loopback.links.create(newLink, { signal })],
  ['socket: status', ({ loopback, signal }) => loopback.jobs.status(job, { signal })],
  ['socket: get', ({ loopback, signal }) => loopback.links.get('good', { signal })],
  ['socket: 503', ({ loopback, signal }) => loopback.links.get('503', { signal })],
  ['socket: reset', ({ loopback, signal }) => loopback.links.get('reset', { signal })],
  ['socket: body that breaks', ({ loopback, signal }) => loopback.links.get('break', { signal })],
  ['socket: too large', ({ loopback, signal }) => loopback.links.get('large', { signal })],
  ['socket: redirect', ({ loopback, signal }) => loopback.links.get('redirect', { signal })],
  ['socket: timeout', ({ loopback, signal }) => loopback.links.get('stall', { signal, timeoutMs: 10 })],
  ['socket: abort', ({ loopback }) => aborted((signal) => loopback.links.get('stall', { signal }))],
];

/** Makes so many calls, and tells what the process held before and after. */
export async function soak({ calls, concurrency, collect, onProgress }: Soak): Promise<Soaked> {
  const endings: Record<string, number> = {};
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => warnings.push(name);
  process.on('warning', onWarning);
  const server = await loopbackServer();
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
  const one = async (number: number) => {
    const kinds = number % 8 === 7 ? overLoopback : inMemory;
    const [kind, call] = kinds[Math.floor(number / 8 + number) % kinds.length] ?? (inMemory[0] as (typeof inMemory)[0]);
    const calling = call(world);
    mostListeners = Math.max(mostListeners, listeners());
    const ending = await calling.then(() => 'ok', endingOf);
    const said = `${kind}: ${ending}`;
    endings[said] = (endings[said] ?? 0) + 1;
  };
  const run = async (count: number, onEnd: (ended: number) => void) => {
    let started = 0;
    let ended = 0;
    const worker = async () => {
      while (started < count) {
        await one(started++);
        onEnd(++ended);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
  };
  const holdings = async (): Promise<Holdings> => {
    await server.quiet();
    // Twice: what is finalised in the one round is collected in the next.
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
    await run(Math.min(5_000, Math.ceil(calls / 4)), () => undefined);
    for (const said of Object.keys(endings)) delete endings[said];
    const before = await holdings();
    await run(calls, (ended) => {
      if (ended % 10_000 === 0) onProgress?.(ended, process.memoryUsage().heapUsed);
    });
    const after = await holdings();
    return { before, after, endings, mostListeners, mostSockets: server.most(), warnings };
  } finally {
    process.off('warning', onWarning);
    await server.close();
  }
}

const endingOf = (error: unknown): string => {
  const { code, name } = error as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name);
};

async function firstOf(iterable: AsyncIterable<unknown>): Promise<unknown> {
  for await (const first of iterable) return first;
  return undefined;
}

async function waitForSeveral(client: HostedClient, signal: AbortSignal): Promise<void> {
  const jobs = Array.from({ length: 5 }, (_, index) => ({ ...job, jobId: `job-${index}` }));
  for await (const entry of client.jobs.waitForAll(jobs, { signal })) void entry;
}

async function aborted(call: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
  const ending = new AbortController();
  const calling = call(ending.signal);
  const timer = setTimeout(() => ending.abort(), 2);
  return calling.finally(() => clearTimeout(timer));
}

/** The platform's timers; what is waited for back-off or between polls is cut to a millisecond, but for a minute. */
const hastyClock = {
  now: () => Date.now(),
  sleep: (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        ms < 20_000 ? Math.min(ms, 1) : ms,
      );
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};

// The service ---------------------------------------------------------------

// Not of this millisecond: that may be the request's own signature.
function signed(record: object): object {
  const timestamp = new Date(Date.now() - 1_000).toISOString();
  const sec_key = createHmac('sha256', apiKey).update(`${timestamp}${partnerId}sid_request`).digest('base64');
  return { ...record, timestamp, sec_key };
}

const link = { link_url: 'https://links.hosted.test/1', ref_id: 'good', disabled_at: null, id_types: [] };
const page = (number: number) => ({
  links: Array.from({ length: 5 }, (_, index) => ({ ...link, ref_id: `link-${number}-${index}` })),
  meta: { currentPage: number, limit: 5, totalCount: 50, totalPages: 10 },
});

function answerTo(path: string, body: { job_id?: string; page?: number }): object {
  if (path.endsWith('/job_status')) {
    const { job_id } = body;
    return signed(job_id === 'pending' ? { job_complete: false } : { job_complete: true, job_success: true, job_id });
  }
  return path.endsWith('/list') ? page(body.page ?? 1) : link;
}

const statuses: Readonly<Record<string, number>> = { '503': 503, '429': 429, '404': 404, '401': 401 };
const large = 'x'.repeat(256 * 1024);
const chunk = new TextEncoder().encode('{"link_url": "https://');
let number503 = 0;

const memoryFetch: typeof globalThis.fetch = async (input, init) => {
  const path = new URL(String(input)).pathname;
  const asked = path.split('/').at(-1) ?? '';
  const { signal } = init ?? {};
  const status = statuses[asked];
  // An answer is never there at once: a call is then never over in one turn.
  await new Promise((resolve) => setImmediate(resolve));
  if (status) return Response.json({}, { status });
  switch (asked) {
    case 'once-503':
      return number503++ % 2 === 0 ? Response.json({}, { status: 503 }) : Response.json({ ...link, ref_id: asked });
    case 'sleepy':
      return Response.json({}, { status: 503, headers: { 'retry-after': '30' } });
    case 'reset':
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) });
    case 'break':
      return new Response(brokenBody());
    case 'html':
      return new Response('<html>');
    case 'large':
      return new Response(large);
    case 'redirect':
      return new Response(null, { status: 307, headers: { location: 'https://other.hosted.test/' } });
    case 'deaf':
      return new Promise(() => undefined);
    case 'stall':
      return new Promise((_resolve, reject) => {
        if (signal?.aborted) reject(signal.reason);
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
    default:
      return Response.json(answerTo(path, JSON.parse(String(init?.body))));
  }
};

function brokenBody(): ReadableStream<Uint8Array> {
  let pulled = 0;
  return new ReadableStream({
    pull(body) {
      if (pulled++ === 0) body.enqueue(chunk);
      else
        body.error(
          new TypeError('terminated', { cause: Object.assign(new Error('gone'), { code: 'UND_ERR_SOCKET' }) }),
        );
    },
  });
}

interface LoopbackServer {
  readonly origin: string;
  open(): number;
  most(): number;
  /** Resolves once no connection is open; idle ones are closed. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

async function loopbackServer(): Promise<LoopbackServer> {
  const sockets = new Set<Socket>();
  let most = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => answer(request, response, body));
  });
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    open: () => sockets.size,
    most: () => most,
    async quiet() {
      const patience = Date.now() + 5_000;
      while (sockets.size > 0 && Date.now() < patience) {
        server.closeIdleConnections();
        // The platform connects for a request that is aborted meanwhile, and keeps the connection for
        // another one. To the server such a connection is not idle: it has not begun.
        for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer({ url = '' }: IncomingMessage, response: ServerResponse, body: string): void {
  const asked = url.split('/').at(-1) ?? '';
  const status = statuses[asked];
  response.setHeader('content-type', 'application/json');
  if (status) {
    response.writeHead(status).end('{}');
    return;
  }
  switch (asked) {
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'break':
      response.setHeader('content-length', 100).write('{"link_url":');
      setImmediate(() => response.destroy());
      return;
    case 'large':
      response.end(large);
      return;
    case 'redirect':
      response.writeHead(307, { location: '/elsewhere' }).end();
      return;
    case 'stall':
      return;
    default:
      response.end(JSON.stringify(answerTo(url, JSON.parse(body))));
  }
}

// The script ----------------------------------------------------------------

/** How much more may be held afterwards. */
const bounds = { heapBytes: 4 * 1024 * 1024, handles: 2, listeners: 0, sockets: 0 };

async function main(): Promise<void> {
  const { gc } = globalThis;
  if (!gc) throw new Error('run with node --expose-gc');
  const calls = Number(process.argv[2] ?? 100_000);
  let unhandled = 0;
  process.on('unhandledRejection', () => {
    unhandled += 1;
  });
  const startedAt = performance.now();
  const soaked = await soak({
    calls,
    concurrency: 50,
    collect: () => void gc(),
    onProgress: (ended, heapBytes) => console.log(`${String(ended).padStart(9)} calls    heap ${megabytes(heapBytes)}`),
  });
  const { before, after, endings, mostListeners, mostSockets, warnings } = soaked;
  const handles = (holdings: Holdings) => Object.values(holdings.handles).reduce((sum, count) => sum + count, 0);
  const grown = {
    heapBytes: after.heapBytes - before.heapBytes,
    handles: handles(after) - handles(before),
    listeners: after.listeners - before.listeners,
    sockets: after.sockets - before.sockets,
  };

  for (const [ending, count] of Object.entries(endings).sort()) console.log(`${String(count).padStart(9)} ${ending}`);
  console.log(`calls                ${calls} in ${Math.round((performance.now() - startedAt) / 1000)} s`);
  console.log(
    `heap                 ${megabytes(before.heapBytes)} → ${megabytes(after.heapBytes)} (bound: ${megabytes(bounds.heapBytes)} more)`,
  );
  console.log(
    `handles              ${JSON.stringify(before.handles)} → ${JSON.stringify(after.handles)} (bound: ${bounds.handles} more)`,
  );
  console.log(
    `abort listeners      ${before.listeners} → ${after.listeners}, at most ${mostListeners} on the way (bound: none more)`,
  );
  console.log(
    `sockets              ${before.sockets} → ${after.sockets}, at most ${mostSockets} on the way (bound: none more)`,
  );
  console.log(`warnings             ${warnings.length}, unhandled rejections ${unhandled} (bound: none)`);

  const names = ['heapBytes', 'handles', 'listeners', 'sockets'] as const;
  const over = names.filter((name) => grown[name] > bounds[name]);
  if (over.length > 0 || warnings.length > 0 || unhandled > 0) {
    console.error(`more is held than before: ${[...over, ...warnings].join(', ')}`);
    process.exitCode = 1;
  }
}

const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
