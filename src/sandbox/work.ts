/**
 * Timers and tasks that are under way. `idle` waits for all of them, `stop` ends them.
 *
 * @module
 */

export type Work = ReturnType<typeof createWork>;

/** Creates an empty list of work. */
export function createWork() {
  const ending = new AbortController();
  const running = new Set<Promise<void>>();
  const cancels = new Set<() => void>();

  /** Counts `task` as under way until it settles. `task` must not reject. */
  function run(task: Promise<void>): void {
    running.add(task);
    void task.finally(() => running.delete(task));
  }

  /** Runs `act` after `ms`. The returned function cancels the timer, and `stop` cancels it, too. */
  function later(ms: number, act: () => void): () => void {
    if (ending.signal.aborted) return () => {};
    let cancel = () => {};
    const waiting = new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        act();
        cancel();
      }, ms);
      cancel = () => {
        clearTimeout(timer);
        cancels.delete(cancel);
        resolve();
      };
    });
    cancels.add(cancel);
    run(waiting);
    return cancel;
  }

  /** Resolves when no task and no timer is left. */
  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.all(running);
  }

  /** Cancels the timers, aborts the tasks, and resolves after they have ended. */
  async function stop(): Promise<void> {
    ending.abort(new Error('the sandbox was reset or stopped'));
    for (const cancel of cancels) cancel();
    await idle();
  }

  // The signal aborts when the work must end.
  return { signal: ending.signal, later, run, idle, stop };
}
