// Replays traces of the model with the real parts of the tracker. After each step, what is stored must be what the model
// says.

import type { HostedClient } from 'hosted-client';
import { type Completion, createTracker, type SqlPool } from 'hosted-client/tracking';
import { expect, vi } from 'vitest';
import { createPlatformClock } from '../../../../src/runtime/clock.ts';
import { type Context, createContext } from '../../../../src/tracking/context.ts';
import { createKey } from '../../../../src/tracking/keys.ts';
import { readOptions } from '../../../../src/tracking/options.ts';
import { openDatabase } from '../../../../src/tracking/places/database.ts';
import { createStatements } from '../../../../src/tracking/statements.ts';
import { createWorkingTracker } from '../../../../src/tracking/working-tracker.ts';
import { links } from '../callers.ts';
import type { Settings } from '../settings.ts';
import { createCallerTakers } from './callers.ts';
import { createDeliveryTakers } from './deliveries.ts';
import { createPollTakers } from './polls.ts';
import { prepareAll } from './prepared-pool.ts';
import { openProcess } from './process.ts';
import { sign } from './signing.ts';
import type { Stage, Takers } from './steps.ts';
import { createReading, job, refIds, schema } from './stored.ts';
import { createTimers, settleDown } from './timers.ts';
import { labelOf, type Trace } from './traces.ts';

/** Replays traces, one after another, on the same tables. */
export interface Replay {
  /**
   * Resolves with the completions that handlers have received. Rejects if the tracker does something else than the
   * model: the error has the steps until then, and both states.
   */
  run(trace: Trace): Promise<readonly Completion<number>[]>;
}

const environment = 'sandbox';
const partnerId = '';
/** A time, in ms, after every limit of a delivery. */
const lateMs = 1e9;

/** Actions that store nothing. */
const unstored: ReadonlySet<string> = new Set([
  'answer',
  'ask',
  'ask in vain',
  'ask a replica',
  'prepare',
  'call',
  'too late',
  'time out',
  'resolve',
  'reject',
  'stop',
  'stop resolves',
  'start',
  'the deadline passes',
  'the job goes on',
  'an outage begins',
  'an outage ends',
  'the job breaks',
]);

/** Prepares the tables and two processes. From then on, the timers and the clock of this process stand still. */
export async function openReplay(unprepared: SqlPool): Promise<Replay> {
  const pool = prepareAll(unprepared);
  await pool.query('set plan_cache_mode = force_generic_plan');
  const options = { client: createClient(), pool, schema, maxRequestsPerSecond: 100_000, concurrency: 1 };
  await createTracker(options);
  const database = await openDatabase({ pool });
  const storage = {
    watch: <T>(_: string, step: () => Promise<T>) => step(),
    failed() {},
    worked() {},
    newerSince: () => null,
    stop() {},
  };
  const clock = { isNextLate: false };
  const elapsed = () => {
    const { isNextLate } = clock;
    clock.isNextLate = false;
    return isNextLate ? lateMs : 0;
  };
  const open = (given: object) => {
    const settings = readOptions({ ...options, ...given });
    const parts = {
      settings,
      database,
      statements: createStatements(settings),
      clock: { ...createPlatformClock(), elapsed },
    };
    const context: Context = { ...createContext({ ...parts, log() {} }, partnerId), ...parts, storage };
    return { context, tracker: createWorkingTracker<number>(context) };
  };
  const trackers = new Map<string, ReturnType<typeof open>>();
  const trackerOf = ({ maxAttempts, unknownJobs, deliveriesPerProcess: handlerConcurrency }: Settings) => {
    const given = { maxAttempts, unknownJobs, handlerConcurrency };
    const name = JSON.stringify(given);
    const opened = trackers.get(name) ?? open(given);
    trackers.set(name, opened);
    return opened;
  };

  const key = await createKey({ environment, partnerId }, ['job', job.userId, job.jobId]);
  const linkKey = await createKey({ environment, partnerId }, ['link', refIds[links.own] ?? '']);
  const { context } = open({});
  const processes = [openProcess(context), openProcess(context)] as const;
  const timers = createTimers();
  vi.stubGlobal('setTimeout', timers.setTimeout);
  vi.stubGlobal('clearTimeout', timers.clearTimeout);

  return {
    async run({ settings, steps }) {
      const opened = trackerOf(settings);
      await pool.query(`delete from ${schema}.tracked`);
      for (const process of processes) process.start(opened.context);
      for (const link of settings.callbacks) {
        if (link === links.other) await opened.tracker.trackLink(refIds[link] ?? '', { context: link });
      }
      const { leases, read, view } = createReading(pool, key, settings);
      const completions: Completion<number>[] = [];
      const keys = { key, linkKey, leases };
      const stage: Stage = { ...opened, ...keys, settings, pool, processes, timers, clock, completions };
      const takers: Takers = {
        ...createCallerTakers(stage),
        ...createPollTakers(stage),
        ...createDeliveryTakers(stage),
      };
      const taken: string[] = [];
      for (const step of steps) {
        taken.push(step.isVain ? `${labelOf(step)} (in vain)` : labelOf(step));
        const where = `in the setting "${settings.name}", after: ${taken.join(', ')}`;
        const take = takers[step.name];
        if (!take) throw new Error(`no replay has the action "${step.name}"`);
        try {
          await take(step);
          for (const process of processes) process.check();
        } catch (error) {
          throw new Error(where, { cause: error });
        }
        if (unstored.has(step.name) && step !== steps.at(-1)) continue;
        expect(await read(step.after), where).toEqual(view(step.after));
      }
      await settleDown();
      timers.clear();
      return completions;
    },
  };
}

/** The service, for callers: the body of a callback is the number of its link. */
function createClient(): HostedClient {
  const receive = async (body: string) => ({ ...job, linkId: refIds[Number(body)] ?? null, signedAt: sign() });
  const refuse = () => Promise.reject(new Error('only the processes send requests'));
  const namespaces = { jobs: { status: refuse }, links: { get: refuse }, callbacks: { receive, handler: refuse } };
  return { environment, ...namespaces } as unknown as HostedClient;
}
