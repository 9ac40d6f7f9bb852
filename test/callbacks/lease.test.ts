/** A lease: what a guard says of a callback, and a guard that fails when the lease ends. */

import { expect, test } from 'vitest';
import { begin } from '../../src/callbacks/replay-guard.js';

const callback = { key: 'key', bodyDigest: 'body', expiresAt: new Date(0) };

function beginWith(known: unknown, failure: Error) {
  const lines: string[] = [];
  const fail = () => Promise.reject(failure);
  const replayGuard = { begin: async () => known as 'new', commit: fail, forget: fail };
  const world = {
    clock: { now: () => 0, elapsed: () => 0, setTimer: () => () => undefined },
    warn: (line: string) => void lines.push(line),
  };
  return { lines, begun: begin(callback, { replayGuard, leaseMs: 1_000 }, world) };
}

const away = new Error('the store is away');

test.each(['busy', 'unknown', undefined, null, true, 1])(
  'a guard that says %j has a callback in hand',
  async (known) => {
    expect(await beginWith(known, away).begun).toEqual({ known: 'busy' });
  },
);

test.each([
  ['handled', 'commit'],
  ['not handled', 'forget'],
] as const)('a guard that fails after a callback was %s has a log line, which does not show why', async (what, end) => {
  const { begun, lines } = beginWith('new', away);

  await (await begun).lease?.[end]();

  expect(lines).toEqual([`the replay guard failed after a callback was ${what}`]);
});
