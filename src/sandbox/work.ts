/**
 * Timers and tasks that are under way. `idle` waits for all of them, `stop` ends them.
 *
 * @module
 */

export interface Work {
  /** Aborts when the work must end. */
  readonly signal: AbortSignal;
  /** Runs `act` after `ms`. The returned function cancels the timer, and `stop` cancels it, too. */
  later(ms: number, act: () => void): () => void;
  /** Counts `task` as under way until it settles. `task` must not reject. */
  run(task: Promise<void>): void;
  /** Resolves when no task and no timer is left. */
  idle(): Promise<void>;
  /** Cancels the timers, aborts the tasks, and resolves after they have ended. */
  stop(): Promise<void>;
}

/** Creates an empty list of work. */
export function createWork(): Work {
  const ending = new AbortController();
  const timers = new Set<NodeJS.Timeout>();
  let running = 0;
  let waiting: (() => void)[] = [];

  function settle(): void {
    if (timers.size > 0 || running > 0) return;
    const resolvers = waiting;
    waiting = [];
    for (const resolve of resolvers) resolve();
  }

  function later(ms: number, act: () => void): () => void {
    if (ending.signal.aborted) return () => {};
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
      settle();
    }, ms);
    timers.add(timer);
    return () => {
      clearTimeout(timer);
      timers.delete(timer);
      settle();
    };
  }

  function run(task: Promise<void>): void {
    running += 1;
    void task.finally(() => {
      running -= 1;
      settle();
    });
  }

  function idle(): Promise<void> {
    return new Promise((resolve) => {
      waiting.push(resolve);
      settle();
    });
  }

  async function stop(): Promise<void> {
    ending.abort(new Error('the sandbox was reset or stopped'));
    for (const timer of timers) clearTimeout(timer);
    timers.clear();
    await idle();
  }

  return { signal: ending.signal, later, run, idle, stop };
}
