// Deliveries on their tracing channel.

import { HostedClient } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { subscribeTo } from '../support/traced.js';

function startClient() {
  const clock = createTestClock();
  const service = createMockService({ clock });
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch, clock });
  const job = service.sandbox.jobs.start({ userId: 'user-4711', jobId: 'job-0815' });
  service.sandbox.jobs.complete(job, 'approved');
  return { client, clock, job, jobs: service.sandbox.jobs };
}

test('a delivery is one message, and its confirming call and onEvent run within its store', async () => {
  const { inside, ended, seen } = subscribeTo('callback', 'call');
  const { client, clock, job, jobs } = startClient();
  let within: readonly object[] = [];

  const to = client.callbacks.handler({
    onEvent: () => {
      within = inside();
    },
  });
  await jobs.deliverCallback(job, { to });
  const again = jobs.deliverCallback(job, { to });
  await clock.advance(5_000);
  await again;

  expect(ended('callback')).toEqual([
    { result: 'accepted', status: 200, errorCode: null },
    { result: 'repeat', status: 200, errorCode: null },
  ]);
  expect(seen.map(({ channel, step }) => `${channel} ${step}`).slice(0, 6)).toEqual([
    'callback start',
    'callback end',
    'call start',
    'call end',
    'call asyncStart',
    'call asyncEnd',
  ]);
  expect(seen[0]?.message).toEqual({ result: null, status: null, errorCode: null });
  expect(within).toEqual([seen[0]?.identity]);
  for (const secret of ['4711', '0815', '0810']) expect(JSON.stringify(seen)).not.toContain(secret);
});

test('a delivery that is refused or fails has its reason at step error', async () => {
  const { ended, seen } = subscribeTo('callback');
  const { client, job, jobs } = startClient();

  const to = client.callbacks.handler({ onEvent: () => Promise.reject(new Error('user-4711')) });
  await jobs.deliverCallback(job, { to, variant: 'forged' });
  await jobs.deliverCallback(job, { to });

  expect(ended('callback')).toEqual([
    { result: 'refused', status: 401, errorCode: 'mismatch' },
    { result: 'failed', status: 500, errorCode: 'handler' },
  ]);
  expect(seen.filter(({ step }) => step === 'error')).toHaveLength(2);
  expect(JSON.stringify(seen)).not.toContain('4711');
});
