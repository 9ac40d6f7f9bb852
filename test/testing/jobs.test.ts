/** Jobs of the mock service, from start to final status. */

import type { Signer } from 'hosted-client';
import { createMockService, type MockServiceOptions } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { environments } from '../../src/options.js';
import {
  type Answered,
  apiKeyOf,
  ed25519Sign,
  ed25519Verifies,
  hmac,
  newLink,
  nowMs,
  nowText,
  partnerOf,
  stillClock,
  wireJob,
} from './partner.js';

function start(options: MockServiceOptions = {}) {
  const service = createMockService({ clock: stillClock, ...options });
  return { service, sandbox: service.sandbox, partner: partnerOf(service) };
}

const underReview = { resultCode: '0814', resultText: 'Provisional - Under Review' };

test('mock.jobs.start() makes up ids, and job status reports the job as pending', async () => {
  const { sandbox, partner } = start();
  const job = sandbox.jobs.start();

  const { status, body } = await partner.status(wireJob(job));

  expect(status).toBe(200);
  expect(body).toEqual({
    timestamp: expect.any(String),
    sec_key: hmac(apiKeyOf(sandbox), body.timestamp),
    user_id: job.userId,
    job_id: job.jobId,
    job_complete: false,
    job_success: false,
    code: '2314',
    result: 'No zip uploaded yet',
  });
});

test('mock.jobs.start() refuses a job there is already, and a link there is not', () => {
  const { sandbox } = start();
  const job = sandbox.jobs.start();

  expect(() => sandbox.jobs.start(job)).toThrow('already has a job with this user id and job id');
  expect(() => sandbox.jobs.start({ linkRefId: 'none' })).toThrow('no link with this reference id');
  expect(sandbox.jobs.start({ ...job, userId: 'another' }).jobId).toBe(job.jobId);
});

test('mock.jobs controls refuse a job there is not', async () => {
  const { sandbox } = start();
  const job = { userId: 'user-1', jobId: 'job-1' };

  expect(() => sandbox.jobs.report(job, underReview)).toThrow('no job with this user id and job id');
  expect(() => sandbox.jobs.complete(job, 'approved')).toThrow('no job with this user id and job id');
  await expect(sandbox.jobs.callback(job)).rejects.toThrow('no job with this user id and job id');
});

test('mock.jobs.complete() makes job status respond with job_complete true with a signature of the service key', async () => {
  const { sandbox, partner } = start();
  const job = sandbox.jobs.start();

  sandbox.jobs.complete(job, 'approved');
  const { body } = await partner.status(wireJob(job));

  expect(body.sec_key).toBe(hmac(apiKeyOf(sandbox), body.timestamp));
  expect(body).toMatchObject({
    user_id: job.userId,
    job_id: job.jobId,
    job_complete: true,
    job_success: true,
    code: '2302',
    result: {
      ResultCode: '0810',
      ResultText: 'Enroll User',
      ResultType: 'SAIA',
      HostedJobID: '0000000001',
      JSONVersion: '1.0.0',
      IsFinalResult: 'true',
      IsMachineResult: 'true',
      ConfidenceValue: '99',
      PartnerParams: { user_id: job.userId, job_id: job.jobId, job_type: '1' },
    },
  });
  expect(body).not.toHaveProperty('history');
  expect(body).not.toHaveProperty('image_links');
});

test.each([
  ['rejected', { job_success: false, result: { ResultCode: '0811', IsFinalResult: 'true' } }],
  [
    { resultCode: '1220', resultText: 'Authenticated', success: true },
    { job_success: true, result: { ResultCode: '1220', ResultText: 'Authenticated' } },
  ],
] as const)('mock.jobs.complete() takes %j as an outcome', async (outcome, expected) => {
  const { sandbox, partner } = start();
  const job = sandbox.jobs.start();

  sandbox.jobs.complete(job, outcome);
  const { body } = await partner.status(wireJob(job));

  expect(body).toMatchObject({ job_complete: true, code: '2302', ...expected });
});

test('mock.jobs.complete() of a completed job replaces its outcome', async () => {
  const { sandbox, partner } = start();
  const job = sandbox.jobs.start();

  sandbox.jobs.complete(job, 'rejected');
  sandbox.jobs.complete(job, 'approved');
  const { body } = await partner.status({ ...wireJob(job), history: true });

  expect(body).toMatchObject({ job_success: true, result: { ResultCode: '0810' } });
  expect(body.history).toHaveLength(2);
});

test('mock.jobs.report() adds to the history and completes nothing', async () => {
  const { sandbox, partner } = start();
  const job = sandbox.jobs.start();

  sandbox.jobs.report(job, underReview);
  const { body } = await partner.status({ ...wireJob(job), history: true });

  expect(body).toMatchObject({ job_complete: false, job_success: false, code: '2302', result: null });
  expect(body.history).toHaveLength(1);
  expect(body.history[0]).toMatchObject({
    ResultCode: '0814',
    IsFinalResult: 'false',
    PartnerParams: { user_id: job.userId, job_id: job.jobId, job_type: '1' },
  });
  expect(body.history[0]).not.toHaveProperty('ResultType');
});

test('mock.jobs.report() of an ID verification says what was read from the ID', async () => {
  const { sandbox, partner } = start();
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');

  sandbox.jobs.report(job, {
    resultCode: '1012',
    resultText: 'ID Validated',
    resultType: 'ID Verification',
    final: true,
  });
  const { body } = await partner.status({ ...wireJob(job), history: true });

  expect(body.result.ResultCode).toBe('0810');
  expect(body.history[1]).toMatchObject({
    ResultCode: '1012',
    ResultType: 'ID Verification',
    IsFinalResult: 'true',
    FullName: 'Test Person',
    DOB: '1900-01-01',
    IDNumber: 'T00000000',
    IDType: 'PASSPORT',
    Country: 'ZZ',
    ExpirationDate: 'Not Available',
  });
});

test('mock job status responds with history and image_links only when asked', async () => {
  const { sandbox, partner } = start();
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');

  const { body: unasked } = await partner.status({ ...wireJob(job), history: false, image_links: false });
  const { body: asked } = await partner.status({ ...wireJob(job), history: true, image_links: true });

  expect(unasked).not.toHaveProperty('history');
  expect(unasked).not.toHaveProperty('image_links');
  const selfie = new URL(asked.image_links.selfie_image);
  expect(selfie.protocol).toBe('https:');
  expect(selfie.searchParams.get('X-Amz-Date')).toBe('20260102T030405Z');
  expect(selfie.searchParams.get('X-Amz-Expires')).toBe('3600');
});

test('mock history ties a job to its link', async () => {
  const { sandbox, partner } = start();
  const link = await partner.create(newLink);
  const job = sandbox.jobs.start({ linkRefId: link.body.ref_id });

  sandbox.jobs.complete(job, 'approved');
  const { body } = await partner.status({ ...wireJob(job), history: true });

  expect(body.history[0].PartnerParams.link_id).toBe(link.body.ref_id);
  expect(body.result.PartnerParams).toEqual({ user_id: job.userId, job_id: job.jobId, job_type: '1' });
});

test('mock job status never responds with the timestamp of the request', async () => {
  const { sandbox, partner } = start();
  const job = sandbox.jobs.start();

  const { body } = await partner.status(wireJob(job));

  expect(body.timestamp).not.toBe(nowText);
  expect(Math.abs(Date.parse(body.timestamp) - stillClock.now())).toBeLessThan(1_000);
});

test('mock job status with wire.echoesTimestamp responds with the timestamp of the request', async () => {
  const { sandbox, partner } = start({ wire: { echoesTimestamp: true } });
  const job = sandbox.jobs.start();

  const { body } = await partner.status(wireJob(job));

  expect(body.timestamp).toBe(nowText);
  expect(body.sec_key).toBe(hmac(apiKeyOf(sandbox), nowText));
});

test("mock spelling 'sample' has no result while a job is pending", async () => {
  const { sandbox, partner } = start({ spelling: 'sample' });
  const job = sandbox.jobs.start();

  const { body: waiting } = await partner.status(wireJob(job));
  sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Provisional - Under Review' });
  const { body: reviewed } = await partner.status(wireJob(job));

  for (const body of [waiting, reviewed]) {
    expect(body).toEqual({
      timestamp: expect.any(String),
      signature: hmac(apiKeyOf(sandbox), body.timestamp),
      ...wireJob(job),
      job_complete: false,
      job_success: false,
      code: '2302',
    });
  }
});

// `job_type` is a number in `result`, and text in `history`: in the one sample there is it is so.
test("mock spelling 'sample' has what docs/protocol.md §2.4 shows, and the field signature", async () => {
  const { sandbox, partner } = start({ spelling: 'sample' });
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');

  const { body } = await partner.status({ ...wireJob(job), history: true, image_links: true });

  const both = {
    ResultCode: '0810',
    ResultText: 'Enroll User',
    ResultType: 'SAIA',
    HostedJobID: '0000000001',
    JSONVersion: '1.0.0',
    IsFinalResult: 'true',
    ConfidenceValue: '99',
  };
  expect(body).toEqual({
    timestamp: expect.any(String),
    signature: hmac(apiKeyOf(sandbox), body.timestamp),
    ...wireJob(job),
    job_complete: true,
    job_success: true,
    code: '2302',
    result: { ...both, PartnerParams: { ...wireJob(job), job_type: 1 }, IsMachineResult: 'true' },
    image_links: { selfie_image: expect.stringMatching(/^https:/) },
    history: [{ ...both, PartnerParams: { ...wireJob(job), job_type: '1' } }],
  });
});

test("mock spelling 'random' has codes and flags as text and otherwise", async () => {
  const { sandbox, partner } = start({ spelling: 'random' });
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');

  const bodies: Answered['body'][] = [];
  for (let round = 0; round < 50; round++) bodies.push((await partner.status(wireJob(job))).body);

  const kindsOf = (kindOf: (body: Answered['body']) => string) => new Set(bodies.map(kindOf));
  expect(kindsOf(({ code }) => typeof code)).toEqual(new Set(['string', 'number']));
  expect(kindsOf(({ job_complete }) => typeof job_complete)).toEqual(new Set(['boolean', 'string']));
  expect(kindsOf((body) => ('sec_key' in body ? 'sec_key' : 'signature'))).toEqual(new Set(['sec_key', 'signature']));
});

test('mock wire.brand names the internal job id', async () => {
  const { sandbox, partner } = start({ wire: { brand: 'acme' } });
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');

  const { body } = await partner.status(wireJob(job));

  expect(body.result).toHaveProperty('AcmeJobID', '0000000001');
  expect(body.result).not.toHaveProperty('HostedJobID');
});

test('mock wire.jobSignatureMember signature is the property that counts where both are there', async () => {
  const { sandbox, partner } = start({ wire: { jobSignatureMember: 'signature' } });
  const job = sandbox.jobs.start();
  const signature = hmac(apiKeyOf(sandbox), nowText);

  const wrong = await partner.status({ ...wireJob(job), signature: 'AAAA' });
  const right = await partner.status({ ...wireJob(job), sec_key: 'AAAA', signature });

  expect([wrong.status, right.status]).toEqual([400, 200]);
});

test.each([
  ['epoch-ms', 1_767_323_045_000],
  ['epoch-s', 1_767_323_045],
] as const)('mock job status takes %s timestamps as numbers, signed as their text', async (format, timestamp) => {
  const { sandbox, partner } = start({ wire: { jobTimestampFormat: format } });
  const job = wireJob(sandbox.jobs.start());
  const sec_key = hmac(apiKeyOf(sandbox), String(timestamp));

  const asNumber = await partner.status({ ...job, timestamp, sec_key });
  const asText = await partner.status({ ...job, timestamp: String(timestamp), sec_key });

  expect([asNumber.status, asText.status]).toEqual([200, 400]);
});

test.each([
  [false, '2026-01-02T03:04:04.999Z'],
  [true, nowMs],
])('mock job status takes a number whose ISO form was signed, echoed: %s', async (echoesTimestamp, timestamp) => {
  const { sandbox, partner } = start({ wire: { echoesTimestamp } });
  const job = wireJob(sandbox.jobs.start());

  const { status, body } = await partner.status({ ...job, timestamp: nowMs });

  expect([status, body.timestamp]).toEqual([200, timestamp]);
  expect(body.sec_key).toBe(hmac(apiKeyOf(sandbox), new Date(timestamp).toISOString()));
});

test('mock wire.jobFlags string takes flags as text alone', async () => {
  const { sandbox, partner } = start({ wire: { jobFlags: 'string' } });
  const job = wireJob(sandbox.jobs.start());

  const asText = await partner.status({ ...job, history: 'true', image_links: 'false' });
  const asBoolean = await partner.status({ ...job, history: true });

  expect(asText.body.history).toEqual([]);
  expect(asText.body).not.toHaveProperty('image_links');
  expect([asBoolean.status, asBoolean.body.code]).toEqual([400, '2313']);
});

test('mock scheme ed25519 verifies with the key of the partner and signs with one of its own', async () => {
  const { sandbox, partner } = start({ scheme: 'ed25519' });
  const job = sandbox.jobs.start();

  const { status, body } = await partner.status({ ...wireJob(job), sec_key: ed25519Sign(1, nowText) });
  const otherKey = await partner.status({ ...wireJob(job), sec_key: ed25519Sign(3, nowText) });
  const noBase64 = await partner.status({ ...wireJob(job), sec_key: '***' });

  expect(status).toBe(200);
  expect(ed25519Verifies(2, body.sec_key, body.timestamp)).toBe(true);
  expect([otherKey.body.code, noBase64.body.code]).toEqual(['2305', '2305']);
});

test('mock scheme ed25519 gives a signer whose signatures the service accepts', async () => {
  const { service } = start({ scheme: 'ed25519' });

  for (const environment of environments.map((name) => service[name])) {
    const { signer, apiKey } = environment.clientOptions as { signer?: Signer; apiKey?: string };
    const job = environment.jobs.start();
    const sec_key = await signer?.sign({ partnerId: '085', timestamp: nowText });
    const { status, body } = await partnerOf(service, environment).status({ ...wireJob(job), sec_key });

    expect(apiKey).toBeUndefined();
    expect(status).toBe(200);
    expect(await signer?.verify(body.sec_key, { partnerId: '085', timestamp: body.timestamp })).toBe(true);
  }
});
