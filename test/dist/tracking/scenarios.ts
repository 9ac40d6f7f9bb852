/** The scenarios by name. Those of a name run on one server, each in a database of its own. */

import type { Version } from './builds.ts';
import type { Scenario, Trouble } from './scenario.ts';
import type { Fault } from './service.ts';

/** The names of those that the gate runs, side by side. */
export const atTheGate = ['kills', 'folder', 'silence'];

const fast = { maxRequestsPerSecond: 400, concurrency: 40, handlerTimeoutMs: 5_000 };
const second = 1_000;
const minute = 60 * second;
const day = 1_440 * minute;

const kills: Scenario = {
  jobs: 1_500,
  workers: 3,
  options: fast,
  feed: { overMs: 8 * second, pendingMs: [4 * second, 8 * second], callbacks: 0.6, doubled: 0.15, early: 0.08 },
  handler: { throws: 0.03 },
  service: { failing: 0.02 },
  troubles: [
    { is: 'kills', everyMs: second, times: 15 },
    { is: 'restart', when: { atMs: 7_500 } },
  ],
  full: {
    jobs: 10_000,
    workers: 4,
    feed: { overMs: 40 * second, pendingMs: [10 * second, 20 * second], callbacks: 0.6, doubled: 0.15, early: 0.08 },
    troubles: [
      { is: 'kills', everyMs: 400, times: 150 },
      { is: 'restart', when: { atMs: 30_000 } },
    ],
  },
};

/** Waits, and all that is removed with time, are divided by this; leases and time limits are not. */
const haste = 72;
const hasty = (ms: number) => Math.ceil(ms / haste);

const outages: readonly Fault[] = ['server errors', 'broken connections', 'a wrong key', 'signatures of another key'];
const deploys = (
  of: readonly (readonly [share: number, version: Version, workers: readonly number[]])[],
  runMs: number,
) =>
  of.map(([share, version, workers]): Trouble => ({ is: 'deploy', version, workers, when: { atMs: share * runMs } }));

export const scenarios: Readonly<Record<string, readonly Scenario[]>> = {
  // Workers are killed, callbacks are lost, and requests and handlers fail.
  kills: [kills],
  // A role that may have three connections, for two processes.
  'few-connections': [{ ...kills, place: 'three-connections', jobs: 300, workers: 1, troubles: [] }],
  // The one process of a folder is killed three times.
  folder: [
    {
      place: 'folder',
      jobs: 200,
      workers: 1,
      tracks: { 0: [0, 200] },
      options: { maxRequestsPerSecond: 40, handlerTimeoutMs: 5_000 },
      feed: { overMs: 0 },
      troubles: [20, 60, 110].map((afterHanded) => ({ is: 'kill', worker: 0, when: { afterHanded } })),
    },
  ],
  // Of four workers, two fall silent and one is killed, while their handlers run: the fourth does the work of all.
  silence: [
    {
      jobs: 300,
      workers: 4,
      proxied: [0, 1],
      options: fast,
      feed: { overMs: 0 },
      handler: { takesMs: [200, 400] },
      troubles: [
        { is: 'silence', worker: 0, at: 'begin', when: { afterHanded: 30 } },
        { is: 'silence', worker: 1, at: 'take', when: { afterHanded: 30 } },
        { is: 'kill', worker: 2, when: { afterHanded: 40 }, forGood: true },
      ],
      // Each may have handled ten whose results it could not store. The lease is 35 s.
      promises: { repeats: 30, lastMs: 45 * second },
    },
  ],
  // The service fails for a minute, while deadlines pass: none expires.
  deadlines: (['memory', 'directly'] as const).flatMap((place) =>
    outages.flatMap((fault) =>
      [0, minute].map(
        (spreadMs): Scenario => ({
          name: `${fault}, deadlines over ${spreadMs / second} s`,
          waits: true,
          place,
          jobs: 300,
          workers: place === 'memory' ? 0 : 2,
          options: {},
          feed: {
            overMs: 0,
            pendingMs: [Number.POSITIVE_INFINITY, 42 * second],
            deadlinesMs: [45 * second, 45 * second + spreadMs],
          },
          // They end in the outage, before the first deadline.
          troubles: [{ is: 'outage', fault, when: { atMs: 40 * second }, forMs: 65 * second }],
          promises: { lastMs: 3 * minute },
        }),
      ),
    ),
  ),
  // Forged callbacks name invented jobs: genuine ones are not delayed.
  flood: (['memory', 'directly'] as const).flatMap((place) =>
    [
      { name: 'no flood', times: 0, jobs: 0 },
      { name: 'one pair', times: 1, jobs: 3_000 },
      { name: '1,000 pairs', times: 1_000, jobs: 10 },
      { name: 'one pair in whole seconds', times: 1, jobs: 3_000, wholeSeconds: true },
    ].map(
      ({ name, ...flood }): Scenario => ({
        name,
        place,
        jobs: 6,
        workers: place === 'memory' ? 0 : 2,
        feed: { overMs: 30 * second, callbacks: 1, linked: true },
        service: { delayMs: 30 },
        troubles: flood.times > 0 ? [{ is: 'flood', ...flood }] : [],
        promises: { lateMs: 5 * second },
      }),
    ),
  ),
  // Handlers that fail for ever hold up neither new completions nor polls.
  failing: [
    {
      jobs: 12_060,
      workers: 2,
      options: {
        maxRequestsPerSecond: 100,
        minDelayMs: second,
        maxDelayMs: second,
        concurrency: 40,
        maxAttempts: 10_000,
      },
      feed: { overMs: 30 * second, endless: 2_000, failing: 10_000, restAfterMs: 240 * second },
      promises: { foundMs: 2 * second, polls: 45 },
    },
  ],
  // Connections are cut, and workers killed, at each statement: before it, after it, and within its response.
  cuts: [
    {
      jobs: 2_000,
      workers: 3,
      proxied: [0, 1, 2],
      options: { ...fast, handlerTimeoutMs: second },
      feed: { overMs: 50 * second, pendingMs: [second, 5 * second] },
      troubles: [{ is: 'cuts', everyMs: 100, times: 240 }],
      // The lease is 31 s.
      promises: { lastMs: 41 * second },
    },
  ],
  // A machine vanishes before the last message of a statement, which keeps its locks.
  vanish: (['directly', 'own-pool'] as const).flatMap((place) =>
    (['claim', 'take', 'track'] as const).map(
      (at): Scenario => ({
        name: `in a ${at}`,
        place,
        jobs: 400,
        workers: 3,
        proxied: [0],
        tracks: at === 'track' ? { 0: [100, 150] } : {},
        options: { ...fast, maxRequestsPerSecond: 100, handlerTimeoutMs: second },
        // There is always something to take.
        feed: { overMs: 0 },
        troubles: [{ is: 'vanish', worker: 0, at, when: at === 'track' ? { atMs: 0 } : { afterHanded: 30 } }],
        promises: { lastMs: minute },
      }),
    ),
  ),
  // Someone's transaction keeps all row versions: no statement reads more blocks than before.
  transaction: [
    {
      jobs: 5_200,
      workers: 0,
      instant: true,
      options: {
        maxRequestsPerSecond: 100_000,
        concurrency: 100,
        handlerConcurrency: 50,
        minDelayMs: 1,
        maxDelayMs: 1,
      },
      feed: { overMs: 10 * second, endless: 200 },
      troubles: [{ is: 'transaction', when: { atMs: 5 * second }, requests: 60_000 }],
      promises: { blocks: 3 },
      full: { troubles: [{ is: 'transaction', when: { atMs: 5 * second }, requests: 400_000 }] },
    },
  ],
  // As fast as it goes, while the clock of the database jumps forward and back by a day.
  clock: [
    {
      jobs: 8_000,
      workers: 8,
      options: { maxRequestsPerSecond: 100_000, concurrency: 40, handlerTimeoutMs: 5_000, maxDelayMs: 10 * second },
      feed: { overMs: 40 * second, pendingMs: [second, 5 * second], callbacks: 0.5 },
      troubles: [
        { is: 'clock', byMs: day, when: { atMs: 15 * second } },
        { is: 'clock', byMs: -day, when: { atMs: 30 * second } },
      ],
      // What ran at a jump forward may run again. A wait that is too long is found within two minutes.
      promises: { repeats: 80, lastMs: 3 * minute },
    },
  ],
  // Versions of this package share the tables while these change, and while the fleet goes back.
  upgrade: [{ ...upgrade(1_500, 24 * second), full: upgrade(10_000, minute) }],
  // A day of tracking in twenty minutes, with kills and new versions; or a tenth of it.
  soak: [{ ...soak(6_000, 2 * minute), full: soak(120_000, 20 * minute) }],
  // Processes whose clocks differ share a replay guard.
  guard: [
    {
      place: 'own-pool',
      jobs: 6_000,
      workers: 4,
      guard: { leaseMs: 2 * second, skewsMs: [-120_000, -1_000, 0, 120_000] },
      options: { maxRequestsPerSecond: 100_000 },
      feed: { overMs: 25 * second, callbacks: 1, doubled: 0.67 },
      troubles: [{ is: 'kills', everyMs: second, times: 25 }],
      promises: { lastMs: 10 * second },
    },
  ],
};

function upgrade(jobs: number, runMs: number): Scenario {
  const today = [0, 1, 2, 3];
  const next = [4, 5, 6, 7];
  return {
    jobs,
    workers: 8,
    versions: [...today.map(() => 'today' as const), ...next.map(() => 'next' as const)],
    options: fast,
    feed: { overMs: runMs - 4 * second, pendingMs: [2 * second, 5 * second] },
    troubles: [
      { is: 'kills', everyMs: second, times: runMs / second },
      { is: 'migrate', when: { atMs: runMs / 4 } },
      ...deploys(
        [
          [0.5, 'afterNext', next],
          [0.75, 'today', next],
        ],
        runMs,
      ),
    ],
    promises: { lockMs: 2_500, lastMs: 3 * minute },
  };
}

function soak(jobs: number, runMs: number): Scenario {
  // Autovacuum comes once a minute, and a process remembers 10,000 callbacks: before that, tables and memory grow.
  const isLong = runMs >= 20 * minute;
  return {
    jobs,
    workers: 3,
    versions: ['today', 'today', 'today'],
    haste,
    settings: ['-c fsync=on'],
    options: {
      ...{ maxRequestsPerSecond: 100_000, concurrency: 100, handlerConcurrency: 100, handlerTimeoutMs: minute },
      ...{ minDelayMs: hasty(minute), maxDelayMs: hasty(15 * minute), deadlineMs: hasty(7 * day) },
      ...{ minRetryMs: hasty(minute), maxRetryMs: hasty(15 * minute), retentionMs: runMs / 10 },
    },
    feed: { overMs: runMs, pendingMs: [hasty(3 * minute), hasty(60 * minute)], callbacks: 0.5, early: 0.04 },
    handler: { throws: 0.01 },
    troubles: [
      { is: 'kills', everyMs: 10 * second, times: Math.floor(runMs / (10 * second)) - 1, fixed: 1 },
      { is: 'migrate', when: { atMs: 0.2 * runMs } },
      ...deploys(
        [
          [0.22, 'next', [1]],
          [0.3, 'next', [2]],
          [0.4, 'afterNext', [1]],
          [0.5, 'afterNext', [2]],
          [0.6, 'next', [1]],
          [0.7, 'today', [2]],
          [0.8, 'afterNext', [1]],
          [0.9, 'next', [2]],
        ],
        runMs,
      ),
    ],
    promises: { lastMs: 5 * minute, ...(isLong && { growth: { statements: 1.1, tables: 1.3, heap: 1.1 } }) },
  };
}
