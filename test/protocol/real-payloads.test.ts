/** Payloads of real deployments, and what a person reads in them. */

import { type HistoryEntry, HostedSignatureError } from 'hosted-client';
import { expect, test } from 'vitest';
import {
  acceptedLink,
  createdLink,
  finishedJob,
  finishedWithoutSuccess,
  jobWithActions,
  linkOfManyIdTypes,
  pendingMinimal,
  pendingWithDigest,
  textResult,
} from '../fixtures/real-payloads.js';
import { realResults } from '../fixtures/real-results.js';
import { emptyResult } from '../fixtures/records.js';
import { clientOf, now, rejection, sign, signed } from '../support/fake-fetch.js';

const anyJob = { userId: 'user-1', jobId: 'job-1' };
const anyAge = { maxResponseAgeMs: false } as const;
const finishedRef = { userId: 'e54e0e98-8b8c-4215-89f5-7f9ea42bf650', jobId: '52d0de86-be3b-4219-9e96-8195b0018944' };
const jobWithActionsRef = { userId: 'HBBBBBBH57g', jobId: 'HBBBBBBHg' };

/** What the history of a job reads an entry as. */
async function entryOf(entry: object): Promise<HistoryEntry | undefined> {
  const answer = signed({
    job_complete: true,
    job_success: true,
    code: '2302',
    user_id: anyJob.userId,
    job_id: anyJob.jobId,
    history: [entry],
  });
  const { history } = await clientOf(answer).client.jobs.status({ ...anyJob, history: true });
  expect(history).toHaveLength(1);
  return history?.[0];
}

// Job status

test('jobs.status() reads a finished job with selfie and history', async () => {
  const { client } = clientOf(signed(finishedJob, { member: 'signature' }));

  const status = await client.jobs.status({ ...finishedRef, imageLinks: true, history: true });

  const partnerParams = {
    userId: '1511bf02-801a-4b57-ac8e-ef17e26bfeb4',
    jobId: '52d0de86-be3b-4219-9e96-8195b0018944',
    jobType: '1',
    linkId: null,
    extra: {
      optional_info: 'Partner can put whatever they want as long as it is a string',
      more_optional_info: 'There can be as much or as little or no optional info',
    },
  };
  expect(status).toEqual({
    state: 'succeeded',
    complete: true,
    success: true,
    userId: 'e54e0e98-8b8c-4215-89f5-7f9ea42bf650',
    jobId: '52d0de86-be3b-4219-9e96-8195b0018944',
    code: '2302',
    message: null,
    result: {
      ...emptyResult,
      resultText: 'Enroll User',
      resultType: 'SAIA',
      hostedJobId: '0000001897',
      jsonVersion: '1.0.0',
      isFinal: true,
      isMachine: true,
      confidence: 100,
      partnerParams: {
        userId: 'e54e0e98-8b8c-4215-89f5-7f9ea42bf650',
        jobId: '52d0de86-be3b-4219-9e96-8195b0018944',
        jobType: '4',
        linkId: null,
        extra: {},
      },
      extra: {},
    },
    imageLinks: {
      selfieImage:
        'https://images.hosted.test/test/000000/023/023-0000001897-LoRSpxJUzmYgYS2R00XpaHJYLOiNXN/SID_Preview_FULL.jpg',
      expiresAt: null,
      extra: {},
    },
    history: [
      {
        ...emptyResult,
        resultCode: '1210',
        resultText: 'Enroll User',
        resultType: 'DIVA',
        hostedJobId: '0000000857',
        jsonVersion: '1.0.0',
        isFinal: true,
        partnerParams,
        identity: null,
        extra: {},
      },
      {
        ...emptyResult,
        resultCode: '0814',
        resultText: 'Provisional Enroll - Under Review',
        hostedJobId: '0000000857',
        confidence: 97,
        partnerParams,
        identity: null,
        extra: {},
      },
      {
        ...emptyResult,
        resultCode: '1012',
        resultText: 'ID Validated',
        resultType: 'ID Verification',
        hostedJobId: '0000000857',
        partnerParams: {
          ...partnerParams,
          extra: { ...partnerParams.extra, ExpirationDate: 'Not Available' },
        },
        identity: {
          fullName: 'Peter Parker',
          dateOfBirth: '1990-01-01',
          idNumber: 'A01234567',
          idType: 'BVN',
          country: 'Nigeria',
          expirationDate: 'Not Available',
        },
        extra: {},
      },
    ],
    signedAt: new Date('2026-01-02T03:04:05.678Z'),
  });
});

test('jobs.status() reads a text for a result as a message', async () => {
  const answer = signed({ job_complete: false, job_success: false, code: '2314', result: textResult });

  const status = await clientOf(answer).client.jobs.status(anyJob);

  expect(status).toEqual({
    state: 'pending',
    complete: false,
    success: false,
    ...anyJob,
    code: '2314',
    message: 'No zip uploaded yet',
    result: null,
    imageLinks: null,
    history: null,
    signedAt: new Date(now),
  });
});

test.each([
  ['its partner', '001'],
  ['another partner', '085'],
])('jobs.status() does not trust a digest without a key, for %s', async (_whose, partnerId) => {
  const { client } = clientOf(pendingWithDigest, { ...anyAge, partnerId });

  const error = await rejection(client.jobs.status(anyJob), HostedSignatureError);

  expect(error).toMatchObject({ reason: partnerId === '001' ? 'unkeyed' : 'mismatch' });
});

test('jobs.status() reads a pending job whose timestamp is an epoch', async () => {
  const { timestamp } = pendingWithDigest;
  const { client } = clientOf(signed(pendingWithDigest, { member: 'signature', timestamp }), anyAge);

  expect(await client.jobs.status(anyJob)).toEqual({
    state: 'pending',
    complete: false,
    success: false,
    ...anyJob,
    code: '2314',
    message: 'No zip file received',
    result: null,
    imageLinks: null,
    history: null,
    signedAt: new Date('2023-03-07T19:13:54.434Z'),
  });
});

test('jobs.status() reads a pending job that says no more than that', async () => {
  const { timestamp } = pendingMinimal;
  const { client } = clientOf(signed(pendingMinimal, { member: 'signature', timestamp }), anyAge);

  expect(await client.jobs.status(anyJob)).toEqual({
    state: 'pending',
    complete: false,
    success: false,
    ...anyJob,
    code: null,
    message: null,
    result: null,
    imageLinks: null,
    history: null,
    signedAt: new Date('2022-11-10T19:05:42.775Z'),
  });
});

test('jobs.status() reads a job that ended without success', async () => {
  const { client } = clientOf(signed(finishedWithoutSuccess, { member: 'signature' }));

  expect(await client.jobs.status({ ...anyJob, imageLinks: true, history: true })).toEqual({
    state: 'failed',
    complete: true,
    success: false,
    ...anyJob,
    code: '2302',
    message: null,
    result: null,
    imageLinks: { selfieImage: 'https://selfie-image.com', expiresAt: null, extra: {} },
    history: [],
    signedAt: new Date(now),
  });
});

test('jobs.status() reads a job with its single checks', async () => {
  const { timestamp } = jobWithActions;
  const { client } = clientOf(signed(jobWithActions, { member: 'signature', timestamp }), anyAge);

  const status = await client.jobs.status({ ...jobWithActionsRef, imageLinks: true, history: true });

  const result = {
    ...emptyResult,
    resultCode: '0810',
    resultText: 'Enroll User',
    resultType: 'SAIA',
    hostedJobId: '0000001111',
    jsonVersion: '1.0.0',
    isFinal: true,
    isMachine: true,
    confidence: 99,
    actions: {
      Verify_ID_Number: 'Verified',
      Return_Personal_Info: 'Returned',
      Human_Review_Update_Selfie: 'Not Applicable',
      Human_Review_Compare: 'Not Applicable',
      Update_Registered_Selfie_On_File: 'Not Applicable',
      Liveness_Check: 'Not Applicable',
      Register_Selfie: 'Approved',
      Human_Review_Liveness_Check: 'Not Applicable',
      Selfie_To_ID_Authority_Compare: 'Completed',
      Selfie_To_ID_Card_Compare: 'Not Applicable',
      Selfie_To_Registered_Selfie_Compare: 'Not Applicable',
    },
    partnerParams: {
      userId: 'HBBBBBBH57g',
      jobId: 'HBBBBBBHg',
      jobType: '1',
      linkId: null,
      extra: { optional_info: 'we are one' },
    },
    extra: { Source: 'WebAPI' },
  };
  expect(status).toEqual({
    state: 'succeeded',
    complete: true,
    success: true,
    ...jobWithActionsRef,
    code: '2302',
    message: null,
    result,
    imageLinks: { selfieImage: null, expiresAt: null, extra: { selfie_image: 'image_link' } },
    history: [{ ...result, identity: null }],
    signedAt: new Date('2019-10-10T12:32:04.622Z'),
  });
});

// Results, as they stand in a history and are sent to callbacks

test.each(realResults)('a history entry reads $what', async ({ payload, signing, entry }) => {
  const { timestamp } = signing;

  const read = await entryOf(timestamp === undefined ? payload : { ...payload, signature: sign(String(timestamp)) });

  expect(read).toEqual({ ...entry, extra: { ...entry.extra, ...(timestamp !== undefined && { timestamp }) } });
});

// Links

test('links.create() takes 202 for created', async () => {
  const { client } = clientOf(Response.json(acceptedLink, { status: 202 }));

  const { data, response } = await client.links.create(linkOfManyIdTypes).withResponse();

  expect(data).toEqual({ url: 'https://links.hosted.test/1111/123456', refId: '123456' });
  expect(response.status).toBe(202);
});

test('links.create() reads the url that was sent, and builds none from the id', async () => {
  const { client } = clientOf(createdLink);

  expect(await client.links.create(linkOfManyIdTypes)).toEqual({
    url: 'https://links.hosted.test/1234/abcd',
    refId: 'abcd1234',
  });
});

test('links.create() sends 1,349 ID types and an expiry to the nanosecond as written', async () => {
  const { client, sent } = clientOf(createdLink);

  await client.links.create(linkOfManyIdTypes);

  const body = sent[0]?.body;
  expect(body).toMatchObject({
    is_single_use: true,
    user_id: '0x00000000000000000000000000000000000012Ab',
    expires_at: '2026-01-02T06:04:05.678123456+02:00',
  });
  expect(body?.id_types).toHaveLength(1_349);
  expect(body?.id_types).toContainEqual({
    country: 'XK',
    id_type: 'ID_KIND_1344',
    verification_method: 'doc_verification',
  });
});
