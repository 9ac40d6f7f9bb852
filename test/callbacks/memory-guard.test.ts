// The guard in memory: what every guard does, and which jobs it lets go of when it is full.

import { expect, test } from 'vitest';
import { createMemoryGuard } from '../../src/callbacks/memory-guard.js';
import { testGuard } from './guard-contract.js';

const leaseMs = 300_000;
const keepMs = 345_600_000;

function open(maxJobs?: number) {
  const time = { elapsed: 0 };
  const guard = createMemoryGuard({ elapsed: () => time.elapsed }, maxJobs);
  const version = { id: 'id', signedAt: new Date('2026-01-02T03:04:05.678Z') };
  const begin = (key: string) => guard.begin(key, version, leaseMs, keepMs);
  return {
    guard,
    advance(ms: number): void {
      time.elapsed += ms;
    },
    begin,
    commit: (key: string) => guard.commit(key, version),
    async handOver(...keys: readonly string[]) {
      for (const key of keys) {
        expect(await begin(key)).toBe('new');
        await guard.commit(key, version);
      }
    },
  };
}

testGuard(async () => open());

test('of more than 10,000 jobs, the least recently used is forgotten first', async () => {
  const { begin, handOver } = open();
  await handOver('first', 'second', ...Array.from({ length: 9_998 }, (_, n) => `job ${n}`));
  expect(await begin('first')).toBe('known');

  await handOver('one more');

  expect(await begin('first')).toBe('known');
  expect(await begin('job 0')).toBe('known');
  expect(await begin('second')).toBe('new');
});

test('a job is kept while it is handed over, however many come meanwhile', async () => {
  const { begin, commit, handOver } = open(10);
  const inHand = Array.from({ length: 100 }, (_, n) => `in hand ${n}`);
  for (const key of inHand) await begin(key);
  await handOver(...Array.from({ length: 1_000 }, (_, n) => `job ${n}`));

  expect(new Set(await Promise.all(inHand.map(begin)))).toEqual(new Set(['busy']));
  for (const key of inHand) await commit(key);
  await handOver(...Array.from({ length: 110 }, (_, n) => `later ${n}`));

  // All above the limit are gone.
  expect(await begin('in hand 99')).toBe('new');
});

test('a job whose lease has ended is forgotten as any other', async () => {
  const { guard, advance, begin, handOver } = open(1);
  await begin('hangs');
  advance(leaseMs);
  await handOver('next');

  expect(await guard.begin('hangs', { id: 'other', signedAt: new Date(0) }, leaseMs, keepMs)).toBe('new');
});
