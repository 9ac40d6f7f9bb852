// A process of a run: it works, or receives callbacks with a replay guard, until it is stopped or killed.

import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import process from 'node:process';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { HostedClient } from 'hosted-client';
import { createTracker, postgresReplayGuard, type SqlPool, type TrackerOptions } from 'hosted-client/tracking';
import pg from 'pg';
import { refuseNames } from '../../support/postgresql-places.ts';
import { idsOf } from './jobs.ts';

/** How a process reaches the database, as JSON. */
export interface PlaceOptions {
  readonly connectionString?: string;
  readonly folder?: string;
  readonly migrate?: boolean;
  /** The size of a pool of the caller. */
  readonly pool?: number;
  readonly withoutNames?: boolean;
}

/** Opens what a tracker needs to reach the database. */
export function openPlace({
  pool: max,
  withoutNames,
  ...place
}: PlaceOptions): Pick<TrackerOptions, 'connectionString' | 'folder' | 'migrate' | 'pool'> {
  if (!max) return place;
  const { connectionString, ...others } = place;
  const pool = new pg.Pool({ connectionString, max, connectionTimeoutMillis: 10_000 });
  pool.on('error', () => {});
  return { ...others, pool: withoutNames ? refuseNames(pool) : (pool as SqlPool) };
}

/** How a handler behaves. One whose context says so fails for ever. */
export interface HandlerPlan {
  /** The share of calls that throw. */
  readonly throws?: number;
  /** How long it takes, in ms: at least, and at most. */
  readonly takesMs?: readonly [number, number];
}

export interface WorkerPlan {
  readonly service: { readonly partnerId: string; readonly apiKey: string; readonly origin: string };
  readonly place: PlaceOptions;
  readonly options: Partial<TrackerOptions>;
  readonly handler: HandlerPlan;
  /** The file of deliveries. */
  readonly delivered: string;
  /** The numbers of the jobs that it tracks before it works: from, to. */
  readonly tracks?: readonly [number, number] | undefined;
  /** A process that receives callbacks with a replay guard: its port, its lease, and how wrong its clock is. */
  readonly guard?: { readonly port: number; readonly leaseMs: number; readonly skewMs: number } | undefined;
}

export interface Context {
  readonly [name: string]: number | string | boolean;
  readonly n: number;
}

/** A line of the file of deliveries. */
export interface Delivery {
  readonly key: string;
  readonly jobId: string;
  readonly n: number | null;
  readonly outcome: string;
  /** The state of the verified status, if there is one. */
  readonly state: string | null;
  readonly at: number;
}

/** Creates the handler of a worker, which writes a line after each effect. */
export function createHandler({ throws = 0, takesMs = [0, 0] }: HandlerPlan, write: (delivery: Delivery) => void) {
  return async (completion: {
    readonly key: string;
    readonly job: { readonly jobId: string } | null;
    readonly context: Context | null;
    readonly outcome: string;
    readonly status?: { readonly state: string; readonly signedAt: Date | null };
  }): Promise<void> => {
    const { key, job, context, outcome, status } = completion;
    const [least, most] = takesMs;
    if (most > 0) await sleep(least + Math.random() * (most - least));
    if (context?.fails || Math.random() < throws) throw new Error('this handler throws');
    const state = status?.signedAt ? status.state : null;
    write({ key, jobId: job?.jobId ?? '', n: context?.n ?? null, outcome, state, at: Date.now() });
  };
}

if (process.env.WORKER_PLAN) await work(JSON.parse(process.env.WORKER_PLAN));

async function work({ service, place, options, handler, delivered, tracks, guard }: WorkerPlan): Promise<void> {
  const { partnerId, apiKey, origin } = service;
  const write = (delivery: Delivery) => appendFileSync(delivered, `${JSON.stringify(delivery)}\n`);
  const { now } = Date;
  if (guard) Date.now = () => now() + guard.skewMs;
  const client = new HostedClient({ partnerId, apiKey, baseUrls: { sandbox: origin } });
  process.on('message', () => {
    globalThis.gc?.();
    process.send?.(process.memoryUsage().heapUsed);
  });
  process.on('disconnect', () => process.exit());
  process.channel?.unref();

  if (guard) {
    const { pool } = openPlace(place);
    if (!pool) throw new Error('a replay guard needs a pool');
    const handle = client.callbacks.handler({
      replayGuard: await untilStored(() => postgresReplayGuard({ pool })),
      leaseMs: guard.leaseMs,
      async onEvent({ id, jobId }, { state }) {
        await sleep(10);
        write({ key: id, jobId, n: null, outcome: 'completed', state, at: now() });
      },
    });
    const server = createServer(async (incoming, outgoing) => {
      const body = await buffer(incoming);
      const { status } = await handle(new Request('http://web.test/callbacks', { method: 'POST', body }));
      outgoing.writeHead(status).end();
    });
    server.listen(guard.port, '127.0.0.1');
    await once(server, 'listening');
    process.once('SIGTERM', () => process.exit());
    return;
  }

  const tracker = await untilStored(() =>
    createTracker<Context>({ client, ...openPlace(place), logger: console, ...options }),
  );
  // Nothing else ends the process: whatever stop() left open would keep it.
  process.once('SIGTERM', () => void tracker.stop().then(() => process.disconnect?.()));
  if (tracks) {
    const [from, to] = tracks;
    const jobs = Array.from({ length: to - from }, (_, at) => ({ ...idsOf(from + at), context: { n: from + at } }));
    await untilStored(() => tracker.track(jobs));
  }
  await untilStored(() => tracker.onCompletion(createHandler(handler, write)));
}

/** Tries again while the database cannot be used: it may be restarting. */
export async function untilStored<T>(act: () => Promise<T>, onRepeat = () => {}): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'storage') throw error;
      if (process.env.WORKER_PLAN) console.error(String(error));
      onRepeat();
      await sleep(500);
    }
  }
}
