// How receive() uses a replay guard.

import { createHash } from 'node:crypto';
import { HostedClient, type ReplayGuard } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { clientOf, now, partnerId, rejection, sign, stillClock } from '../support/fake-fetch.js';
import { held } from './handled-callback.js';
import {
  day,
  expectResponseError,
  expectSignatureError,
  fiveMinutes,
  nowText,
  otherResult,
  posted,
  receiver,
  result,
} from './posted-callback.js';

const busy = {
  code: 'signature',
  reason: 'replayed',
  outcome: 'answered',
  retryable: true,
  message: expect.stringContaining('another delivery of the same callback is being handled'),
};

type Known = Awaited<ReturnType<ReplayGuard['begin']>>;

/** A guard that says the same of each callback, and records its calls. */
function recordingGuard(known: Known = 'new') {
  const begun: { readonly key: string; readonly bodyDigest: string; readonly expiresAt: Date }[] = [];
  const told: string[] = [];
  const guard: ReplayGuard = {
    begin: async (key, bodyDigest, expiresAt) => {
      begun.push({ key, bodyDigest, expiresAt });
      told.push(`begin ${key}`);
      return known;
    },
    commit: async (key) => {
      told.push(`commit ${key}`);
    },
    forget: async (key) => {
      told.push(`forget ${key}`);
    },
  };
  return { guard, begun, told };
}

test('a ReplayGuard gets digests, and nothing of a signature or a body', async () => {
  const { guard, begun, told } = recordingGuard();
  const callbacks = receiver();

  await callbacks.receive(posted(result), { replayGuard: guard });
  await callbacks.receive(posted(otherResult, { member: 'sec_key' }), { replayGuard: guard });
  await callbacks.receive(Buffer.from(posted(result)), { replayGuard: guard });
  await callbacks.receive(posted(result, { timestamp: '2026-01-02T03:05:00.000Z' }), { replayGuard: guard });

  const [first, altered, again, later] = begun;
  expect(told).toEqual(begun.flatMap(({ key }) => [`begin ${key}`, `commit ${key}`]));
  for (const { key, bodyDigest } of begun) {
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(bodyDigest).toMatch(/^[0-9a-f]{64}$/);
  }
  expect(first?.key).not.toBe(Buffer.from(sign(nowText), 'base64').toString('hex'));
  expect(altered?.key).toBe(first?.key);
  expect(altered?.bodyDigest).not.toBe(first?.bodyDigest);
  expect(again).toEqual(first);
  expect(later?.key).not.toBe(first?.key);
  expect(later?.bodyDigest).not.toBe(first?.bodyDigest);
});

test('a ReplayGuard that processes of two versions share gets the same key from both', async () => {
  const { guard, begun } = recordingGuard();

  await receiver().receive(posted(result), { replayGuard: guard });

  const parts = JSON.stringify(['sandbox', partnerId, nowText]);
  expect(begun[0]?.key).toBe(createHash('sha256').update(parts).digest('hex'));
});

test.each([
  ['now', 0],
  ['four minutes ago', -240_000],
  ['four minutes ahead', 240_000],
])('a ReplayGuard keeps a callback signed %s until it is stale, and not for ever', async (_what, offset) => {
  const { guard, begun } = recordingGuard();
  const timestamp = new Date(now + offset).toISOString();

  await receiver().receive(posted(result, { timestamp }), { replayGuard: guard });

  const expiry = begun[0]?.expiresAt;
  expect(expiry).toBeInstanceOf(Date);
  expect(expiry?.getTime()).toBeGreaterThanOrEqual(now + offset + fiveMinutes);
  expect(expiry?.getTime()).toBeLessThanOrEqual(now + 60 * 60 * 1000);
});

test('a ReplayGuard keeps a callback of any age for an hour at least, and not for ever', async () => {
  const { guard, begun } = recordingGuard();
  const options = { replayGuard: guard, maxAgeMs: false } as const;

  await receiver().receive(posted(result, { timestamp: '2018-03-13T21:04:11.193Z' }), options);
  await receiver().receive(posted(result, { timestamp: 'yesterday' }), options);

  for (const { expiresAt } of begun) {
    expect(expiresAt.getTime()).toBeGreaterThanOrEqual(now + 60 * 60 * 1000);
    expect(expiresAt.getTime()).toBeLessThanOrEqual(now + 30 * day);
  }
  expect(begun).toHaveLength(2);
});

test.each([
  ['new', { repeat: false }, 'begin commit'],
  ['repeat', { repeat: true }, 'begin'],
  ['conflict', { reason: 'replayed', retryable: false }, 'begin'],
  ['busy', busy, 'begin'],
  ['another word', busy, 'begin'],
  [null, busy, 'begin'],
])('callbacks.receive(): about a callback its guard says %s', async (known, gets, steps) => {
  const { guard, told } = recordingGuard(known as Known);

  const end = await receiver()
    .receive(posted(result), { replayGuard: guard })
    .catch((error: unknown) => error);

  expect(end).toMatchObject(gets);
  expect(told.map((line) => line.split(' ')[0]).join(' ')).toBe(steps);
});

test('a ReplayGuard gets nothing of callbacks that are rejected', async () => {
  const { guard, told } = recordingGuard();
  const options = { replayGuard: guard };

  await expectSignatureError(receiver().receive(JSON.stringify(result), options), 'missing');
  await expectSignatureError(receiver().receive(posted(result, { key: 'another-key' }), options), 'mismatch');
  await expectSignatureError(
    receiver().receive(posted(result, { timestamp: '2018-03-13T21:04:11.193Z' }), options),
    'stale',
  );
  await expectResponseError(receiver().receive(posted({}), options), 'shape');
  await expectResponseError(receiver().receive('{', options), 'malformed');

  expect(told).toEqual([]);
});

test.each(['begin', 'commit'] as const)(
  'callbacks.receive() gives nothing if %s of its guard fails',
  async (method) => {
    const { guard } = recordingGuard();
    const failure = new Error('the store is away');
    const replayGuard = { ...guard, [method]: () => Promise.reject(failure) };

    expect(await rejection(receiver().receive(posted(result), { replayGuard }))).toBe(failure);
  },
);

test.each(['begin', 'commit'] as const)(
  'callbacks.receive() rejects when %s of its guard has not settled after 10 s',
  async (method) => {
    const clock = createTestClock(now);
    const { guard, told } = recordingGuard();
    const step = held<'new'>();
    const { callbacks } = clientOf({}, { clock }).client;
    const received = rejection(callbacks.receive(posted(result), { replayGuard: { ...guard, [method]: step.step } }));
    await step.begun;
    await clock.advance(10_000);

    expect(await received).toMatchObject({
      code: 'timeout',
      retryable: true,
      message: 'Cannot receive a callback: the replay guard did not respond within 10 seconds',
    });
    // A late lease is given back: the caller has no callback, so the next delivery must count as new.
    const before = told.length;
    step.resolve('new');
    await clock.advance(1_000);
    expect(told.slice(before).map((line) => line.split(' ')[0])).toEqual(['forget']);
  },
);

/** A guard in memory, as a user would write one. */
function ownGuard(): ReplayGuard {
  const known = new Map<string, { bodyDigest: string; handled: boolean }>();
  return {
    begin: async (key, bodyDigest) => {
      const before = known.get(key);
      if (!before) known.set(key, { bodyDigest, handled: false });
      else if (before.bodyDigest !== bodyDigest) return 'conflict';
      else return before.handled ? 'repeat' : 'busy';
      return 'new';
    },
    commit: async (key) => {
      known.set(key, { bodyDigest: known.get(key)?.bodyDigest ?? '', handled: true });
    },
    forget: async (key) => {
      known.delete(key);
    },
  };
}

test('callbacks.receive() gives again what its guard could not commit', async () => {
  const guard = ownGuard();
  let commits = 0;
  const replayGuard: ReplayGuard = {
    ...guard,
    commit: async (key) => {
      commits += 1;
      if (commits === 1) throw new Error('the store is away');
      await guard.commit(key);
    },
  };
  const receive = () => receiver().receive(posted(result), { replayGuard });

  await rejection(receive());

  expect((await receive()).repeat).toBe(false);
  expect((await receive()).repeat).toBe(true);
});

test('clients that share a guard know what the other received', async () => {
  const replayGuard = ownGuard();

  const first = await receiver().receive(posted(result), { replayGuard });
  const second = await receiver().receive(posted(result), { replayGuard });
  await expectSignatureError(receiver().receive(posted(otherResult), { replayGuard }), 'replayed');

  expect([first.repeat, second.repeat]).toEqual([false, true]);
});

test('a guard that environments and partners share keeps them apart', async () => {
  const replayGuard = ownGuard();
  const { sandbox, production } = createMockService({ clock: stillClock() });
  const other = createMockService({ partnerId: '086', clock: stillClock() }).sandbox;

  for (const environment of [sandbox, production, other]) {
    const job = environment.jobs.start();
    environment.jobs.complete(job, 'approved');
    const body = await (await environment.jobs.callback(job)).text();
    const { callbacks } = new HostedClient(environment.clientOptions);

    expect(await callbacks.receive(body, { replayGuard })).toMatchObject({ ...job, repeat: false });
    expect(await callbacks.receive(body, { replayGuard })).toMatchObject({ ...job, repeat: true });
  }
});
