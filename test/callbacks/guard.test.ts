// What a handler makes of the guard of a caller, which may fail, hang, or return any value.

import { createHash } from 'node:crypto';
import type { ReplayGuard } from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { now } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { away, broken, day, forever, type Sequence, startHandler } from './deliveries.js';

failOnStrayRejections();

const asked = '0 ask, 0 begin';
const handed = `${asked}, 0 hand`;
const begins = (known: unknown) => ({ guard: { begin: () => known } });
/** The calls of `begin` that say busy: each half second for ten seconds. */
const halfSeconds = Array.from({ length: 21 }, (_, at) => `${at * 500} begin`).join(', ');
const slowly = (ms: number, known: string) => async (_call: number, clock: { sleep?(ms: number): Promise<void> }) => {
  await clock.sleep?.(ms);
  return known;
};

const sequences: readonly Sequence[] = [
  ['new: the version is handed over, and committed', begins('new'), `${handed}, 0 commit, 0 200 accepted`],
  [
    'known: the second status answers, by one more begin',
    begins('known'),
    `${asked}, 2001 ask, 2001 begin, 2001 200 repeat`,
  ],
  [
    'known: a status two seconds after the hint answers at once',
    begins('known'),
    `${asked}, 0 200 repeat`,
    [{ at: -2_000 }],
  ],
  ['older: twice is too often', begins('older'), `${asked}, 2001 ask, 2001 begin, 2001 503 older`],
  [
    'older, then new',
    { guard: { begin: (call) => (call === 1 ? 'older' : 'new') } },
    `${asked}, 2001 ask, 2001 begin, 2001 hand, 2001 commit, 2001 200 accepted`,
  ],
  [
    'known: a time without a fraction may have been up to a second later',
    begins('known'),
    `${asked}, 3000 ask, 3000 begin, 3000 200 repeat`,
    [{ at: -2_678 }],
  ],
  [
    'busy: begin is called again each half second with the same status, for ten seconds',
    begins('busy'),
    `0 ask, ${halfSeconds}, 10000 503 busy`,
  ],
  ...['another word', null, undefined, true].map(
    (known): Sequence => [`${known}: nothing is handed over`, begins(known), `${asked}, 0 503 guard`],
  ),
  [
    'busy, then new',
    { guard: { begin: (call) => (call < 3 ? 'busy' : 'new') } },
    `${asked}, 500 begin, 1000 begin, 1000 hand, 1000 commit, 1000 200 accepted`,
  ],
  ['a begin that rejects', { guard: { begin: away } }, `${asked}, 0 503 guard`],
  ['a begin that throws', { guard: { begin: broken } }, `${asked}, 0 503 guard`],
  ['a begin that does not respond', { guard: { begin: forever } }, `${asked}, 10000 503 guard`],
  [
    'a lease that is given too late is given back',
    { guard: { begin: slowly(12_000, 'new') } },
    `${asked}, 10000 503 guard, 12000 forget`,
  ],
  [
    'another value that comes too late is ignored',
    { guard: { begin: slowly(12_000, 'busy') } },
    `${asked}, 10000 503 guard`,
  ],
  ['a commit that rejects', { guard: { commit: away } }, `${handed}, 0 commit, 0 200 accepted`],
  ['a commit that does not respond', { guard: { commit: forever } }, `${handed}, 0 commit, 10000 200 accepted`],
  ['a forget that rejects', { guard: { forget: away }, onEvent: away }, `${handed}, 0 forget, 0 500 handler`],
  [
    'a forget that does not respond',
    { guard: { forget: forever }, onEvent: away },
    `${handed}, 0 forget, 10000 500 handler`,
  ],
  [
    'a pending status without results is not passed to it',
    { guard: {}, says: [{ state: 'pending' }] },
    '0 ask, 0 200 repeat',
    [{ isFinal: false }],
  ],
];

for (const [what, setup, log, steps] of sequences) {
  test(what, async () => {
    expect(await startHandler(setup).run(steps)).toBe(log);
  });
}

test.each([
  ['older', 'it is older than what was handed over'],
  ['busy', 'another process is handling its job; the callback has to be redelivered later'],
])('the error about a version that a guard calls %s says so', async (known, why) => {
  const { run, errors } = startHandler(begins(known));

  await run();

  expect(errors).toMatchObject([{ error: { message: expect.stringContaining(why), retryable: true } }]);
});

test.each(['commit', 'forget'] as const)('a failure of %s has a log line', async (step) => {
  const { deliver, lines } = startHandler({ guard: { [step]: away }, ...(step === 'forget' && { onEvent: away }) });

  await deliver();

  const when = step === 'commit' ? 'handled' : 'not handled';
  expect(lines[0]).toBe(`hosted-client: the replay guard failed after a callback was ${when}`);
});

const sha256 = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex');

/** A guard for which every version is new, and what it is given. */
function recordingGuard() {
  return {
    begin: vi.fn<ReplayGuard['begin']>(async () => 'new'),
    commit: vi.fn<ReplayGuard['commit']>(async () => undefined),
    forget: vi.fn<ReplayGuard['forget']>(async () => undefined),
  };
}

test('a guard gets the digest of the job, the id of the version and its signed time, and both lengths', async () => {
  const replayGuard = recordingGuard();
  const { deliver, handed } = startHandler({ handler: { replayGuard } });

  await deliver();

  const key = sha256(['sandbox', '085', 'user-1', 'job-1']);
  const version = sha256(['succeeded', ['0000001111', '0810', 'SAIA', true, null, null]]);
  const id = sha256(['sandbox', '085', 'user-1', 'job-1', version]);
  expect(replayGuard.begin.mock.calls).toEqual([[key, { id, signedAt: new Date(now) }, 300_000, 30 * day]]);
  expect(replayGuard.commit.mock.calls).toEqual([[key, { id, signedAt: new Date(now) }]]);
  expect(replayGuard.forget).not.toHaveBeenCalled();
  expect(handed[0]?.[0]).toEqual({ id, userId: 'user-1', jobId: 'job-1', linkId: null, signedAt: new Date(now) });
});

test('a guard gets leaseMs, keeps a version for twice maxHintAgeMs, and changes no event', async () => {
  const replayGuard = recordingGuard();
  replayGuard.begin.mockImplementation(async (_key, { signedAt }) => {
    signedAt.setTime(0);
    return 'new';
  });
  const { deliver, handed } = startHandler({ handler: { replayGuard, leaseMs: 1_000, maxHintAgeMs: 20 * day } });

  await deliver();

  expect(replayGuard.begin.mock.calls[0]?.slice(2)).toEqual([1_000, 40 * day]);
  expect(handed[0]?.[0].signedAt).toEqual(new Date(now));
});
