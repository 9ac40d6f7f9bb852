/** Callbacks the mock service sends, and those an attacker might. */

import { createMockService, type MockServiceOptions } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { apiKeyOf, ed25519Verifies, hmac, newLink, nowText, partnerOf, stillClock } from './partner.js';

function start(options: MockServiceOptions = {}) {
  const service = createMockService({ clock: stillClock, ...options });
  const { sandbox } = service;
  const job = sandbox.jobs.start();
  return { service, sandbox, job, key: apiKeyOf(sandbox) };
}

test('mock.jobs.callback() is a signed POST of the latest history entry', async () => {
  const { sandbox, job, key } = start();
  sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Provisional - Under Review' });
  sandbox.jobs.complete(job, 'approved');

  const request = await sandbox.jobs.callback(job);
  const body = await request.json();

  expect(request.method).toBe('POST');
  expect(request.url).toBe('https://partner.hosted.test/callbacks');
  expect(request.headers.get('content-type')).toBe('application/json');
  expect(body).toMatchObject({
    ResultCode: '0810',
    IsFinalResult: 'true',
    PartnerParams: { user_id: job.userId, job_id: job.jobId, job_type: '1' },
    timestamp: nowText,
    signature: hmac(key, nowText),
  });
});

test('mock.jobs.callback() takes an entry of the history, counted from 0', async () => {
  const { sandbox, job } = start();
  sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Provisional - Under Review' });
  sandbox.jobs.complete(job, 'approved');

  const first = await (await sandbox.jobs.callback(job, { entry: 0 })).json();

  expect(first.ResultCode).toBe('0814');
  await expect(sandbox.jobs.callback(job, { entry: 2 })).rejects.toThrow(RangeError);
});

test('mock.jobs.callback() refuses a job without results', async () => {
  const { sandbox, job } = start();

  await expect(sandbox.jobs.callback(job)).rejects.toThrow(RangeError);
});

test('mock.jobs.callback() goes to the URL of the link and names it', async () => {
  const { service, sandbox } = start();
  const { body: link } = await partnerOf(service).create(newLink);
  const { body: bare } = await partnerOf(service).create({ ...newLink, callback_url: undefined });
  const job = sandbox.jobs.start({ linkRefId: link.ref_id });
  const jobOfBare = sandbox.jobs.start({ linkRefId: bare.ref_id });
  sandbox.jobs.complete(job, 'approved');
  sandbox.jobs.complete(jobOfBare, 'approved');

  const request = await sandbox.jobs.callback(job);

  expect(request.url).toBe(newLink.callback_url);
  expect((await request.json()).PartnerParams.link_id).toBe(link.ref_id);
  expect((await sandbox.jobs.callback(jobOfBare)).url).toBe('https://partner.hosted.test/callbacks');
});

test.each(['table', 'sample', 'random'] as const)(
  'mock.jobs.callback() in spelling %s repeats itself to the letter',
  async (spelling) => {
    let nowMs = stillClock.now();
    const { sandbox, job } = start({ spelling, clock: { now: () => nowMs } });
    sandbox.jobs.complete(job, 'approved');

    const first = await (await sandbox.jobs.callback(job)).text();
    nowMs += 3_600_000;
    const again = await (await sandbox.jobs.callback(job)).text();

    expect(again).toBe(first);
  },
);

test('mock callbacks of one millisecond have different signatures', async () => {
  const { sandbox, job } = start();
  const another = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  sandbox.jobs.complete(another, 'approved');

  const [first, second] = await Promise.all([sandbox.jobs.callback(job), sandbox.jobs.callback(another)]);

  expect((await first.json()).signature).not.toBe((await second.json()).signature);
});

test('mock callback variant forged is signed with a key that is not the service key', async () => {
  const { sandbox, job, key } = start();
  sandbox.jobs.complete(job, 'approved');

  const body = await (await sandbox.jobs.callback(job, { variant: 'forged' })).json();

  expect(body.timestamp).toBe(nowText);
  expect(body.signature).toHaveLength(44);
  expect(body.signature).not.toBe(hmac(key, nowText));
});

test('mock callback variant stale is signed correctly, an hour ago', async () => {
  const { sandbox, job, key } = start();
  sandbox.jobs.complete(job, 'approved');

  const body = await (await sandbox.jobs.callback(job, { variant: 'stale' })).json();

  expect(body.timestamp).toBe('2026-01-02T02:04:05.000Z');
  expect(body.signature).toBe(hmac(key, body.timestamp));
});

test.each(['approved', 'rejected'] as const)(
  'mock callback variant altered puts another result under the signature of %s',
  async (outcome) => {
    const { sandbox, job } = start();
    sandbox.jobs.complete(job, outcome);

    const altered = await (await sandbox.jobs.callback(job, { variant: 'altered' })).json();
    const genuine = await (await sandbox.jobs.callback(job)).json();

    expect([altered.timestamp, altered.signature]).toEqual([genuine.timestamp, genuine.signature]);
    expect(altered.ResultCode).not.toBe(genuine.ResultCode);
    expect(altered.ResultText).not.toBe(genuine.ResultText);
    expect(altered.PartnerParams).toEqual(genuine.PartnerParams);
  },
);

test('mock callback variant unsigned has neither timestamp nor signature', async () => {
  const { sandbox, job } = start();
  sandbox.jobs.complete(job, 'approved');

  const body = await (await sandbox.jobs.callback(job, { variant: 'unsigned' })).json();

  expect(body).not.toHaveProperty('timestamp');
  expect(body).not.toHaveProperty('signature');
  expect(body.ResultCode).toBe('0810');
});

test('mock.jobs.callback() pads the body by as many bytes as asked', async () => {
  const { sandbox, job } = start();
  sandbox.jobs.complete(job, 'approved');

  const body = await (await sandbox.jobs.callback(job, { padBytes: 1_500_000 })).json();

  expect(body.Photo).toHaveLength(1_500_000);
  expect(body.signature).toBe(hmac(apiKeyOf(sandbox), nowText));
});

test('mock.jobs.deliverCallback() hands the request over and returns the response', async () => {
  const { sandbox, job } = start();
  sandbox.jobs.complete(job, 'approved');
  const received: Request[] = [];

  const response = await sandbox.jobs.deliverCallback(job, {
    variant: 'unsigned',
    to: async (request) => {
      received.push(request);
      return new Response(null, { status: 401 });
    },
  });

  expect(response.status).toBe(401);
  expect(received).toHaveLength(1);
  expect(await received[0]?.json()).not.toHaveProperty('signature');
});

test('mock callbacks in scheme ed25519 are signed with the key of the service', async () => {
  const { sandbox, job } = start({ scheme: 'ed25519' });
  sandbox.jobs.complete(job, 'approved');

  const genuine = await (await sandbox.jobs.callback(job)).json();
  const forged = await (await sandbox.jobs.callback(job, { variant: 'forged' })).json();

  expect(ed25519Verifies(2, genuine.signature, genuine.timestamp)).toBe(true);
  expect(ed25519Verifies(2, forged.signature, forged.timestamp)).toBe(false);
});
