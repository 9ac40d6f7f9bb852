import type { createTestClock } from 'hosted-client/testing';

interface Sleeper {
  readonly signal: AbortSignal | undefined;
}

/**
 * Creates a clock that counts who sleeps on it, and otherwise is `clock`.
 *
 * @param limits - Sleeps of so many ms are time limits of requests, and no alarms.
 */
export function createCountingClock(
  clock: Pick<ReturnType<typeof createTestClock>, 'now' | 'sleep'>,
  limits: readonly number[] = [],
) {
  const asleep = new Set<Sleeper>();
  const alarms = new Set<Sleeper>();
  let mostAlarms = 0;
  let alarmsSet = 0;
  return {
    now: () => clock.now(),
    sleep: async (ms: number, signal?: AbortSignal) => {
      const sleeper = { signal };
      asleep.add(sleeper);
      if (!limits.includes(ms)) {
        alarms.add(sleeper);
        alarmsSet += 1;
        mostAlarms = Math.max(mostAlarms, [...alarms].filter((alarm) => !alarm.signal?.aborted).length);
      }
      try {
        await clock.sleep?.(ms, signal);
      } finally {
        asleep.delete(sleeper);
        alarms.delete(sleeper);
      }
    },
    /** Sleepers of any kind. */
    asleep: () => asleep.size,
    /** The most alarms that there ever were at once. */
    mostAlarms: () => mostAlarms,
    /** How many alarms there were in all. */
    alarmsSet: () => alarmsSet,
  };
}
