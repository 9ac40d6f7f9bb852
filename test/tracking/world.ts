// A mock service, a client of it and trackers on a schema of their own, for tests of tracking.

import { HostedClient, type HostedClientOptions, type JobRef } from 'hosted-client';
import { createMockService, type MockFault } from 'hosted-client/testing';
import {
  type Completion,
  createTracker,
  type Json,
  type SqlPool,
  type Tracker,
  type TrackerEvent,
  type TrackerOptions,
} from 'hosted-client/tracking';
import { onTestFinished, vi } from 'vitest';
import { readOptions } from '../../src/tracking/options.ts';
import { createStatements } from '../../src/tracking/statements.ts';
import { sign } from '../support/fake-fetch.ts';
import type { Database } from './databases.ts';

let schemas = 0;

/** What a callback says. */
export interface Written {
  /** The signed time, as text. */
  readonly timestamp: string;
  readonly jobId: string;
  readonly userId?: string;
  readonly linkRefId?: string;
}

type Rewrite = (body: Readonly<Record<string, unknown>>, url: string) => object;

/** A mock service, a client of it, and what trackers say. */
export function createServiceWorld(clientOptions: Partial<HostedClientOptions> = {}) {
  const { clock, wire } = clientOptions;
  const service = createMockService({ ...(clock && { clock }), ...(wire && { wire }) });
  const lines: string[] = [];
  const logger = {
    debug() {},
    info: (message: string) => void lines.push(`info ${message}`),
    warn: (message: string) => void lines.push(`warn ${message}`),
    error: (message: string) => void lines.push(`error ${message}`),
  };
  const state: {
    fault: MockFault | null;
    isHit: (url: string, body: string) => boolean;
    rewrite: Rewrite | null;
    free: number;
    freed: Promise<void>;
  } = {
    fault: null,
    isHit: () => true,
    rewrite: null,
    free: Number.POSITIVE_INFINITY,
    freed: Promise.resolve(),
  };
  const ask: typeof fetch = async (url, init) => {
    state.free -= 1;
    if (state.free < 0) await state.freed;
    if (state.fault && state.isHit(String(url), String(init?.body))) {
      service.sandbox.failNext(String(url).includes('_links') ? 'links.get' : 'jobs.status', state.fault);
    }
    const response = await service.fetch(url, init);
    if (!state.rewrite) return response;
    // The service signs the time alone.
    const body = state.rewrite((await response.json()) as Record<string, unknown>, String(url));
    return new Response(JSON.stringify(body), { headers: response.headers });
  };
  const client = new HostedClient({
    ...service.sandbox.clientOptions,
    fetch: ask,
    ...clientOptions,
  } as HostedClientOptions);
  const events: TrackerEvent[] = [];
  return {
    service: service.sandbox,
    /** Starts a job that has its result at once; of a link, where its reference id is given. */
    completeJob(outcome: 'approved' | 'rejected', linkRefId?: string) {
      const job = service.sandbox.jobs.start(linkRefId === undefined ? {} : { linkRefId });
      service.sandbox.jobs.complete(job, outcome);
      return job;
    },
    client,
    /** The body of a callback with a given signed time, as whoever has seen a genuine one can write it about any job. */
    write({ timestamp, jobId, userId = 'user', linkRefId }: Written): string {
      const { apiKey = '', partnerId } = service.sandbox.clientOptions;
      const link = linkRefId === undefined ? {} : { link_id: linkRefId };
      const PartnerParams = { user_id: userId, job_id: jobId, job_type: '1', ...link };
      return JSON.stringify({
        ResultCode: '0810',
        PartnerParams,
        timestamp,
        signature: sign(timestamp, apiKey, partnerId),
      });
    },
    /** The service, with what is wrong with it. */
    fetch: ask,
    /** What is wrong with every response from now on, or with those that are hit; null for nothing. */
    fail(fault: MockFault | null, isHit: (url: string, body: string) => boolean = () => true) {
      Object.assign(state, { fault, isHit });
    },
    /** Changes what the service responds from now on; null for nothing. */
    rewrite(rewrite: Rewrite | null) {
      state.rewrite = rewrite;
    },
    /** The properties of a status that was signed at a time. */
    signed(atMs: number) {
      const { apiKey = '', partnerId } = service.sandbox.clientOptions;
      const timestamp = new Date(atMs).toISOString();
      return { timestamp, sec_key: sign(timestamp, apiKey, partnerId) };
    },
    /** Lets so many more requests through; the others wait until the function that it gives is called. */
    holdAfter(requests: number): () => void {
      let release = () => {};
      state.free = requests;
      state.freed = new Promise((resolve) => {
        release = resolve;
      });
      return () => release();
    },
    /**
     * The times of requests of trackers that came before their rate allowed them. A busy machine delays requests, so they
     * may come closer together than they were sent, but none comes early.
     */
    listEarly({ startedAt, rate }: { readonly startedAt: number; readonly rate: number }): readonly number[] {
      const asked = service.sandbox.requests.filter(({ operation }) => operation !== 'links.create');
      const times = asked.map(({ at }) => at).sort((one, other) => one - other);
      return times.filter((at, n) => n + 1 > rate * ((at - startedAt) / 1_000 + 0.3) + 1);
    },
    events,
    lines,
    /** The options of a tracker with short waits. */
    options: {
      client,
      maxRequestsPerSecond: 1_000,
      minDelayMs: 40,
      maxDelayMs: 80,
      logger,
      onEvent: (event: TrackerEvent) => void events.push(event),
    },
  };
}

/** A mock service, which an example finds by variables and the global fetch until the test ends. */
export function stubService(variables: Readonly<Record<string, string>>) {
  const service = createMockService();
  const { clientOptions, baseUrl } = service.sandbox;
  const all = {
    HOSTED_PARTNER_ID: clientOptions.partnerId,
    HOSTED_API_KEY: clientOptions.apiKey ?? '',
    HOSTED_SANDBOX_BASE_URL: baseUrl,
    ...variables,
  };
  for (const [name, value] of Object.entries(all)) vi.stubEnv(name, value);
  vi.stubGlobal('fetch', service.fetch);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });
  return service;
}

/** What one test has: it ends with the test. */
export function createWorld(database: Pick<Database, 'pool'>, clientOptions: Partial<HostedClientOptions> = {}) {
  schemas += 1;
  const schema = `test_${schemas}`;
  const world = createServiceWorld(clientOptions);
  const trackers: Tracker<Json>[] = [];
  onTestFinished(async () => {
    await Promise.all(trackers.map((tracker) => tracker.stop({ timeoutMs: 100 })));
  });

  async function open(options: Partial<TrackerOptions> = {}): Promise<Tracker<Json>> {
    const tracker = await createTracker<Json>({ ...world.options, pool: database.pool, schema, ...options });
    trackers.push(tracker);
    return tracker;
  }

  return {
    ...world,
    /** Stores jobs that only callbacks have mentioned: each of its own signed time, the first one of the newest. */
    async insertMentioned(count: number, name: string, changes: Readonly<Record<string, string>> = {}): Promise<void> {
      const columns = {
        state: '0',
        mentioned_at: 'now()',
        callback_signed_at: "now() - n * interval '1 second'",
        mentioned_turn: '0',
        mentioned_polls: '0',
        ...changes,
      };
      await database.pool.query(`insert into ${schema}.tracked
        (key, kind, user_id, job_id, is_proven, ${Object.keys(columns).join(', ')})
        select gen_random_uuid(), 0, 'user', '${name}-' || n, false, ${Object.values(columns).join(', ')}
        from generate_series(1, ${count}) n`);
    },
    schema,
    pool: database.pool,
    /** A tracker with short waits. */
    open,
    /** The statements of a tracker with the usual waits, or with given ones. */
    statements: (given: Pick<TrackerOptions, 'minDelayMs' | 'maxDelayMs'> = {}) =>
      createStatements(readOptions({ client: world.client, pool: database.pool, schema, ...given })),
    /** A pool to the same database. While it is cut off, every statement is refused with this error. */
    createLine(error = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })) {
      const line = { isCut: false, refused: 0 };
      const refuse = async () => {
        line.refused += 1;
        throw error;
      };
      const pool: SqlPool = {
        query: (text, values) => (line.isCut ? refuse() : database.pool.query(text, values)),
        connect: () => (line.isCut ? refuse() : database.pool.connect()),
      };
      return Object.assign(line, { pool });
    },
    /** Hands over in vain what is completed, until so many completions are dead letters. */
    async bury(count: number): Promise<void> {
      const worker = await open({ maxAttempts: 1 });
      await worker.onCompletion(() => {
        throw new Error('not today');
      });
      await until(async () => (await worker.stats()).dead === count, 'the dead letters');
      await worker.stop();
    },
    /** Ends the leases of all completions. */
    async endLeases(): Promise<void> {
      await database.pool.query(`update ${schema}.tracked set deliver_at = now() where lease_id is not null`);
    },
    async rows(text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
      const { rows } = await database.pool.query(
        text.replaceAll('TRACKED', `${schema}.tracked`).replaceAll('FLEET', `${schema}.fleet`),
      );
      return rows as readonly Readonly<Record<string, unknown>>[];
    },
    /**
     * Moves every date that is stored: into the past, as if so much time had passed, or into the
     * future, as if the database's clock had gone back.
     */
    async moveDates(byMs: number): Promise<void> {
      const { rows } = await database.pool.query(
        `select table_schema, table_name, column_name from information_schema.columns
         where table_schema = '${schema}' and data_type like 'timestamp%'`,
      );
      const columnsOf = new Map<string, string[]>();
      for (const row of rows as { table_schema: string; table_name: string; column_name: string }[]) {
        const table = `${row.table_schema}.${row.table_name}`;
        columnsOf.set(table, [...(columnsOf.get(table) ?? []), row.column_name]);
      }
      // In one transaction, because a clock changes at once.
      const updates = [...columnsOf]
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([table, columns]) => {
          const moved = columns.map((name) => `${name} = ${name} + interval '${byMs} milliseconds'`);
          return `update ${table} set ${moved.join(', ')}`;
        });
      await database.pool.query(updates.join('; '));
    },
  };
}

/** Collects completions; the handler resolves by default. */
export function collect(handle: Handle = () => {}) {
  const completions: Completion[] = [];
  return {
    completions,
    async handler(completion: Completion) {
      completions.push(completion);
      await handle(completion);
    },
  };
}

type Handle = (completion: Completion) => void | Promise<void>;

/** What opens trackers. */
interface Place<Options> {
  open(options?: Options): Promise<Tracker<Json>>;
}

/** A world, and a tracker of it. */
export async function openTracker<World, Options>(world: World & Place<Options>, options?: NoInfer<Options>) {
  return { world, tracker: await world.open(options) };
}

/** A world, and a tracker of it that hands over what is completed. */
export async function startWorker<World, Options extends object>(
  world: World & Place<Options>,
  given?: NoInfer<Options> & { readonly handle?: Handle },
) {
  const { handle, ...options } = { ...given };
  const { tracker } = await openTracker(world, options as Options);
  return { world, tracker, completions: await collectFrom(tracker, handle) };
}

/** Makes a tracker hand over what is completed, and collects it. */
export async function collectFrom(tracker: Tracker<Json>, handle?: Handle): Promise<readonly Completion[]> {
  const { completions, handler } = collect(handle);
  await tracker.onCompletion(handler);
  return completions;
}

/** Whether no job is followed or handed over: both at one moment, because a job goes from the one to the other. */
export async function isIdle(tracker: Tracker<Json>): Promise<boolean> {
  const { tracking, handingOver } = await tracker.stats();
  return tracking + handingOver === 0;
}

/** Runs a statement of the tracker, or does something else. */
type Around = (text: string, run: (text?: string) => Promise<{ rows: unknown[] }>) => Promise<{ rows: unknown[] }>;

/** A pool whose connections run each statement as `around` says; every connection has its own. */
export function wrapPool(pool: SqlPool, around: () => Around): SqlPool {
  return {
    query: (text, values) => around()(text, (changed = text) => pool.query(changed, values)),
    async connect() {
      const connection = await pool.connect();
      const runAround = around();
      return {
        query: (text, values) => runAround(text, (changed = text) => connection.query(changed, values)),
        release: (isBroken) => connection.release(isBroken),
      };
    },
  };
}

/**
 * Takes a connection out of a pool. At the latest, it is destroyed when the test ends: a pool waits for its connections
 * before it ends, and a transaction that an assertion has left open would hold its locks until then.
 */
export async function takeConnection(pool: SqlPool): Promise<Awaited<ReturnType<SqlPool['connect']>>> {
  const connection = await pool.connect();
  let isTaken = true;
  const release = (isBroken?: boolean) => {
    if (isTaken) connection.release(isBroken);
    isTaken = false;
  };
  onTestFinished(() => release(true));
  return { query: (text, values) => connection.query(text, values), release };
}

/** What a link needs. */
export const newLink = {
  companyName: 'ACME',
  dataPrivacyPolicyUrl: 'https://acme.test/p',
  callbackUrl: 'https://acme.test/c',
};

/** Adds a link of another person to a world, and ways to write callbacks. */
export async function openAttack<World extends ReturnType<typeof createServiceWorld>>(world: World) {
  const victim = await world.client.links.create(newLink);
  const seen = world.completeJob('approved');
  return {
    world,
    victim,
    /** A callback with the signature of another one. */
    async forge(job: JobRef, linkId?: string): Promise<string> {
      const body = JSON.parse(await (await world.service.jobs.callback(seen)).text());
      const ids = { user_id: job.userId, job_id: job.jobId, ...(linkId !== undefined && { link_id: linkId }) };
      return JSON.stringify({ ...body, PartnerParams: { ...body.PartnerParams, ...ids } });
    },
    callbackOf: async (job: JobRef) => (await world.service.jobs.callback(job)).text(),
  };
}

/** Resolves once `isTrue`; fails after 20 s. Nothing is measured by it. */
export async function until(isTrue: () => boolean | Promise<boolean>, what = 'what was waited for'): Promise<void> {
  const endsAt = performance.now() + 45_000;
  while (!(await isTrue())) {
    if (performance.now() > endsAt) throw new Error(`${what} did not come true`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
