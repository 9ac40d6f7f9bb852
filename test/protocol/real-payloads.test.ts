/** Payloads of real deployments, and what a person reads in them. */

import { type HistoryEntry, HostedResponseError, HostedSignatureError } from 'hosted-client';
import { expect, test } from 'vitest';
import {
  acceptedLink,
  authenticatedCallback,
  biometricKycResult,
  createdLink,
  documentCallback,
  documentResult,
  enrolledCallback,
  finishedJob,
  finishedWithoutSuccess,
  idVerificationOfNumericTime,
  idVerificationWithoutDates,
  jobWithActions,
  linkOfManyIdTypes,
  pendingMinimal,
  pendingWithDigest,
  publishedSignature,
  selfieResult,
  textResult,
} from '../fixtures/real-payloads.js';
import { clientOf, now, rejection, sign, signed } from '../support/fake-fetch.js';

const anyJob = { userId: 'user-1', jobId: 'job-1' };
const anyAge = { maxResponseAgeMs: false } as const;
const finishedRef = { userId: 'e54e0e98-8b8c-4215-89f5-7f9ea42bf650', jobId: '52d0de86-be3b-4219-9e96-8195b0018944' };
const jobWithActionsRef = { userId: 'HBBBBBBH57g', jobId: 'HBBBBBBHg' };

/** A result, signed over its own time as callbacks are. */
const signedEntry = (entry: { timestamp: string }) => ({ ...entry, signature: sign(entry.timestamp) });

/** What the history of a job reads an entry as. */
async function entryOf(entry: object): Promise<HistoryEntry | undefined> {
  const answer = signed({
    job_complete: true,
    job_success: true,
    code: '2302',
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
      resultCode: null,
      resultText: 'Enroll User',
      resultType: 'SAIA',
      hostedJobId: '0000001897',
      jsonVersion: '1.0.0',
      isFinal: true,
      isMachine: true,
      confidence: 100,
      actions: {},
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
        resultCode: '1210',
        resultText: 'Enroll User',
        resultType: 'DIVA',
        hostedJobId: '0000000857',
        jsonVersion: '1.0.0',
        isFinal: true,
        isMachine: null,
        confidence: null,
        actions: {},
        partnerParams,
        identity: null,
        extra: {},
      },
      {
        resultCode: '0814',
        resultText: 'Provisional Enroll - Under Review',
        resultType: null,
        hostedJobId: '0000000857',
        jsonVersion: null,
        isFinal: null,
        isMachine: null,
        confidence: 97,
        actions: {},
        partnerParams,
        identity: null,
        extra: {},
      },
      {
        resultCode: '1012',
        resultText: 'ID Validated',
        resultType: 'ID Verification',
        hostedJobId: '0000000857',
        jsonVersion: null,
        isFinal: null,
        isMachine: null,
        confidence: null,
        actions: {},
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

test('jobs.status() does not believe the signature the finished job was published with', async () => {
  const { client } = clientOf({ ...finishedJob, ...publishedSignature }, anyAge);

  const error = await rejection(client.jobs.status({ ...finishedRef, imageLinks: true, history: true }));

  expect(error).toBeInstanceOf(HostedSignatureError);
  expect(error).toMatchObject({ code: 'signature', reason: 'mismatch' });
});

test('jobs.status() does not take the finished job for another one', async () => {
  const { client } = clientOf(signed(finishedJob, { member: 'signature' }));

  const error = await rejection(client.jobs.status({ ...finishedRef, userId: '1511bf02-801a-4b57-ac8e-ef17e26bfeb4' }));

  expect(error).toBeInstanceOf(HostedResponseError);
  expect(error).toMatchObject({ reason: 'mismatch', issues: [{ path: 'result.PartnerParams.user_id' }] });
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
])('jobs.status() does not believe a digest without a key, for %s', async (_whose, partnerId) => {
  const { client } = clientOf(pendingWithDigest, { ...anyAge, partnerId });

  const error = await rejection(client.jobs.status(anyJob));

  expect(error).toBeInstanceOf(HostedSignatureError);
  expect(error).toMatchObject({ code: 'signature', reason: partnerId === '001' ? 'unkeyed' : 'mismatch' });
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

test("jobs.status() does not believe somebody else's signature", async () => {
  const error = await rejection(clientOf(pendingMinimal, anyAge).client.jobs.status(anyJob));

  expect(error).toBeInstanceOf(HostedSignatureError);
  expect(error).toMatchObject({ reason: 'mismatch' });
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

test('jobs.status() does not believe a signature of the older kind', async () => {
  const error = await rejection(clientOf(jobWithActions, anyAge).client.jobs.status(jobWithActionsRef));

  expect(error).toBeInstanceOf(HostedSignatureError);
  expect(error).toMatchObject({ reason: 'mismatch' });
});

// Results, as they stand in a history and are sent to callbacks

test('a history entry reads a selfie comparison', async () => {
  expect(await entryOf(selfieResult)).toEqual({
    resultCode: '1',
    resultText: 'ResultText',
    resultType: 'ResultType',
    hostedJobId: 'HostedJobID',
    jsonVersion: 'JSONVersion',
    isFinal: true,
    isMachine: false,
    confidence: 99.99,
    actions: {},
    partnerParams: { userId: 'userId', jobId: 'jobId', jobType: '4', linkId: null, extra: {} },
    identity: null,
    extra: { Source: 'Source' },
  });
});

test('a history entry reads the ID number of a biometric check', async () => {
  expect(await entryOf(signedEntry(biometricKycResult))).toEqual({
    resultCode: '1012',
    resultText: 'ID Number Validated',
    resultType: 'ID Verification',
    hostedJobId: '0000056574',
    jsonVersion: '1.0.0',
    isFinal: true,
    isMachine: null,
    confidence: null,
    actions: { Verify_ID_Number: 'Verified', Return_Personal_Info: 'Returned' },
    partnerParams: { userId: 'KE_TESTTEST_100', jobId: 'KE_TEST_100', jobType: '1', linkId: null, extra: {} },
    identity: {
      fullName: 'Leo Doe Joe',
      dateOfBirth: '2000-09-20',
      idNumber: 'ABC000000000',
      idType: 'DRIVERS_LICENSE',
      country: 'NG',
      expirationDate: '2021-08-15',
    },
    extra: { Photo: 'bm8gcGhvdG8=', timestamp: '2021-08-12T17:57:00.614879' },
  });
});

test('a history entry reads a document check', async () => {
  expect(await entryOf(signedEntry(documentResult))).toEqual({
    resultCode: '0810',
    resultText: 'Document Verified After Human Review',
    resultType: null,
    hostedJobId: '0000000046',
    jsonVersion: null,
    isFinal: null,
    isMachine: null,
    confidence: null,
    actions: {
      Liveness_Check: 'Passed',
      Register_Selfie: 'Approved',
      Verify_Document: 'Passed',
      Human_Review_Compare: 'Passed',
      Return_Personal_Info: 'Returned',
      Selfie_To_ID_Card_Compare: 'Completed',
      Human_Review_Liveness_Check: 'Passed',
    },
    partnerParams: { userId: 'Test_0036', jobId: 'Testing_0036', jobType: '6', linkId: null, extra: {} },
    identity: {
      fullName: 'John Joe Doe',
      dateOfBirth: '1989-01-20',
      idNumber: 'B00123456',
      idType: 'PASSPORT',
      country: 'NG',
      expirationDate: '2025-11-26',
    },
    extra: { Gender: 'M', Document: 'bm8gZG9jdW1lbnQ=', timestamp: '2021-12-14T20:07:56.829Z' },
  });
});

test('a history entry reads an ID verification whose timestamp is a number', async () => {
  expect(await entryOf(idVerificationOfNumericTime)).toEqual({
    resultCode: '1012',
    resultText: 'ID Number Validated',
    resultType: 'ID Verification',
    hostedJobId: '0000001105',
    jsonVersion: '1.0.0',
    isFinal: true,
    isMachine: null,
    confidence: null,
    actions: { Verify_ID_Number: 'Verified', Return_Personal_Info: 'Returned' },
    partnerParams: {
      userId: 'T6yzdOezucdsPrY0QG9LYNDGOrC',
      jobId: 'FS1kd1dd15JUpd87gTBDapvFxv0',
      jobType: '5',
      linkId: null,
      extra: {},
    },
    identity: {
      fullName: 'JOHN LEO DOE',
      dateOfBirth: '1980-08-21',
      idNumber: 'A12345678',
      idType: 'PASSPORT',
      country: 'NG',
      expirationDate: '2023-01-28',
    },
    extra: { Photo: 'SomeBase64Image', timestamp: 1570698930193 },
  });
});

test('a history entry reads an ID verification whose dates are none', async () => {
  expect(await entryOf(signedEntry(idVerificationWithoutDates))).toEqual({
    resultCode: '1012',
    resultText: 'ID Number Validated',
    resultType: 'ID Verification',
    hostedJobId: '0000001096',
    jsonVersion: '1.0.0',
    isFinal: true,
    isMachine: null,
    confidence: null,
    actions: { Verify_ID_Number: 'Verified', Return_Personal_Info: 'Returned' },
    partnerParams: {
      userId: 'dmKaJazQCziLc6Tw9lwcgzLo',
      jobId: 'DeXyJOGtaACFFfbZ2kxjuICE',
      jobType: '5',
      linkId: null,
      extra: { app_name: 'test_app' },
    },
    identity: {
      fullName: 'some  person',
      dateOfBirth: 'NaN-NaN-NaN',
      idNumber: '00000000000',
      idType: 'BVN',
      country: 'NG',
      expirationDate: 'NaN-NaN-NaN',
    },
    extra: { Photo: 'Not Available', timestamp: '2021-03-09T10:11:12.345Z' },
  });
});

test('a history entry reads an enrolment on the web', async () => {
  expect(await entryOf(signedEntry(enrolledCallback))).toEqual({
    resultCode: '1210',
    resultText: 'Enroll User',
    resultType: null,
    hostedJobId: '0000056574',
    jsonVersion: null,
    isFinal: null,
    isMachine: null,
    confidence: 99,
    actions: {
      Liveness_Check: 'Passed',
      Register_Selfie: 'Approved',
      Selfie_Provided: 'Passed',
      Verify_ID_Number: 'Verified',
      Human_Review_Compare: 'Passed',
      Return_Personal_Info: 'Returned',
      Selfie_To_ID_Card_Compare: 'Not Applicable',
      Human_Review_Update_Selfie: 'Not Applicable',
      Human_Review_Liveness_Check: 'Passed',
      Selfie_To_ID_Authority_Compare: 'Completed',
      Update_Registered_Selfie_On_File: 'Not Applicable',
      Selfie_To_Registered_Selfie_Compare: 'Not Applicable',
    },
    partnerParams: { userId: 'KE_TESTTEST_100', jobId: 'KE_TEST_100', jobType: '1', linkId: null, extra: {} },
    identity: null,
    extra: { Source: 'WebAPI', timestamp: '2021-05-06T08:48:50.763Z' },
  });
});

test('a history entry reads an authentication', async () => {
  expect(await entryOf(authenticatedCallback)).toEqual({
    resultCode: '1220',
    resultText: 'Authenticated',
    resultType: 'DIVA',
    hostedJobId: '0000000001',
    jsonVersion: '1.0.0',
    isFinal: true,
    isMachine: true,
    confidence: 100,
    actions: {},
    partnerParams: {
      userId: '07a0c120-98d7-4fdc-bc62-3c6bfd16c60e',
      jobId: 'e7ca3e6c-e527-7165-b0b5-b90db1276378',
      jobType: '2',
      linkId: null,
      extra: {},
    },
    identity: null,
    extra: {},
  });
});

test('a history entry reads a document check of a hosted link', async () => {
  expect(await entryOf(signedEntry(documentCallback))).toEqual({
    resultCode: '0810',
    resultText: 'Document Verified',
    resultType: null,
    hostedJobId: '0000000099',
    jsonVersion: null,
    isFinal: null,
    isMachine: null,
    confidence: null,
    actions: {
      Document_Check: 'Passed',
      Human_Review_Compare: 'Passed',
      Human_Review_Document_Check: 'Passed',
      Human_Review_Liveness_Check: 'Passed',
      Liveness_Check: 'Passed',
      Register_Selfie: 'Approved',
      Return_Personal_Info: 'Returned',
      Selfie_To_ID_Card_Compare: 'Completed',
      Verify_Document: 'Passed',
    },
    partnerParams: { userId: 'user-99', jobId: 'job-99', jobType: '6', linkId: 'abcd1234', extra: {} },
    identity: {
      fullName: 'Ada Mary Example',
      dateOfBirth: '1992-04-05',
      idNumber: '00700700',
      idType: 'PASSPORT',
      country: 'NG',
      expirationDate: '2030-06-07',
    },
    extra: {
      Document: 'bm8gZG9jdW1lbnQ=',
      FirstName: 'Ada',
      Gender: 'F',
      ImageLinks: {
        id_card_image: 'https://images.hosted.test/0000000099/id.jpg',
        selfie_image: 'https://images.hosted.test/0000000099/selfie.jpg',
      },
      IssuanceDate: '2020-06-07',
      KYCReceipt: 'https://receipts.hosted.test/0000000099.pdf',
      LastName: 'Example',
      OtherName: 'Mary',
      PhoneNumber2: 'Not Available',
      SecondaryIDNumber: 'Not Available',
      timestamp: '2025-07-08T09:10:11.121Z',
    },
  });
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
