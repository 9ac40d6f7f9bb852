// A process of the tracker, made of the real parts. Wherever one of them would use the database, the service or the
// handler, it halts until a step lets it go on.

import type { Context } from '../../../../src/tracking/context.ts';
import { createDeliveries } from '../../../../src/tracking/deliver/deliver.ts';
import { createFollower } from '../../../../src/tracking/poll/follow.ts';
import type { Health } from '../../../../src/tracking/poll/health.ts';
import { settleDown } from './timers.ts';

/** The statements at which a process halts. */
const statementNames = [
  ...(['claim', 'relink', 'end', 'endAgain', 'keepEnd', 'note', 'giveUp'] as const),
  ...(['deliver', 'storeProgress', 'followAgain', 'restore', 'bury', 'giveUpLease', 'giveBackUnbegun'] as const),
] as const;

/** Where a process halts. */
export type Place = (typeof statementNames)[number] | 'status' | 'handler';

/** Something that a process waits for. */
export interface Halt {
  readonly place: Place;
  /** Does it. */
  run(): Promise<unknown>;
  /** Lets the process go on with the result. */
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

/** A poll or a delivery. */
export interface Line {
  /** Where it halts, if a step has let it go on until there. */
  halt: Halt | null;
  /** Lets it go on, if what it waited for was done. */
  release: (() => Promise<void>) | null;
}

export interface Process {
  /** Starts the loops. If loops run already, their process has died. */
  start(context: Context): void;
  /** Calls `stop()`. */
  stop(): Promise<void>;
  /** Resolves when `stop()` has resolved. */
  stopped(): Promise<void>;
  /** Waits until a loop halts. */
  halted(place: Place): Promise<Halt>;
  /** Lets work go on until it halts at a place. */
  goOn(line: Line, place: Place): Promise<Halt>;
  /** Lets work go on that halts at a place, or ends. */
  goOnOrEnd(line: Line, place: Place): Promise<Halt | null>;
  /** Lets work go on that ends. */
  end(line: Line): Promise<void>;
  /** Fails if work halts that no step has let go on. */
  check(): void;
}

// The timers of the tracker are replaced later.
const { setTimeout, clearTimeout } = globalThis;
/** How long, in ms, a step waits for a process. Only a process that differs from the model takes so long. */
const limitMs = 30_000;

/** Where loops wait for new work. */
const idle: ReadonlySet<Place> = new Set(['deliver', 'claim']);

/** The model does not know problems of all jobs, but whether requests about other jobs succeed. */
export const service = { isDown: false };
const health: Health = {
  succeeded() {},
  failed() {},
  learn() {},
  isWell: () => !service.isDown,
  heldMs: () => 0,
  aloneMs: () => 0,
};

/** Settles as `work` does, but fails if that takes too long. */
async function limit<T>(work: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the process never ${what}`)), limitMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Opens a process, which does not work yet. */
export function openProcess(shared: Context): Process {
  const { database } = shared;
  const halts = new Map<Place, Halt>();
  /** Each start is another life. */
  let life = 0;
  let onHalt = () => {};
  let isStopping = false;
  let drain: () => Promise<unknown> = async () => {};
  let stopping: Promise<unknown> = Promise.resolve();

  function halt<T>(place: Place, run: () => Promise<T>): Promise<T> {
    return new Promise<unknown>((resolve, reject) => {
      halts.set(place, { place, run, resolve, reject });
      onHalt();
    }) as Promise<T>;
  }

  function check(why = ''): void {
    const found = [...halts.keys()].find((place) => !idle.has(place));
    if (found) throw new Error(`the process came to "${found}"${why}`);
  }

  async function halted(place: Place): Promise<Halt> {
    for (;;) {
      const found = halts.get(place);
      if (found) {
        halts.delete(place);
        return found;
      }
      check(` in place of "${place}"`);
      const next = new Promise<void>((resolve) => {
        onHalt = resolve;
      });
      await limit(next, `came to "${place}"`);
    }
  }

  async function release(line: Line): Promise<void> {
    const { release } = line;
    line.release = null;
    await release?.();
  }

  /** The context of one life. */
  function bearContext(context: Context): Context {
    const born = life;
    const { settings, statements } = context;
    const placeOf = new Map<string, Place>(statementNames.map((name) => [statements[name], name]));
    // What a process has begun before it died goes nowhere. A process that stops finds no new work.
    const haltIn = <T>(place: Place, run: () => Promise<T>, nothing?: T): Promise<T> => {
      if (born !== life) return new Promise(() => {});
      return isStopping && nothing !== undefined ? Promise.resolve(nothing) : halt(place, run);
    };
    const status = (query: object) => haltIn('status', async () => query);
    return {
      ...context,
      settings: { ...settings, client: { ...settings.client, jobs: { ...settings.client.jobs, status } } } as never,
      database: {
        ...database,
        run(text, values, limitMs) {
          const place = placeOf.get(text);
          const run = () => database.run(text, values, limitMs);
          if (place === undefined) return run();
          return idle.has(place) ? haltIn(place, run, []) : haltIn(place, run);
        },
      },
    };
  }

  return {
    start(context) {
      life += 1;
      halts.clear();
      isStopping = false;
      const own = bearContext(context);
      const { signal } = new AbortController();
      const born = life;
      const handler = async (completion: unknown) => {
        if (born === life) await halt('handler', async () => completion);
      };
      const deliveries = createDeliveries(own, health, { handler, signal });
      const follower = createFollower(own, { ended() {}, isImpossible() {}, health, signal });
      drain = () => Promise.all([deliveries.drain(), follower.drain()]);
    },
    async stop() {
      await settleDown();
      isStopping = true;
      stopping = drain();
      for (const place of idle) {
        halts.get(place)?.resolve([]);
        halts.delete(place);
      }
    },
    async stopped() {
      await limit(stopping, 'stopped');
    },
    halted,
    async goOn(line, place) {
      const { halt: found } = line;
      line.halt = null;
      if (found) return found;
      await release(line);
      return halted(place);
    },
    async goOnOrEnd(line, place) {
      await release(line);
      await settleDown();
      const found = halts.get(place) ?? null;
      halts.delete(place);
      return found;
    },
    async end(line) {
      await release(line);
      await settleDown();
    },
    check,
  };
}
