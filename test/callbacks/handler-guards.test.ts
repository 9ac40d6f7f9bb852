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
])('callbacks.handler() answers 503 when begin of its guard %s, and hands nothing over', async (_what, begin) => {
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
])('callbacks.handler() answers as ever when forget of its guard %s', async (_what, forget) => {
  const { sandbox, client, job } = startApproved();
  const replayGuard = guardWith({ forget });
  const handled = client.callbacks.handler({ confirm: false, replayGuard, onEvent: away });
  const confirmed = client.callbacks.handler({ replayGuard, onEvent: confirmedListener() });
  sandbox.failNext('jobs.status', { kind: 'network' });

  expect(await statusOf(sandbox.jobs.deliverCallback(job, { to: handled }))).toBe(500);
  expectComeAgain(await sandbox.jobs.deliverCallback(job, { to: confirmed }));
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
