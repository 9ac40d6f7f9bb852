// What becomes of callbacks that follow one another: repeats, other bodies, new signatures, ages and limits.

import { HostedSignatureError } from 'hosted-client';
import { expect, test } from 'vitest';
import { signed, stillClock } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  away,
  expectOutcome,
  failsOnce,
  genuine,
  hold,
  type Posted,
  type Sequence,
  type Step,
  start,
  succeededStatus,
  unavailable,
} from './deliveries.js';
import { day } from './posted-callback.js';

failOnStrayRejections();

const text = (what: string | number): Posted => ({ says: { ResultText: `text ${what}` } });
const other: Posted = { says: { ResultCode: '0811', FullName: 'Mallory' } };
const later: Posted = { at: 55_000 };
const muchLater: Posted = { at: 115_000 };
const succeeded = ({ body }: { readonly body: Record<string, unknown> }) => Response.json(succeededStatus(body));
const statusOf = (job_success: boolean) =>
  signed({ job_complete: true, job_success, user_id: 'user-1', job_id: 'job-1', history: [genuine] });
const pending = signed({ job_complete: false, user_id: 'user-1', job_id: 'job-1' });
const times = (count: number, steps: (at: number) => readonly Step[]) =>
  Array.from({ length: count }, (_, at) => steps(at)).flat();
const is = <T>(count: number, value: T) => Array<T>(count).fill(value);

const bodies: readonly Sequence[] = [
  ['nothing is requested before a callback comes', {}, [], { endings: [], requests: 0 }],
  [
    'a callback that comes three times is confirmed and handled once',
    {},
    [{}, {}, {}],
    { endings: ['200 accepted', '200 repeat', '200 repeat'], handled: ['0810 succeeded'], requests: 1 },
  ],
  [
    'a forged body that comes first does not cost the genuine one',
    {},
    [other, 1_000, {}, {}],
    {
      endings: ['200 accepted', '200 accepted', '200 repeat'],
      handled: ['none succeeded', '0810 succeeded'],
      requests: 2,
    },
  ],
  [
    'an altered body after the genuine one is one more hint',
    {},
    [{}, 1_000, other],
    { endings: ['200 accepted', '200 accepted'], handled: ['0810 succeeded', 'none succeeded'] },
  ],
  [
    'other bodies that lead to the same result are repeats',
    {},
    times(5, (count) => [text(count), 1_000]),
    { endings: ['200 accepted', ...is(4, '200 repeat')], handled: ['0810 succeeded'], requests: 5 },
  ],
  [
    'the guard gets sixteen bodies of one job and signed time, and no more',
    { guard: {} },
    [...times(100, (count) => [{ says: { ResultCode: `09${count}` } }, 1_000]), {}, {}],
    {
      endings: ['200 accepted', ...is(99, '200 repeat'), '200 accepted', '200 repeat'],
      handled: ['none succeeded', '0810 succeeded'],
      stages: `begin confirm handle commit ${'begin confirm forget '.repeat(15)}${'confirm '.repeat(85)}handle`,
    },
  ],
  [
    'a body that the guard does not get is busy while it is handled, and new after it failed',
    {},
    [...times(16, (at) => [{ says: { ResultCode: `08${at}x` } }, 1_000]), hold({}, 'handle'), 1_000, {}, 'fail', {}],
    {
      endings: ['200 accepted', ...is(15, '200 repeat'), '503 busy', '500 handler', '200 accepted'],
      handled: ['none succeeded', '0810 succeeded', '0810 succeeded'],
    },
  ],
  [
    'unconfirmed, an altered body is rejected after the genuine one was handled',
    { confirm: false },
    [{}, other, {}],
    { endings: ['200 accepted', '401 replayed', '200 repeat'], handled: ['0810'], requests: 0 },
  ],
  [
    'unconfirmed, an altered body is rejected after the genuine one failed',
    { confirm: false, onEvent: failsOnce },
    [{}, other, {}, {}],
    { endings: ['500 handler', '401 replayed', '200 accepted', '200 repeat'], handled: ['0810', '0810'] },
  ],
  [
    'unconfirmed, an altered body is rejected while the genuine one is handled',
    { confirm: false },
    [hold({}, 'handle'), {}, other, 'release', {}],
    { endings: ['503 busy', '401 replayed', '200 accepted', '200 repeat'], handled: ['0810'] },
  ],
  [
    'unconfirmed, different callbacks are handled at the same time',
    { confirm: false },
    [hold({}, 'handle'), { at: 1, job: 'job-2' }, 'release'],
    { endings: ['200 accepted', '200 accepted'], handled: ['0810', '0810'] },
  ],
  [
    'two jobs whose results were signed in one millisecond are both handled',
    {},
    [{ job: 'job-1' }, { job: 'job-2' }],
    { endings: ['200 accepted', '200 accepted'], handled: ['0810 succeeded', '0810 succeeded'], requests: 2 },
  ],
];

const signatures: readonly Sequence[] = [
  [
    'a result with a new signature is a repeat',
    {},
    [{}, later, muchLater],
    { endings: ['200 accepted', '200 repeat', '200 repeat'], handled: ['0810 succeeded'] },
  ],
  [
    'a result whose onEvent rejected is confirmed and handled again under a new signature, and then no more',
    { onEvent: failsOnce },
    [{}, later, muchLater],
    { endings: ['500 handler', '200 accepted', '200 repeat'], stages: 'confirm handle confirm handle confirm' },
  ],
  [
    'a result that is being handled is busy under a new signature until its lease ends',
    { handler: { leaseMs: 10_000 } },
    [hold({}, 'handle'), 9_999, later, 1_001, later, 'release'],
    {
      endings: ['503 busy', '200 accepted', '200 accepted'],
      handled: ['0810 succeeded', '0810 succeeded'],
      errors: [{ error: { reason: 'replayed', retryable: true }, at: { phase: 'guard', status: 503 } }],
    },
  ],
  [
    'the lease of a result ends with the lease of its callback, however long the confirmation took',
    { handler: { leaseMs: 10_000 } },
    [5_000, hold({}, 'confirm', 'handle'), 4_000, 'release', 5_999, later, 1_000, later, 'release'],
    { endings: ['503 busy', '200 accepted', '200 accepted'], handled: ['0810 succeeded', '0810 succeeded'] },
  ],
  [
    'a result is handled again once its job is in another state',
    { reply: [statusOf(false), statusOf(true)] },
    [{}, later],
    { endings: ['200 accepted', '200 accepted'], handled: ['0810 failed', '0810 succeeded'] },
  ],
  [
    'callbacks without an entry in the history are handled once for each signed time',
    {},
    [other, { ...later, says: { ResultCode: '0812' } }],
    { endings: ['200 accepted', '200 accepted'], handled: ['none succeeded', 'none succeeded'] },
  ],
];

const ages: readonly Sequence[] = [
  ...[-1, 1].map(
    (way): Sequence => [
      `a callback that is confirmed may be signed two days ${way < 0 ? 'ago' : 'ahead'}, and no more`,
      {},
      [{ at: way * 2 * day }, { at: way * (2 * day + 1) }],
      { endings: ['200 accepted', '401 stale'], errors: [{ error: { reason: 'stale' }, at: { phase: 'verify' } }] },
    ],
  ),
  [
    'maxHintAgeMs, and not maxAgeMs, limits the age of callbacks that are confirmed',
    { handler: { maxHintAgeMs: 10_000, maxAgeMs: false } },
    [{ at: -10_000 }, { at: -10_001 }],
    { endings: ['200 accepted', '401 stale'] },
  ],
  ...([undefined, 300_999, 301_000, false] as const).map(
    (maxAgeMs): Sequence => [
      `unconfirmed, a callback of 301 s is rejected or accepted as maxAgeMs says: ${maxAgeMs}`,
      { confirm: false, handler: maxAgeMs === undefined ? {} : { maxAgeMs } },
      [301_000, {}],
      { endings: [maxAgeMs === 301_000 || maxAgeMs === false ? '200 accepted' : '401 stale'] },
    ],
  ),
];

const requests: readonly Sequence[] = [
  [
    'one job of a signed time is confirmed once a second, and is over the limit in between',
    {},
    [text(1), 999, text(2), 1, text(3), 999, text(4), 1, text(5)],
    {
      endings: ['200 accepted', '503 limit', '200 repeat', '503 limit', '200 repeat'],
      requests: 3,
      errors: is(2, { error: expect.any(HostedSignatureError), at: { phase: 'guard' } }),
    },
  ],
  [
    'two results of one job with two signed times are both confirmed at once',
    {},
    [{}, { at: 1, says: { ResultCode: '1012' } }],
    { endings: ['200 accepted', '200 accepted'], requests: 2 },
  ],
  [
    'a callback that failed is confirmed once more at once, and then once a second',
    { reply: unavailable },
    [{}, {}, {}, {}, {}, 1_000, {}, {}, {}],
    { endings: [...is(2, '503 server'), ...is(3, '503 limit'), '503 server', ...is(2, '503 limit')], requests: 3 },
  ],
  [
    'a delivery on which the guard failed does not use up the confirmation at once',
    { reply: [unavailable, succeeded], guard: { begin: (call) => (call === 2 ? away() : 'new') } },
    [{}, {}, {}],
    { endings: ['503 server', '503 guard', '200 accepted'], requests: 2 },
  ],
  [
    'maxJobsPerSignature limits the jobs of one signed time, and the guard does not get the others',
    { handler: { maxJobsPerSignature: 1 }, guard: {} },
    [{}, { job: 'job-2' }, text('soon')],
    {
      endings: ['200 accepted', '503 limit', '503 limit'],
      stages: 'begin confirm handle commit begin forget',
      errors: is(2, {
        error: {
          reason: 'replayed',
          outcome: 'answered',
          retryable: true,
          message: expect.stringContaining('"maxJobsPerSignature"'),
        },
      }),
    },
  ],
  [
    'a final callback whose job is pending is confirmed once more after two seconds',
    { reply: [pending, statusOf(true)] },
    [start(), 2_000],
    { endings: ['200 accepted'], handled: ['0810 succeeded'], requests: 2, took: [2_000] },
  ],
  [
    'a final callback whose job stays pending fails, and is accepted later',
    { reply: [pending, pending, statusOf(true)] },
    [start(), 2_000, {}],
    {
      endings: ['503 pending', '200 accepted'],
      handled: ['0810 succeeded'],
      requests: 3,
      errors: [
        {
          error: {
            name: 'HostedPollTimeoutError',
            job: { userId: 'user-1', jobId: 'job-1' },
            lastStatus: { state: 'pending' },
            elapsedMs: 2_000,
            operation: 'jobs.status',
            outcome: 'answered',
            attempts: 2,
            retryable: true,
            message: expect.stringMatching(
              /Cannot receive a callback: it is marked as final, but the job is still pending/,
            ),
          },
          at: { phase: 'confirm', status: 503, event: { userId: 'user-1' } },
        },
      ],
    },
  ],
  [
    'a confirmation that an error of another kind ends has the reason "error"',
    {
      reply: pending,
      client: {
        clock: { ...stillClock(), sleep: (ms, signal) => (ms === 2_000 ? away() : stillClock().sleep(ms, signal)) },
      },
    },
    [{}],
    { endings: ['503 error'], errors: [{ error: { message: 'the store is away' } }] },
  ],
];

test.each([...bodies, ...signatures, ...ages, ...requests])('%s', (_what, ...sequence) => expectOutcome(...sequence));
