// Timers that end only when a step ends them.

export interface Timers {
  readonly setTimeout: (run: () => void, ms?: number) => number;
  readonly clearTimeout: (timer: number) => void;
  /** Gives what ends the newest timer of a length. */
  newest(ms: number): () => void;
  /** Forgets all timers. */
  clear(): void;
}

export function createTimers(): Timers {
  const timers = new Map<number, { readonly run: () => void; readonly ms: number }>();
  let made = 0;
  return {
    setTimeout(run, ms = 0) {
      made += 1;
      timers.set(made, { run, ms });
      return made;
    },
    clearTimeout: (timer) => void timers.delete(timer),
    newest(ms) {
      const newest = [...timers].findLast(([, timer]) => timer.ms === ms);
      if (!newest) throw new Error(`no timer has ${ms} ms`);
      return () => {
        if (timers.delete(newest[0])) newest[1].run();
      };
    },
    clear: () => timers.clear(),
  };
}

/** Lets promises resolve that wait for nothing else. */
export async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}
