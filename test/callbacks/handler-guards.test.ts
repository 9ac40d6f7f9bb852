// How handler() uses a replay guard.

import { HostedClient, type ReplayGuard } from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  away,
  broken,
  confirmedListener,
  expectComeAgain,
  guardWith,
  held,
  listener,
  startApproved,
  statusOf,
} from './handled-callback.js';

failOnStrayRejections();

test('callbacks.handler() begins, hands over and commits, in this order', async () => {
  const { sandbox, client, job } = startApproved();
  const steps: string[] = [];
  const keys = new Set<string>();
  const step = (name: string, key: string) => {
    steps.push(name);
    keys.add(key);
  };
  const replayGuard: ReplayGuard = {
    begin: async (key) => {
      step('begin', key);
      return 'new';
    },
    commit: async (key) => step('commit', key),
    forget: async (key) => step('forget', key),
  };
  const onEvent = vi.fn<() => void>(() => {
    steps.push('handle');
  });

  await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ confirm: false, replayGuard, onEvent }) });
  onEvent.mockImplementationOnce(broken);
  await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ confirm: false, replayGuard, onEvent }) });

  expect(steps).toEqual(['begin', 'handle', 'commit', 'begin', 'forget']);
  expect(keys.size).toBe(1);
});

test.each([
  ['new', 200, 1],
  ['repeat', 200, 0],
  ['busy', 503, 0],
  ['conflict', 401, 0],
] as const)('callbacks.handler() takes what its guard knows as %s with %d', async (known, status, times) => {
  const { sandbox, client, job } = startApproved();
  const replayGuard = guardWith({ begin: async () => known });
  const onEvent = listener();

  const response = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, replayGuard, onEvent }),
  });

  expect(response.status).toBe(status);
  expect(onEvent).toHaveBeenCalledTimes(times);
  expect(replayGuard.commit).toHaveBeenCalledTimes(times);
  expect(replayGuard.forget).not.toHaveBeenCalled();
});

test.each([
  ['rejects', away],
  ['throws', broken],
])('callbacks.handler() responds with 503 when begin of its guard %s, and hands nothing over', async (_what, begin) => {
  const { sandbox, client, job, warned } = startApproved();
  const onEvent = listener();
  const to = client.callbacks.handler({ confirm: false, replayGuard: guardWith({ begin }), onEvent });

  const response = await sandbox.jobs.deliverCallback(job, { to });

  expectComeAgain(response);
  expect(onEvent).not.toHaveBeenCalled();
  expect(warned).toHaveLength(1);
});

test.each([
  ['rejects', away],
  ['throws', broken],
])('callbacks.handler() does not ask again for what was handled when commit of its guard %s', async (_what, commit) => {
  const { sandbox, client, job, warned } = startApproved();
  const onEvent = listener();
  const replayGuard = guardWith({ commit });

  const response = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, replayGuard, onEvent }),
  });

  expect(response.status).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
  expect(replayGuard.forget).not.toHaveBeenCalled();
  expect(warned).toHaveLength(1);
});

test.each([
  ['rejects', away],
  ['throws', broken],
])('callbacks.handler() responds as ever when forget of its guard %s', async (_what, forget) => {
  const { sandbox, client, job } = startApproved();
  const replayGuard = guardWith({ forget });
  const handled = client.callbacks.handler({ confirm: false, replayGuard, onEvent: away });
  const confirmed = client.callbacks.handler({ replayGuard, onEvent: confirmedListener() });
  sandbox.failNext('jobs.status', { kind: 'network' });

  expect(await statusOf(sandbox.jobs.deliverCallback(job, { to: handled }))).toBe(500);
  expectComeAgain(await sandbox.jobs.deliverCallback(job, { to: confirmed }));
});

const both = [
  ['that confirms', true],
  ['that does not confirm', false],
] as const;

test.each(both)(
  'a handler %s responds with 503 when begin of its guard has not settled after 10 s',
  async (_what, confirm) => {
    const { clock, sandbox, client, job, warned } = startApproved();
    const begin = held<'new'>();
    const replayGuard = guardWith({ begin: begin.step });
    const onEvent = vi.fn();
    const onError = vi.fn();
    const to = client.callbacks.handler({ confirm: confirm as true, replayGuard, onEvent, onError });

    const delivered = sandbox.jobs.deliverCallback(job, { to });
    await begin.begun;
    await clock.advance(9_999);
    expect(onError).not.toHaveBeenCalled();
    await clock.advance(1);

    expectComeAgain(await delivered);
    expect(onEvent).not.toHaveBeenCalled();
    expect(onError).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ code: 'timeout', retryable: true }),
      expect.objectContaining({ phase: 'guard', status: 503 }),
    );
    expect(warned).toEqual([expect.stringContaining('the replay guard did not respond within 10 seconds')]);
  },
);

test.each(both)('a handler %s gives back what begin of its guard gives too late', async (_what, confirm) => {
  const { clock, sandbox, client, job } = startApproved();
  const begin = held<'new'>();
  const replayGuard = guardWith({ begin: begin.step });
  const onEvent = vi.fn();
  const to = client.callbacks.handler({ confirm: confirm as true, replayGuard, onEvent });
  const delivered = sandbox.jobs.deliverCallback(job, { to });
  await begin.begun;
  await clock.advance(10_000);
  await delivered;

  begin.resolve('new');
  await clock.advance(1_000);
  expect(replayGuard.forget).toHaveBeenCalledTimes(1);
  expect(replayGuard.forget).toHaveBeenCalledWith(begin.step.mock.calls[0]?.[0]);

  const again = await sandbox.jobs.deliverCallback(job, { to });
  expect(again.status).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
  expect(replayGuard.commit).toHaveBeenCalledTimes(1);
});

test.each([
  ['repeat', 1_000],
  ['busy', 1_000],
  ['conflict', 1_000],
  ['new', 300_000],
] as const)('a handler gives back no lease that it does not have: %s, %d ms too late', async (known, lateMs) => {
  const { clock, sandbox, client, job } = startApproved();
  const begin = held<typeof known>();
  const replayGuard = guardWith({ begin: begin.step });
  const to = client.callbacks.handler({ replayGuard, onEvent: confirmedListener() });
  const delivered = sandbox.jobs.deliverCallback(job, { to });
  await begin.begun;
  await clock.advance(10_000);
  await delivered;

  await clock.advance(lateMs);
  begin.resolve(known);
  await clock.advance(1_000);

  expect(replayGuard.forget).not.toHaveBeenCalled();
});

test('a handler takes no notice of a guard that fails too late', async () => {
  const { clock, sandbox, client, job, warned } = startApproved();
  const begin = held<'new'>();
  const to = client.callbacks.handler({ replayGuard: guardWith({ begin: begin.step }), onEvent: confirmedListener() });
  const delivered = sandbox.jobs.deliverCallback(job, { to });
  await begin.begun;
  await clock.advance(10_000);
  await delivered;

  begin.resolve(away() as never);
  await clock.advance(1_000);

  expect(warned).toHaveLength(1);
});

test.each(both)(
  'a handler %s waits 10 s for commit and forget of its guard, and responds as ever',
  async (_what, confirm) => {
    const { clock, sandbox, client, job, warned } = startApproved();
    const commit = held<void>();
    const forget = held<void>();
    const replayGuard = guardWith({ commit: commit.step, forget: forget.step });
    const onEvent = vi.fn<() => void>();
    const to = client.callbacks.handler({ confirm: confirm as true, replayGuard, onEvent });

    onEvent.mockImplementationOnce(broken);
    const failed = statusOf(sandbox.jobs.deliverCallback(job, { to }));
    await forget.begun;
    await clock.advance(10_000);
    const handled = statusOf(sandbox.jobs.deliverCallback(job, { to }));
    await commit.begun;
    await clock.advance(10_000);

    expect([await failed, await handled]).toEqual([500, 200]);
    expect(warned.filter((line) => line.includes('the replay guard failed after a callback was'))).toHaveLength(2);
  },
);

test.each(both)('a handler %s responds with 503 when its signer has not settled after 10 s', async (_what, confirm) => {
  const { clock, sandbox, job } = startApproved();
  const verify = held<boolean>();
  const signer = { name: 'held', sign: () => 'x', verify: verify.step };
  const { apiKey: _none, ...options } = sandbox.clientOptions;
  const client = new HostedClient({ ...options, signer });
  const onEvent = vi.fn();
  const onError = vi.fn();
  const to = client.callbacks.handler({ confirm: confirm as true, onEvent, onError });

  const delivered = sandbox.jobs.deliverCallback(job, { to });
  await verify.begun;
  await clock.advance(10_000);

  expectComeAgain(await delivered);
  expect(onError).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ code: 'timeout', retryable: true }),
    expect.objectContaining({ phase: 'verify', status: 503, event: null }),
  );
  verify.resolve(true);
  await clock.advance(1_000);
  expect(onEvent).not.toHaveBeenCalled();
});

test('a handler leaves no timer of a guard behind', async () => {
  const { clock, sandbox, client, job } = startApproved();
  const sleep = vi.spyOn(clock, 'sleep');
  const to = client.callbacks.handler({ replayGuard: guardWith({}), onEvent: confirmedListener() });

  await statusOf(sandbox.jobs.deliverCallback(job, { to }));

  const signals = sleep.mock.calls.map(([, signal]) => signal);
  expect(signals.length).toBeGreaterThan(0);
  for (const signal of signals) expect(signal?.aborted).toBe(true);
});

test('handlers that share a guard hand a callback over once between them', async () => {
  const { service, sandbox, client, job } = startApproved();
  const known = new Map<string, string>();
  const replayGuard = guardWith({
    begin: async (key, bodyDigest) => {
      const before = known.get(key);
      known.set(key, before ?? bodyDigest);
      return before === undefined ? 'new' : before === bodyDigest ? 'repeat' : 'conflict';
    },
  });
  const onEvent = listener();
  const another = new HostedClient({ ...sandbox.clientOptions, fetch: service.fetch });

  const first = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, replayGuard, onEvent }),
  });
  const to = another.callbacks.handler({ confirm: false, replayGuard, onEvent });
  const second = await sandbox.jobs.deliverCallback(job, { to });
  const altered = await sandbox.jobs.deliverCallback(job, { to, variant: 'altered' });

  expect([first.status, second.status, altered.status]).toEqual([200, 200, 401]);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

test('handlers of one client remember together', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = listener();

  await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ confirm: false, onEvent }) });
  const again = await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ confirm: false, onEvent }) });

  expect(again.status).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
});
