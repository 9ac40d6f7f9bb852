// Runs tests of what every tracker promises: in memory, on PGlite and on PostgreSQL. No test knows where it runs.

import type { HostedClientOptions } from 'hosted-client';
import { createTestClock, createTestTracker } from 'hosted-client/testing';
import type { Json, Tracker, TrackerOptions } from 'hosted-client/tracking';
import { describe, onTestFinished } from 'vitest';
import { createServiceWorld, createWorld, until } from '../tracking/world.ts';
import { onEachDatabase } from './on-each-database.ts';

type Options = Omit<Partial<TrackerOptions>, 'client' | 'connectionString' | 'pool' | 'folder' | 'schema' | 'migrate'>;

/** What one test has. */
export interface PlaceWorld extends ReturnType<typeof createServiceWorld> {
  /** A tracker with short waits. Each world has one. */
  open(options?: Options): Promise<Tracker<Json>>;
  /** Lets time pass until `isTrue`. */
  until(isTrue: () => boolean | Promise<boolean>, what?: string): Promise<void>;
  /** Lets some time pass. */
  wait(ms: number): Promise<void>;
  /** Lets time pass until a promise has settled. */
  finish<T>(work: Promise<T>): Promise<T>;
  now(): number;
  /** Everything that is stored, as text. In memory, nothing outlives the test. */
  dump(): Promise<string>;
}

type Create = (clientOptions?: Partial<HostedClientOptions>) => PlaceWorld;

/** Defines tests that run in each place. */
export function onEachPlace(define: (createWorld: Create) => void): void {
  describe('in memory', () => define(createMemoryWorld));
  onEachDatabase((database) =>
    define((clientOptions) => {
      const world = createWorld(database, clientOptions);
      return {
        ...world,
        until,
        wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        finish: (work) => work,
        now: () => Date.now(),
        dump: async () => JSON.stringify(await world.rows('select * from TRACKED')),
      };
    }),
  );
}

function createMemoryWorld(clientOptions: Partial<HostedClientOptions> = {}): PlaceWorld {
  const clock = createTestClock();
  const world = createServiceWorld({ clock, ...clientOptions });
  async function waitUntil(isTrue: () => boolean | Promise<boolean>, what = 'what was waited for'): Promise<void> {
    for (let steps = 0; !(await isTrue()); steps++) {
      if (steps === 4_500) throw new Error(`${what} did not come true`);
      await clock.advance(10);
    }
  }
  async function finish<T>(work: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    work.then(settle, settle);
    await waitUntil(() => isSettled, 'the promise');
    return work;
  }
  return {
    ...world,
    async open(options) {
      const tracker = createTestTracker({ ...world.options, clock, ...options });
      onTestFinished(() => finish(tracker.stop({ timeoutMs: 100 })));
      return tracker;
    },
    until: waitUntil,
    wait: clock.advance,
    finish,
    now: clock.now,
    dump: async () => '',
  };
}
