// A history of one job, drawn at random: what becomes of it, how the service tells two processes that share a guard, and
// what goes wrong meanwhile. Plays it with the real code, and says which promises were broken.

import type { JobEvent, JobStatus, ReplayGuard } from 'hosted-client';
import {
  backoffMs,
  type Content,
  createSharedGuard,
  createTable,
  createVirtualClock,
  entryOf,
  hour,
  isAskedTooOften,
  job,
  minute,
  type Process,
  second,
  startProcess,
  toIso,
  toSeconds,
  writeStatus,
} from '../callbacks/job-world.js';
import { randomFrom } from '../support/random.js';

const leaseMs = 20 * second;
/** The only promise that is broken sometimes: if a status lags behind a third change, it can answer for it. */
export const lost = 'the table does not end with the last word';

/** How a history can be drawn. */
interface Setting {
  /** By how much, in ms, a status may lag behind. */
  readonly lagMs: number;
  /** By how much, in ms, the clocks of the service's hosts differ from the right time. */
  readonly skewMs: number;
  readonly isInWholeSeconds: boolean;
  /** How likely a process is killed after an effect, `onEvent` rejects, and `onEvent` outlives its lease. */
  readonly kills: number;
  readonly rejections: number;
  readonly slow: number;
  /** Whether the status has no history, so that the job may return to an earlier version. */
  readonly returns: boolean;
  /** Whether a callback is signed again when it is redelivered. */
  readonly isSignedAgain: boolean;
  /** How often an attacker posts a captured pair. */
  readonly attacks: number;
}

interface Truth extends Content {
  readonly at: number;
  readonly index: number;
  readonly code: string;
}

interface HandOver {
  readonly id: string;
  readonly signedAt: number;
  readonly index: number;
  /** The number of the process, counted from the beginning. */
  readonly run: number;
  leaseEndsAt: number;
  isRunning: boolean;
  isCommitted: boolean;
}

/** Draws a history and plays it. Returns the promises that were broken and, if it is traced, what happened. */
export async function playDrawnJob(seed: number, { isTraced = false } = {}) {
  const random = randomFrom(seed * 7_919 + 13);
  const chance = (likely: number) => random() < likely;
  const integer = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

  const setting: Setting = {
    lagMs: chance(1 / 3) ? pick([300, 1_900, 2_000]) : 0,
    skewMs: pick([0, 50]),
    isInWholeSeconds: chance(1 / 4),
    kills: pick([0, 0, 0.1]),
    rejections: pick([0, 0, 0.1]),
    slow: pick([0, 0, 0.3]),
    returns: chance(1 / 4),
    isSignedAgain: chance(1 / 4),
    attacks: pick([0, 2, 6]),
  };
  const clock = createVirtualClock();
  const startedAt = clock.now();
  const trace: string[] = [];
  const log = (what: () => string) => {
    if (isTraced) trace.push(`${((clock.now() - startedAt) / second).toFixed(3).padStart(9)}  ${what()}`);
  };
  const broken = new Set<string>();
  const violate = (promise: string) => {
    broken.add(promise);
    log(() => `BROKEN: ${promise}`);
  };

  const truths = drawTruths();
  const last = truths.at(-1) as Truth;
  const before: Truth = { at: 0, index: -1, code: '', state: 'pending', entries: [] };
  const truthAt = (ms: number) => truths.findLast(({ at }) => at <= ms) ?? before;

  function drawTruths(): readonly Truth[] {
    const drawn: Truth[] = [];
    let at = startedAt + second;
    const count = integer(1, 5);
    for (let index = 0; index < count; index++) {
      const previous = drawn.at(-1);
      let state = pick(['succeeded', 'failed', 'failed', 'succeeded', index === 0 ? 'pending' : 'failed'] as const);
      if (setting.returns && previous?.state === state) state = state === 'failed' ? 'succeeded' : 'failed';
      if (index === count - 1 && state === 'pending') state = 'failed';
      const code = setting.returns ? state : `r${index}`;
      // The text is not part of a version: by it, a status tells which truth it shows.
      const entry = entryOf(code, { ResultText: String(index), IsFinalResult: state !== 'pending' });
      const entries = setting.returns ? [entry] : [...(previous?.entries ?? []), entry];
      drawn.push({ at, index, code, state, entries, hasHistory: !setting.returns });
      at += pick([50, 50, 300, 1_200, 2_500, 9_000, minute, hour]);
    }
    return drawn;
  }

  /** A signed time, by the clock of a host. */
  function writeTime(skewMs: number): string {
    const ms = clock.now() + skewMs;
    return setting.isInWholeSeconds ? toSeconds(ms) : toIso(ms);
  }

  const hosts = [
    { skewMs: setting.skewMs, lagMs: 0 },
    { skewMs: -setting.skewMs, lagMs: setting.lagMs },
  ];

  // What users write down, and what the guard is told.
  const table = createTable();
  const handOvers: HandOver[] = [];
  const shared = createSharedGuard(clock);

  /** The shared guard, as a process reaches it. */
  function guardOf(run: number): ReplayGuard {
    const pass = async <T>(call: () => Promise<T>): Promise<T> => {
      await clock.sleep(integer(1, 15));
      const result = await call();
      await clock.sleep(integer(1, 15));
      return result;
    };
    return {
      begin: (key, version, ms, keepMs) =>
        pass(async () => {
          const begun = await shared.begin(key, version, ms, keepMs);
          log(() => `begin ${version.id.slice(0, 4)} signed ${show(version.signedAt)}: ${begun}`);
          if (begun === 'new') begin(version.id, version.signedAt.getTime(), run);
          return begun;
        }),
      commit: (key, version) =>
        pass(async () => {
          await shared.commit(key, version);
          endLease(version.id, true);
        }),
      forget: (key, version) =>
        pass(async () => {
          await shared.forget(key, version);
          endLease(version.id, false);
        }),
    };
  }

  function show(signedAt: Date): string {
    return ((signedAt.getTime() - startedAt) / second).toFixed(3);
  }

  /** Checks the promises when a version begins to be handed over. */
  function begin(id: string, signedAt: number, run: number): void {
    const at = clock.now();
    const newest = Math.max(...handOvers.filter((one) => one.isCommitted && one.id !== id).map((one) => one.signedAt));
    if (signedAt <= newest) violate('older by its signed time after a newer commit');
    if (handOvers.some((one) => one.isRunning && at < one.leaseEndsAt)) violate('two at once under one lease');
    const same = handOvers.findLastIndex((one) => one.id === id);
    const isReturn = setting.returns && same < handOvers.length - 1;
    if (handOvers[same]?.isCommitted && !isReturn) violate('an id again without a reason');
    handOvers.push({ id, signedAt, index: -1, run, leaseEndsAt: at + leaseMs, isRunning: false, isCommitted: false });
  }

  /** Records a commit, or the end of a lease. A holder whose lease has ended can still do both for the same version. */
  function endLease(id: string, isCommitted: boolean): void {
    log(() => `${isCommitted ? 'commit' : 'forget'} ${id.slice(0, 4)}`);
    const newest = handOvers.at(-1);
    if (newest?.id !== id) return;
    newest.isCommitted ||= isCommitted;
    newest.leaseEndsAt = clock.now();
  }

  async function onEvent(kill: () => void, event: JobEvent, status: JobStatus): Promise<void> {
    const index = Number((status.history?.at(-1) ?? status.result)?.resultText);
    const own = handOvers.findLast(({ id }) => id === event.id);
    if (!own) return violate('handed over without the guard');
    const isOlder = handOvers.some((one) => one.isCommitted && one.index > index);
    Object.assign(own, { index, isRunning: true });
    if (isOlder) violate('older by its content after a newer commit');
    log(() => `onEvent ${event.id.slice(0, 4)}: truth ${index}, signed ${show(event.signedAt)}`);
    const ms = chance(setting.slow) ? integer(22_000, 45_000) : chance(0.05) ? integer(500, 5_000) : integer(5, 50);
    const rejects = chance(setting.rejections);
    const hasEffect = !rejects || chance(0.5);
    const isKilled = !rejects && chance(setting.kills);
    const untilEffectMs = Math.floor(ms * random());
    await clock.sleep(untilEffectMs);
    if (hasEffect && table.upsert(event, status)) log(() => `table = truth ${index}`);
    await clock.sleep(ms - untilEffectMs);
    own.isRunning = false;
    if (rejects) {
      log(() => 'onEvent rejects');
      throw new Error('rejected');
    }
    if (isKilled) kill();
  }

  async function respond(): Promise<object> {
    await clock.sleep(integer(20, 80));
    const { skewMs, lagMs } = pick(hosts);
    const truth = truthAt(clock.now() - (lagMs > 0 ? integer(0, lagMs) : 0));
    const timestamp = writeTime(skewMs);
    log(() => `status: truth ${truth.index}, signed ${show(new Date(timestamp))}`);
    await clock.sleep(chance(0.05) ? integer(1_000, 15_000) : integer(20, 150));
    return writeStatus(truth, job, timestamp);
  }

  // The processes.
  let runs = 0;
  const processes = [0, 1].map(startAt);

  function startAt(index: number): Process & { readonly kill: () => void } {
    const run = ++runs;
    const process = startProcess({
      clock,
      respond,
      guard: guardOf(run),
      onEvent: (event, status) => onEvent(kill, event, status),
      handler: { leaseMs },
    });

    function kill(): void {
      if (!process.isUp()) return;
      log(() => `process ${index} is killed`);
      checkInterval(process);
      for (const one of handOvers) if (one.run === run) one.isRunning = false;
      process.kill();
      clock.at(clock.now() + integer(500, 8_000), () => {
        processes[index] = startAt(index);
      });
    }
    return { ...process, kill };
  }

  function checkInterval({ asked }: Process): void {
    if (isAskedTooOften(asked)) violate('two requests within a second');
  }

  // The service's callbacks.
  interface Told {
    readonly truth: Truth;
    readonly id: string;
    readonly isFinal: boolean;
    timestamp: string;
  }

  async function post(index: number, { id, isFinal, timestamp }: Told): Promise<string> {
    const process = processes[index] as Process;
    const entry = entryOf(id, { IsFinalResult: isFinal });
    return Promise.race([
      process.deliver({ ...job, entry, timestamp }),
      clock.sleep(30 * second).then(() => 'timeout'),
    ]);
  }

  async function deliver(told: Told): Promise<void> {
    for (let count = 0; ; count++) {
      await clock.sleep(chance(0.1) ? integer(500, 20_000) : integer(20, 120));
      if (setting.isSignedAgain && count > 0) told.timestamp = writeTime(pick(hosts).skewMs);
      const index = integer(0, 1);
      log(() => `callback ${told.truth.index} signed ${show(new Date(told.timestamp))} to process ${index}`);
      const response = await post(index, told);
      log(() => `callback ${told.truth.index}: ${response}`);
      const waitMs = backoffMs[count];
      if (response.startsWith('200')) return;
      if (waitMs === undefined) return violate('a callback has no 200 after its last redelivery');
      await clock.sleep(waitMs);
    }
  }

  const told: Told[] = [];
  for (const truth of truths) {
    clock.at(truth.at, () => {
      log(() => `truth ${truth.index}: ${truth.state}`);
      const timestamp = writeTime(pick(hosts).skewMs);
      const callback = { truth, id: truth.code, isFinal: truth.state !== 'pending', timestamp };
      told.push(callback);
      void deliver({ ...callback });
      if (chance(1 / 4)) clock.at(clock.now() + pick([50, 400, 3_000, hour]), () => deliver({ ...callback }));
    });
  }
  const endsAt = last.at - startedAt;
  for (let count = 0; count < setting.attacks; count++) {
    clock.at(startedAt + integer(second, Math.min(endsAt, 20_000) + 8_000), () => {
      const [captured] = told.length > 0 ? [pick(told)] : [];
      if (!captured) return;
      const id = chance(0.5) ? 'invented' : captured.id;
      log(() => `an attacker posts ${id} signed ${show(new Date(captured.timestamp))}`);
      void post(integer(0, 1), { ...captured, id, isFinal: chance(0.5) });
    });
  }
  if (setting.kills > 0) {
    for (const likely of [0.3, 0.3]) {
      if (!chance(likely)) continue;
      clock.at(startedAt + integer(second, endsAt + 20_000), () => {
        processes[integer(0, 1)]?.kill();
      });
    }
  }

  await clock.advance(72 * hour);
  for (const process of processes) checkInterval(process);
  const row = table.rowOf();
  if (row?.state !== last.state || row.status.result?.hostedJobId !== last.code) violate(lost);
  return { setting, promises: [...broken], trace };
}
