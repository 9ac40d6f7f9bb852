// What errors of invalid input, clients, signers, events and log lines show, and what they do not.

import { inspect } from 'node:util';
import { type HostedError, type HostedEvent, HostedPollTimeoutError, HostedResponseError } from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { clientOf, rejection } from '../support/fake-fetch.js';
import { createPlanter, expectNothingIn, plantedClient } from '../support/showings.js';

// What the caller gives -----------------------------------------------------

afterEach(() => {
  vi.unstubAllEnvs();
});

// Events --------------------------------------------------------------------

const eventMembers: Readonly<Record<HostedEvent['type'], readonly string[]>> = {
  request: ['attempt', 'callId', 'operation', 'type'],
  response: ['attempt', 'callId', 'durationMs', 'operation', 'requestId', 'status', 'type'],
  retry: ['attempt', 'callId', 'delayMs', 'operation', 'reason', 'type'],
  poll: ['attempt', 'callId', 'elapsedMs', 'nextDelayMs', 'state', 'type'],
  error: ['attempts', 'callId', 'code', 'operation', 'type'],
  call: ['attempts', 'callId', 'durationMs', 'operation', 'outcome', 'type'],
  callback: ['durationMs', 'reason', 'result', 'status', 'type'],
};

test('events and log lines have the properties that are documented, and no others', async () => {
  const planter = createPlanter();
  const { client, events, told, secrets, tellings } = plantedClient(planter, () =>
    Response.json(
      { error: planter.plant('error'), user_id: planter.plant('user') },
      { status: 503, headers: { 'x-other': planter.plant('header') } },
    ),
  );

  await rejection(client.links.get(planter.plant('link')));

  expect(events.map(({ type }) => type)).toEqual([
    'request',
    'response',
    'retry',
    'request',
    'response',
    'retry',
    'request',
    'response',
    'error',
    'call',
  ]);
  for (const event of events) expect(Object.keys(event).sort()).toEqual(eventMembers[event.type]);
  expect(new Set(events.map(callIdOf)).size).toBe(1);
  expect(told.length).toBeGreaterThan(events.length * 2);
  expectNothingIn(tellings(), secrets());
});

function callIdOf(event: HostedEvent): number | null {
  return 'callId' in event ? event.callId : null;
}

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
