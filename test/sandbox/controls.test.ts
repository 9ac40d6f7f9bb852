/** The controls over HTTP. */

import { expect, test } from 'vitest';
import { control, newLink, playAndReceive, running, runningLink } from './running.js';

test('GET /health says ok', async () => {
  const { sandbox } = await running();
  const response = await fetch(`${sandbox.origin}/health`);

  expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
});

test('POST /control/play plays an outcome and responds with the job', async () => {
  const { sandbox, client } = await running();
  const idType = { country: 'NG', idType: 'BVN', verificationMethod: 'enhanced_kyc' as const };
  const link = await client.links.create({ ...newLink, idTypes: [idType] });

  const response = await control(sandbox.origin, 'play', { refId: link.refId, outcome: 'id_verified', idType });
  const job = await response.json();
  const status = await client.jobs.status({ ...job, history: true });

  expect(response.status).toBe(200);
  expect(job).toEqual({ userId: expect.any(String), jobId: expect.any(String) });
  expect(status.history).toMatchObject([
    { resultCode: '1012', identity: { country: 'NG', idType: 'BVN' } },
    { resultCode: '0810' },
  ]);
});

test.each([
  ['outcome', { outcome: 'approve' }, 'must be one of approved, rejected, review_approved'],
  ['refId', { refId: 'none' }, 'must be the reference id of a link of the environment "sandbox"'],
  ['refId', { refId: 7 }, 'must be a string'],
  ['environment', { environment: 'test' }, 'must be "sandbox" or "production"'],
  ['idType', { idType: { country: 'GH', idType: 'VOTER' } }, 'must be one of the ID types that the link accepts'],
  ['colour', { colour: 'blue' }, 'is not a known property'],
])('POST /control/play names a wrong %s and what would be right', async (path, members, message) => {
  const { sandbox, link } = await runningLink();

  const response = await control(sandbox.origin, 'play', { refId: link.refId, outcome: 'approved', ...members });

  expect(response.status).toBe(400);
  expect((await response.json()).issues).toEqual([{ path, message: expect.stringContaining(message) }]);
});

test.each(['no JSON', '[]', '"text"', 'null'])('POST /control/play refuses the body %s', async (body) => {
  const { sandbox } = await running();
  const headers = { 'content-type': 'application/json' };

  expect((await fetch(`${sandbox.origin}/control/play`, { method: 'POST', headers, body })).status).toBe(400);
});

test('GET /control/requests gives requests, or those after one', async () => {
  const { sandbox, client } = await running();
  await client.links.list();
  await client.links.create(newLink);
  const read = async (query: string) => (await fetch(`${sandbox.origin}/control/requests${query}`)).json();

  expect(await read('')).toEqual(JSON.parse(JSON.stringify(sandbox.requests)));
  expect(await read('?after=1')).toMatchObject([{ id: 2, operation: 'links.create' }]);
  expect(await read('?after=2')).toEqual([]);
  expect((await fetch(`${sandbox.origin}/control/requests?after=x`)).status).toBe(400);
});

test('GET /control/callbacks gives callbacks, and POST …/resend sends one again', async () => {
  const { sandbox, received } = await playAndReceive();

  const again = await control(sandbox.origin, 'callbacks/1/resend', {});
  const forged = await control(sandbox.origin, 'callbacks/1/resend', { variant: 'forged' });

  expect(await again.json()).toMatchObject({ id: 2, state: 'delivered', attempts: [{ status: 200, problem: null }] });
  expect(await forged.json()).toMatchObject({ id: 3, resultCode: '0810' });
  expect(received[1]).toEqual(received[0]);
  expect(received[2]?.body.signature).not.toBe(received[0]?.body.signature);
  const listed = await (await fetch(`${sandbox.origin}/control/callbacks?after=1`)).json();
  expect(listed.map(({ id }: { id: number }) => id)).toEqual([2, 3]);
});

test('POST …/resend responds with 404 for an unknown callback and 400 for an unknown variant', async () => {
  const { sandbox, link } = await runningLink({}, { defaultCallbackUrl: 'http://127.0.0.1:9/' });
  await sandbox.play(link.refId, 'approved');
  await sandbox.idle();

  expect((await control(sandbox.origin, 'callbacks/9/resend', {})).status).toBe(404);
  expect((await control(sandbox.origin, 'callbacks/x/resend', {})).status).toBe(404);
  const response = await control(sandbox.origin, 'callbacks/1/resend', { variant: 'wrong' });
  expect([response.status, (await response.json()).issues[0].path]).toEqual([400, 'variant']);
});

test('POST /control/fail-next has the next requests fail', async () => {
  const { sandbox, client } = await running();
  const patient = client.withOptions({ maxRetries: 0 });
  const fault = { kind: 'status', status: 429, retryAfter: '1', body: { error: 'slow down' } };

  const response = await control(sandbox.origin, 'fail-next', { operation: 'links.list', fault, times: 2 });

  expect(response.status).toBe(204);
  for (let count = 0; count < 2; count++) {
    await expect(patient.links.list()).rejects.toMatchObject({ code: 'rate_limit', retryAfterMs: 1_000 });
  }
  expect((await patient.links.list()).links).toEqual([]);
});

test.each([
  ['operation', { operation: 'links.delete' }],
  ['fault.kind', { fault: { kind: 'fire' } }],
  ['fault.status', { fault: { kind: 'status', status: 42 } }],
  ['fault.retryAfter', { fault: { kind: 'status', status: 429, retryAfter: '1\r\nx: y' } }],
  ['fault', { fault: { kind: 'status' } }],
  ['times', { times: -1 }],
])('POST /control/fail-next names a wrong %s', async (path, members) => {
  const { sandbox } = await running();
  const input = { operation: 'links.list', fault: { kind: 'network' }, ...members };

  const response = await control(sandbox.origin, 'fail-next', input);

  expect([response.status, (await response.json()).issues[0].path]).toEqual([400, path]);
});

test('GET /control/faults/ID gives a fault that has not happened yet', async () => {
  const { sandbox } = await running();
  const fault = { operation: 'links.list', fault: { kind: 'network' }, times: 2 };
  await control(sandbox.origin, 'fail-next', fault);

  const response = await fetch(`${sandbox.origin}/control/faults/1`);

  const expected = { id: 1, environment: 'sandbox', operation: 'links.list', fault: { kind: 'network' }, left: 2 };
  expect([response.status, await response.json()]).toEqual([200, expected]);
  expect((await fetch(`${sandbox.origin}/control/faults/2`)).status).toBe(404);
});

test('a control that needs no body takes a request without one', async () => {
  const { sandbox, received } = await playAndReceive();
  const headers = { 'content-type': 'application/json' };

  const response = await fetch(`${sandbox.origin}/control/callbacks/1/resend`, { method: 'POST', headers });

  expect(await response.json()).toMatchObject({ id: 2, state: 'delivered' });
  expect(received[1]).toEqual(received[0]);
});

test('POST /control/reset forgets all', async () => {
  const { sandbox, client } = await running();
  await client.links.create(newLink);

  expect((await control(sandbox.origin, 'reset', {})).status).toBe(204);
  expect(sandbox.service.sandbox.links.all()).toEqual([]);
});

test('an unknown control responds with 404 in JSON', async () => {
  const { sandbox } = await running();
  const response = await control(sandbox.origin, 'explode', {});

  expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/json']);
});
