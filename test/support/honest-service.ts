/** A service that answers job status honestly, by a clock of its own, over a way that takes time. */

import { now, sign } from './fake-fetch.js';

/** A clock for one call at a time: what is slept or takes time has passed at once. Time limits never end. */
export function passingClock(limits: readonly number[] = [30_000, 120_000]) {
  const clock = {
    time: now,
    slept: [] as number[],
    now: () => clock.time,
    sleep: async (ms: number, signal?: AbortSignal) => {
      if (limits.includes(ms)) {
        await new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      }
      signal?.throwIfAborted();
      clock.slept.push(ms);
      clock.time += ms;
    },
  };
  return clock;
}

/** How a timestamp is written. */
export type Format = 'iso' | 'epoch-ms' | 'epoch-s';

export function writeTime(ms: number, format: Format): string {
  if (format === 'iso') return new Date(ms).toISOString();
  return String(Math.floor(format === 'epoch-s' ? ms / 1_000 : ms));
}

/** What a service is like. */
export interface Honest {
  readonly format: Format;
  /** How far the service's clock is behind, in ms. */
  readonly behindMs: number;
  /** How long the way to or from the service takes, in ms: least and most. */
  readonly wayMs: readonly [number, number];
}

/** Answers each request of a client on the same clock, with a pending job. */
export function honestService(
  clock: { time: number },
  { format, behindMs, wayMs: [least, most] }: Honest,
  random: () => number,
) {
  const takeWay = () => {
    clock.time += least + random() * (most - least);
  };
  return () => {
    takeWay();
    const timestamp = writeTime(clock.time - behindMs, format);
    takeWay();
    return Response.json({ job_complete: false, timestamp, signature: sign(timestamp) });
  };
}
