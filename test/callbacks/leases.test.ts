// What becomes of callbacks while another delivery is handled, and of callbacks whose guard or signer fails or hangs.

import { expect, test, vi } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  away,
  both,
  broken,
  expectOutcome,
  failsOnce,
  hold,
  nameOf,
  type Sequence,
  start,
  startHandler,
  unavailable,
} from './deliveries.js';
import { day } from './posted-callback.js';

failOnStrayRejections();

const leases: readonly Sequence[] = [
  ...both.map(
    (setup): Sequence => [
      `${nameOf(setup)}a callback whose onEvent does not settle is new after its lease`,
      { ...setup, handler: { leaseMs: 60_000, maxAgeMs: day } },
      [hold({}, 'handle'), 59_999, {}, 1, {}, {}, 'release'],
      { endings: ['503 busy', '200 accepted', '200 repeat', '200 accepted'], took: [0, 0, 0, 60_000] },
    ],
  ),
  [
    'a handler that fails after its lease does not forget a callback that another may have',
    { guard: {}, handler: { leaseMs: 1_000 } },
    [hold({}, 'handle'), 1_000, 'fail'],
    { endings: ['500 handler'], stages: 'begin confirm handle' },
  ],
  [
    'a handler that ends after its lease commits',
    { guard: {}, handler: { leaseMs: 1_000 } },
    [hold({}, 'handle'), 1_000, 'release'],
    { endings: ['200 accepted'], stages: 'begin confirm handle commit' },
  ],
  [
    'a delivery that ends after its lease leaves the next one alone',
    { handler: { leaseMs: 10_000 } },
    [hold({}, 'handle'), 10_000, hold({}, 'handle'), 'fail', {}, 'fail', 1_000, {}],
    {
      endings: ['500 handler', '503 busy', '500 handler', '200 accepted'],
      stages: 'confirm handle confirm handle confirm handle',
    },
  ],
  [
    'a callback is busy while it is being confirmed',
    {},
    [hold({}, 'confirm'), {}, 'release'],
    { endings: ['503 busy', '200 accepted'], handled: ['0810 succeeded'], requests: 1 },
  ],
  [
    'unconfirmed, a duplicate that was busy is handled when the first delivery has failed',
    { confirm: false },
    [hold({}, 'handle'), {}, 'fail', {}],
    { endings: ['503 busy', '500 handler', '200 accepted'], handled: ['0810', '0810'] },
  ],
  [
    'each delivery is timed from its own start, with onEvent',
    { confirm: false },
    [5_000, {}, 1_000, hold({ at: 1 }, 'handle'), 1_234, 'release'],
    { endings: ['200 accepted', '200 accepted'], took: [0, 1_234] },
  ],
];

const timeout = { code: 'timeout', retryable: true };

const guards: readonly Sequence[] = [
  [
    'a guard begins, and commits what was handled or forgets what was not',
    { confirm: false, guard: {}, onEvent: (call) => (call === 2 ? away() : undefined) },
    [{}, {}],
    { endings: ['200 accepted', '500 handler'], stages: 'begin handle commit begin handle forget' },
  ],
  [
    'what the guard knows as a repeat is not handled',
    { confirm: false, guard: { begin: () => 'repeat' } },
    [{}],
    { endings: ['200 repeat'], stages: 'begin' },
  ],
  [
    'a callback that is confirmed is handled also if the guard knows its signature from another body',
    { guard: { begin: () => 'conflict' } },
    [{}],
    { endings: ['200 accepted'], stages: 'begin confirm handle commit' },
  ],
  ...['unknown', undefined, null, true, 1].map(
    (known): Sequence => [
      `a callback about which the guard says ${known} is being handled`,
      { guard: { begin: () => known } },
      [{}],
      { endings: ['503 busy'], stages: 'begin' },
    ],
  ),
  ...(
    [
      ['busy', () => 'busy', '503 busy', 'begin confirm handle begin commit'],
      ['new', () => 'new', '503 limit', 'begin confirm handle begin forget commit'],
      ['an error', away, '503 guard', 'begin confirm handle begin commit'],
    ] as const
  ).map(
    ([known, then, ending, stages]): Sequence => [
      `a callback that is being handled, and about which the guard says ${known}, is not confirmed`,
      { guard: { begin: (call) => (call === 1 ? 'new' : then()) } },
      [hold({}, 'handle'), {}, 'release'],
      { endings: [ending, '200 accepted'], stages },
    ],
  ),
  ...[away, broken].flatMap((fail): readonly Sequence[] => [
    [
      `a callback stays handled if commit of the guard ${fail === away ? 'rejects' : 'throws'}`,
      { confirm: false, guard: { commit: fail } },
      [{}],
      {
        endings: ['200 accepted'],
        stages: 'begin handle commit',
        lines: ['the replay guard failed after a callback was handled'],
      },
    ],
    [
      `a callback that fails gets its response if forget of the guard ${fail === away ? 'rejects' : 'throws'}`,
      { reply: unavailable, guard: { forget: fail } },
      [{}],
      {
        endings: ['503 server'],
        stages: 'begin confirm forget',
        lines: ['the replay guard failed after a callback was not handled', '503'],
      },
    ],
  ]),
  ...both.flatMap((setup): readonly Sequence[] => [
    [
      `${nameOf(setup)}a callback fails if begin of its guard has not settled after 10 s, and a late lease is given back`,
      { ...setup, guard: {} },
      [hold({}, 'begin'), 10_000, 'release', 1_000, {}],
      {
        endings: ['503 guard', '200 accepted'],
        took: [10_000, 0],
        stages: `begin forget begin ${setup === both[0] ? 'confirm ' : ''}handle commit`,
        errors: [{ error: timeout, at: { phase: 'guard', status: 503 } }],
        lines: ['the replay guard did not respond within 10 seconds'],
      },
    ],
    [
      `${nameOf(setup)}a callback gets its response if commit or forget of its guard has not settled after 10 s`,
      { ...setup, guard: {}, onEvent: failsOnce },
      [hold({}, 'forget'), 10_000, hold({}, 'commit'), 10_000],
      {
        endings: ['500 handler', '200 accepted'],
        took: [10_000, 10_000],
        lines: ['failed after a callback was not handled', '500', 'failed after a callback was handled'],
      },
    ],
  ]),
  ...(
    [
      ['repeat', 1_000],
      ['busy', 1_000],
      ['conflict', 1_000],
      ['new', 300_000],
    ] as const
  ).map(
    ([known, lateMs]): Sequence => [
      `no lease is given back that the delivery does not have: ${known}, ${lateMs} ms too late`,
      { guard: { begin: () => known } },
      [hold({}, 'begin'), 10_000, lateMs, 'release', 1_000],
      { endings: ['503 guard'], stages: 'begin' },
    ],
  ),
  [
    'a guard that fails too late changes nothing',
    { guard: {} },
    [hold({}, 'begin'), 10_000, 'fail', 1_000],
    { endings: ['503 guard'], stages: 'begin' },
  ],
  ...both.map(
    (setup): Sequence => [
      `${nameOf(setup)}a callback fails if its signer has not settled after 10 s`,
      { ...setup, client: { signer: { name: 'held', sign: () => 'x', verify: () => new Promise(() => undefined) } } },
      [start(), 10_000],
      {
        endings: ['503 timeout'],
        stages: '',
        took: [10_000],
        errors: [{ error: timeout, at: { phase: 'verify', status: 503, event: null } }],
        lines: ['the signer did not respond within 10 seconds'],
      },
    ],
  ),
];

test.each([...leases, ...guards])('%s', (_what, ...sequence) => expectOutcome(...sequence));

test('a handler leaves no timer of a guard behind', async () => {
  const { clock, run } = startHandler({ guard: {} });
  const sleep = vi.spyOn(clock, 'sleep');

  await run([{}]);

  const signals = sleep.mock.calls.map(([, signal]) => signal);
  expect(signals.length).toBeGreaterThan(0);
  for (const signal of signals) expect(signal?.aborted).toBe(true);
});
