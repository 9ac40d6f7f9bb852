// What errors of invalid input, clients, signers, events and log lines show, and what they do not.

import { inspect } from 'node:util';
import { type HostedError, HostedPollTimeoutError, HostedResponseError } from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { clientOf, rejection } from '../support/fake-fetch.js';

// What the caller gives -----------------------------------------------------

afterEach(() => {
  vi.unstubAllEnvs();
});

// Events --------------------------------------------------------------------

test('a listener and a logger that throw change nothing', async () => {
  const refuse = () => {
    throw new Error('no');
  };
  const reject = (() => Promise.reject(new Error('no'))) as () => void;
  const { client } = clientOf(
    { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' },
    { onEvent: reject, logger: { debug: refuse, info: refuse, warn: refuse, error: reject } },
  );

  await expect(client.links.get('ref-1')).resolves.toMatchObject({ refId: 'ref-1' });
});

// What is there for those who ask -------------------------------------------

test('JSON and inspection of an error show what a log needs', async () => {
  const headers = { 'x-request-id': 'req-1', 'retry-after': '7' };
  const { client } = clientOf(Response.json({ code: '2301' }, { status: 503, headers }), { maxRetries: 0 });

  const error = await rejection(client.jobs.status({ userId: 'user-1', jobId: 'job-1' }));

  const expected = {
    name: 'HostedServerError',
    code: 'server',
    message: expect.stringMatching(/^Cannot get the status of a job: /),
    operation: 'jobs.status',
    outcome: 'refused',
    attempts: 1,
    requestId: 'req-1',
    retryable: true,
    mayHaveActed: false,
    status: 503,
    serviceCode: '2301',
    retryAfterMs: 7_000,
  };
  expect(JSON.parse(JSON.stringify(error))).toEqual(expected);
  const shown = inspect(error);
  for (const fact of ['HostedServerError', 'jobs.status', 'refused', 'req-1', '503', '2301', '7000']) {
    expect(shown).toContain(fact);
  }
});

test.each<[string, HostedError, object]>([
  [
    'a wait that ended',
    new HostedPollTimeoutError('it is over', { job: { userId: 'u', jobId: 'j' }, lastStatus: null, elapsedMs: 5 }, {}),
    { code: 'poll_timeout', elapsedMs: 5 },
  ],
  [
    'a response of another shape',
    new HostedResponseError('shape', [{ path: 'ref_id', message: 'must be there' }], {}),
    { code: 'response', reason: 'shape', issues: [{ path: 'ref_id', message: 'must be there' }] },
  ],
])('JSON of the error of %s shows its details', (_what, error, expected) => {
  expect(JSON.parse(JSON.stringify(error))).toMatchObject(expected);
});
