// What receive() makes of real callbacks.

import { type CallbackEvent, HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import {
  authenticatedCallback,
  biometricKycResult,
  documentCallback,
  documentResult,
  enrolledCallback,
  idVerificationOfNumericTime,
  idVerificationWithoutDates,
  selfieResult,
} from '../fixtures/real-payloads.js';
import { clientOf, now, stillClock } from '../support/fake-fetch.js';
import { idOf, posted, receiver, result, type Signing } from './posted-callback.js';

const realCallbacks: readonly {
  readonly what: string;
  readonly payload: object;
  readonly signing: Signing;
  readonly event: CallbackEvent;
}[] = [
  {
    what: 'a selfie comparison',
    payload: selfieResult,
    signing: {},
    event: {
      id: idOf('userId', 'jobId', 'HostedJobID', '1', 'ResultType', true),
      repeat: false,
      userId: 'userId',
      jobId: 'jobId',
      linkId: null,
      signedAt: new Date('2026-01-02T03:04:05.678Z'),
      entry: {
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
        extra: { Source: 'Source', timestamp: '2026-01-02T03:04:05.678Z' },
      },
    },
  },
  {
    what: 'the ID number of a biometric check, timed to the microsecond without a zone',
    payload: biometricKycResult,
    signing: { timestamp: '2021-08-12T17:57:00.614879' },
    event: {
      id: idOf('KE_TESTTEST_100', 'KE_TEST_100', '0000056574', '1012', 'ID Verification', true),
      repeat: false,
      userId: 'KE_TESTTEST_100',
      jobId: 'KE_TEST_100',
      linkId: null,
      signedAt: new Date('2021-08-12T17:57:00.614Z'),
      entry: {
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
      },
    },
  },
  {
    what: 'a document check without ResultType and IsFinalResult',
    payload: documentResult,
    signing: { timestamp: '2021-12-14T20:07:56.829Z' },
    event: {
      id: idOf('Test_0036', 'Testing_0036', '0000000046', '0810', null, null),
      repeat: false,
      userId: 'Test_0036',
      jobId: 'Testing_0036',
      linkId: null,
      signedAt: new Date('2021-12-14T20:07:56.829Z'),
      entry: {
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
      },
    },
  },
  {
    what: 'an ID verification with sec_key and a timestamp that is a number',
    payload: idVerificationOfNumericTime,
    signing: { timestamp: 1570698930193, member: 'sec_key' },
    event: {
      id: idOf(
        'T6yzdOezucdsPrY0QG9LYNDGOrC',
        'FS1kd1dd15JUpd87gTBDapvFxv0',
        '0000001105',
        '1012',
        'ID Verification',
        true,
      ),
      repeat: false,
      userId: 'T6yzdOezucdsPrY0QG9LYNDGOrC',
      jobId: 'FS1kd1dd15JUpd87gTBDapvFxv0',
      linkId: null,
      signedAt: new Date('2019-10-10T09:15:30.193Z'),
      entry: {
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
      },
    },
  },
  {
    what: 'an ID verification whose dates are none',
    payload: idVerificationWithoutDates,
    signing: { timestamp: '2021-03-09T10:11:12.345Z' },
    event: {
      id: idOf('dmKaJazQCziLc6Tw9lwcgzLo', 'DeXyJOGtaACFFfbZ2kxjuICE', '0000001096', '1012', 'ID Verification', true),
      repeat: false,
      userId: 'dmKaJazQCziLc6Tw9lwcgzLo',
      jobId: 'DeXyJOGtaACFFfbZ2kxjuICE',
      linkId: null,
      signedAt: new Date('2021-03-09T10:11:12.345Z'),
      entry: {
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
      },
    },
  },
  {
    what: 'an enrolment on the web',
    payload: enrolledCallback,
    signing: { timestamp: '2021-05-06T08:48:50.763Z' },
    event: {
      id: idOf('KE_TESTTEST_100', 'KE_TEST_100', '0000056574', '1210', null, null),
      repeat: false,
      userId: 'KE_TESTTEST_100',
      jobId: 'KE_TEST_100',
      linkId: null,
      signedAt: new Date('2021-05-06T08:48:50.763Z'),
      entry: {
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
      },
    },
  },
  {
    what: 'an authentication',
    payload: authenticatedCallback,
    signing: {},
    event: {
      id: idOf(
        '07a0c120-98d7-4fdc-bc62-3c6bfd16c60e',
        'e7ca3e6c-e527-7165-b0b5-b90db1276378',
        '0000000001',
        '1220',
        'DIVA',
        true,
      ),
      repeat: false,
      userId: '07a0c120-98d7-4fdc-bc62-3c6bfd16c60e',
      jobId: 'e7ca3e6c-e527-7165-b0b5-b90db1276378',
      linkId: null,
      signedAt: new Date('2026-01-02T03:04:05.678Z'),
      entry: {
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
        extra: { timestamp: '2026-01-02T03:04:05.678Z' },
      },
    },
  },
  {
    what: 'a document check of a hosted link',
    payload: documentCallback,
    signing: { timestamp: '2025-07-08T09:10:11.121Z' },
    event: {
      id: idOf('user-99', 'job-99', '0000000099', '0810', null, null),
      repeat: false,
      userId: 'user-99',
      jobId: 'job-99',
      linkId: 'abcd1234',
      signedAt: new Date('2025-07-08T09:10:11.121Z'),
      entry: {
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
      },
    },
  },
];

test.each(realCallbacks)('callbacks.receive() reads $what', async ({ payload, signing, event }) => {
  const callbacks = receiver({ clock: stillClock(event.signedAt?.getTime()) });

  const received = await callbacks.receive(posted(payload, signing));

  expect(received).toEqual(event);
});

test('callbacks.receive() sends nothing', async () => {
  const { client, sent } = clientOf({});

  await client.callbacks.receive(posted(result));

  expect(sent).toEqual([]);
});

test('callbacks.receive() accepts a signature over the ISO form of a timestamp that is a number', async () => {
  const body = posted(idVerificationOfNumericTime, {
    timestamp: 1570698930193,
    over: '2019-10-10T09:15:30.193Z',
    member: 'sec_key',
  });

  const event = await receiver({ clock: stillClock(1570698930193) }).receive(body);

  expect(event.signedAt).toEqual(new Date('2019-10-10T09:15:30.193Z'));
});

test.each(['2026-01-02T03:04:05.678+00:00', '2026-01-02T05:04:05.678+0200', '1767323045678', '1767323045', 1767323045])(
  'callbacks.receive() reads when a callback was signed from %j',
  async (timestamp) => {
    const event = await receiver().receive(posted(result, { timestamp }));

    expect(Math.trunc((event.signedAt?.getTime() ?? 0) / 1000)).toBe(1767323045);
  },
);

test.each(['table', 'sample', 'random'] as const)('callbacks.receive() reads spelling %s', async (spelling) => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { fetch, sandbox } = createMockService({ spelling, seed, clock: stillClock() });
    const { callbacks, links } = new HostedClient({ ...sandbox.clientOptions, fetch });
    const { refId } = await links.create({
      companyName: 'Example Partner',
      dataPrivacyPolicyUrl: 'https://partner.test/privacy',
      callbackUrl: 'https://partner.test/callbacks',
    });
    const job = sandbox.jobs.start({ linkRefId: refId });
    sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Provisional Enroll - Under Review' });

    const event = await callbacks.receive(await (await sandbox.jobs.callback(job)).text());

    expect(event).toMatchObject({ ...job, linkId: refId, repeat: false, signedAt: new Date(now) });
    expect(event.entry).toMatchObject({ resultCode: '0814', isFinal: false, confidence: 99 });
  }
});

test("callbacks.receive() reads the service's job id under another brand word", async () => {
  const { HostedJobID: hostedJobId, ...others } = result;

  const event = await receiver({ wire: { brand: 'acme' } }).receive(posted({ ...others, AcmeJobID: hostedJobId }));

  expect(event.entry.hostedJobId).toBe('0000001111');
  expect(event.id).toBe(idOf('user-1', 'job-1', '0000001111', '0810', 'SAIA', true));
});

test('callbacks.receive() lets a payload touch no prototype', async () => {
  const members = posted(result).slice(1, -1);
  const body = `{${members},"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"then":"later"}`;

  const event = await receiver().receive(body);

  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  expect((event as unknown as Record<string, unknown>).polluted).toBeUndefined();
  expect(Object.getPrototypeOf(event.entry.extra)).toBe(Object.prototype);
  expect(event.userId).toBe('user-1');
});
