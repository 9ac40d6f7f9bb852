// What receive() makes of callbacks: real ones, repeated ones, ones nobody should believe and ones nobody can read.

import { createHash, createPrivateKey, sign as edSign } from 'node:crypto';
import { inspect } from 'node:util';
import {
  type CallbackEvent,
  HostedClient,
  type HostedClientOptions,
  HostedConfigError,
  type HostedError,
  HostedResponseError,
  HostedSignatureError,
  HostedValidationError,
  hmacSha256,
  isHostedError,
  type ReceiveOptions,
  type ReplayGuard,
  type Signer,
} from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, test, vi } from 'vitest';
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
import {
  apiKey,
  clientOf,
  deferred,
  manualClock,
  now,
  partnerId,
  rejection,
  sign,
  stillClock,
} from '../support/fake-fetch.js';
import { createPlanter, everything, expectNothingIn, type Planter, showings, showingsOf } from '../support/showings.js';

const nowText = '2026-01-02T03:04:05.678Z';
const fiveMinutes = 300_000;
const day = 24 * 60 * 60 * 1000;

/** A result with no more in it than a callback needs. */
const result = {
  ResultCode: '0810',
  ResultText: 'Enroll User',
  ResultType: 'SAIA',
  HostedJobID: '0000001111',
  IsFinalResult: 'true',
  PartnerParams: { user_id: 'user-1', job_id: 'job-1', job_type: '1' },
};

/** The same job, with another result. */
const otherResult = { ...result, ResultCode: '0811', ResultText: 'Failed Enroll' };

interface Signing {
  readonly timestamp?: string | number;
  /** What is signed, where that is not the timestamp as it stands. */
  readonly over?: string;
  readonly member?: 'signature' | 'sec_key';
  readonly key?: string;
}

/** A callback as it is posted, signed by node:crypto. */
function posted(
  members: object,
  { timestamp = nowText, over = String(timestamp), member = 'signature', key = apiKey }: Signing = {},
): string {
  return JSON.stringify({ ...members, timestamp, [member]: sign(over, key) });
}

function receiver(options: Partial<HostedClientOptions> = {}) {
  return clientOf({}, options).client.callbacks;
}

/** SHA-256 over the six facts that make a result the same, by node:crypto. */
function idOf(
  ...facts: readonly [string, string, string | null, string | null, string | null, boolean | null]
): string {
  return createHash('sha256').update(JSON.stringify(facts)).digest('hex');
}

async function disbelieved(
  receiving: Promise<unknown>,
  reason: HostedSignatureError['reason'],
): Promise<HostedSignatureError> {
  const error = await rejection(receiving);
  expect(error).toBeInstanceOf(HostedSignatureError);
  expect(error).toMatchObject({ code: 'signature', reason });
  return error as HostedSignatureError;
}

async function unreadable(
  receiving: Promise<unknown>,
  reason: HostedResponseError['reason'],
): Promise<HostedResponseError> {
  const error = await rejection(receiving);
  expect(error).toBeInstanceOf(HostedResponseError);
  expect(error).toMatchObject({ code: 'response', reason });
  return error as HostedResponseError;
}

// Real callbacks ------------------------------------------------------------

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

// Text and bytes ------------------------------------------------------------

const accented = { ...result, FullName: 'Zoë Ngũgĩ 李' };

test.each([
  ['text', (body: string) => body],
  ['bytes', (body: string) => new TextEncoder().encode(body)],
  ['a Buffer', (body: string) => Buffer.from(body)],
  ['a part of larger bytes', (body: string) => new TextEncoder().encode(`xx${body}yy`).subarray(2, -2)],
  ['text that begins with a byte order mark', (body: string) => `\u{feff}${body}`],
  ['bytes that begin with a byte order mark', (body: string) => new TextEncoder().encode(`\u{feff}${body}`)],
] as const)('callbacks.receive() accepts %s', async (_what, bodyOf) => {
  const event = await receiver().receive(bodyOf(posted(accented)));

  expect(event).toMatchObject({ userId: 'user-1', jobId: 'job-1', repeat: false });
  expect(event.entry.identity?.fullName).toBe('Zoë Ngũgĩ 李');
});

test('callbacks.receive() knows a text again as bytes', async () => {
  const callbacks = receiver();

  await callbacks.receive(posted(accented));
  const again = await callbacks.receive(new TextEncoder().encode(posted(accented)));

  expect(again.repeat).toBe(true);
});

// Ids -----------------------------------------------------------------------

test('callbacks.receive() gives one result one id, however often it is signed anew', async () => {
  const callbacks = receiver();

  const first = await callbacks.receive(posted(result));
  const later = await callbacks.receive(posted(result, { timestamp: '2026-01-02T03:05:00.000Z' }));
  const spelled = { ...result, IsFinalResult: true, FullName: 'Peter Parker' };
  const other = await callbacks.receive(posted(spelled, { timestamp: '2026-01-02T03:06:00.000Z', member: 'sec_key' }));

  expect(first.id).toBe(idOf('user-1', 'job-1', '0000001111', '0810', 'SAIA', true));
  expect([later.id, other.id]).toEqual([first.id, first.id]);
  expect([first.repeat, later.repeat, other.repeat]).toEqual([false, false, false]);
});

test.each([
  [
    'user',
    { PartnerParams: { ...result.PartnerParams, user_id: 'user-2' } },
    idOf('user-2', 'job-1', '0000001111', '0810', 'SAIA', true),
  ],
  [
    'job',
    { PartnerParams: { ...result.PartnerParams, job_id: 'job-2' } },
    idOf('user-1', 'job-2', '0000001111', '0810', 'SAIA', true),
  ],
  ['job id of the service', { HostedJobID: '0000002222' }, idOf('user-1', 'job-1', '0000002222', '0810', 'SAIA', true)],
  ['result code', { ResultCode: '1012' }, idOf('user-1', 'job-1', '0000001111', '1012', 'SAIA', true)],
  ['result type', { ResultType: 'DIVA' }, idOf('user-1', 'job-1', '0000001111', '0810', 'DIVA', true)],
  ['finality', { IsFinalResult: 'false' }, idOf('user-1', 'job-1', '0000001111', '0810', 'SAIA', false)],
] as const)('callbacks.receive() gives another id to another %s', async (_what, change, expected) => {
  const callbacks = receiver();

  const one = await callbacks.receive(posted(result));
  const other = await callbacks.receive(posted({ ...result, ...change }, { timestamp: '2026-01-02T03:05:00.000Z' }));

  expect(other.id).toBe(expected);
  expect(other.id).not.toBe(one.id);
});

// Repeats and replays -------------------------------------------------------

test('callbacks.receive() tells that the same callback came again', async () => {
  const callbacks = receiver();
  const body = posted(result);

  const first = await callbacks.receive(body);
  const second = await callbacks.receive(body);
  const third = await callbacks.receive(body);

  expect(first.repeat).toBe(false);
  expect(second).toEqual({ ...first, repeat: true });
  expect(third).toEqual({ ...first, repeat: true });
});

test('callbacks.receive() hands one of three at once over, and takes none in hand for a repeat', async () => {
  const callbacks = receiver();
  const body = posted(result);

  const ends = await Promise.allSettled([callbacks.receive(body), callbacks.receive(body), callbacks.receive(body)]);

  const events = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  expect(events.filter(({ repeat }) => !repeat)).toHaveLength(1);
  for (const end of ends) if (end.status === 'rejected') expectBusy(end.reason);
  expect((await callbacks.receive(body)).repeat).toBe(true);
});

test.each(['busy', 'another word', undefined])(
  'callbacks.receive() rejects, to be redelivered, what its guard knows as %s',
  async (known) => {
    const steps: string[] = [];
    const replayGuard = {
      begin: async () => known,
      commit: async () => void steps.push('commit'),
      forget: async () => void steps.push('forget'),
    } as ReplayGuard;

    expectBusy(await rejection(receiver().receive(posted(result), { replayGuard })));
    expect(steps).toEqual([]);
  },
);

test('callbacks.receive() hands over what a process that died had in hand, once its lease has ended', async () => {
  const clock = manualClock();
  const callbacks = receiver({ clock });
  const leases = new Map<string, number>();
  const handled = new Set<string>();
  const replayGuard: ReplayGuard = {
    begin: async (key, _bodyDigest, _expiresAt, leaseEndsAt) => {
      if (handled.has(key)) return 'repeat';
      if ((leases.get(key) ?? 0) > clock.now()) return 'busy';
      leases.set(key, leaseEndsAt.getTime());
      return 'new';
    },
    commit: async (key) => void handled.add(key),
    forget: async (key) => void leases.delete(key),
  };
  const dying: ReplayGuard = { ...replayGuard, commit: () => new Promise(() => undefined) };
  const body = posted(result);
  void callbacks.receive(body, { replayGuard: dying });
  await vi.waitFor(() => expect(leases.size).toBe(1));

  expectBusy(await rejection(callbacks.receive(body, { replayGuard })));
  clock.advance(fiveMinutes);

  expect((await callbacks.receive(body, { replayGuard })).repeat).toBe(false);
  expect((await callbacks.receive(body, { replayGuard })).repeat).toBe(true);
});

test('callbacks.receive() takes as new what a handler had in hand and could not handle', async () => {
  const { client } = clientOf({});
  const body = posted(result);
  const handling = deferred();
  const onEvent = vi.fn(() => handling.promise.then(() => Promise.reject(new Error('the database is away'))));
  const handle = client.callbacks.handler({ confirm: false, onEvent });

  const response = handle(new Request('https://partner.test/', { method: 'POST', body }));
  await vi.waitFor(() => expect(onEvent).toHaveBeenCalled());
  expectBusy(await rejection(client.callbacks.receive(body)));
  handling.resolve();

  expect((await response).status).toBe(500);
  expect((await client.callbacks.receive(body)).repeat).toBe(false);
});

/** Expects the error of a callback that another delivery has in hand. */
function expectBusy(error: unknown): void {
  expect(error).toBeInstanceOf(HostedSignatureError);
  expect(error).toMatchObject({ code: 'signature', reason: 'replayed', outcome: 'answered', retryable: true });
}

test('clients remember for themselves what they received', async () => {
  const body = posted(result);
  await receiver().receive(body);

  const event = await receiver().receive(body);

  expect(event.repeat).toBe(false);
});

const epoch = 1767323045678;

test.each<{ what: string; first: Signing; again: Signing }>([
  { what: 'as it stands', first: {}, again: {} },
  { what: 'moved from signature to sec_key', first: { member: 'signature' }, again: { member: 'sec_key' } },
  { what: 'moved from sec_key to signature', first: { member: 'sec_key' }, again: { member: 'signature' } },
  { what: 'with its number written as text', first: { timestamp: epoch }, again: { timestamp: String(epoch) } },
  { what: 'with its text written as a number', first: { timestamp: String(epoch) }, again: { timestamp: epoch } },
  {
    what: 'with its ISO text written as a number',
    first: { timestamp: nowText },
    again: { timestamp: epoch, over: nowText },
  },
])('callbacks.receive() refuses a signed pair $what with another body', async ({ first, again }) => {
  const callbacks = receiver();
  await callbacks.receive(posted(result, first));

  const error = await disbelieved(callbacks.receive(posted(otherResult, again)), 'replayed');

  expect(error).toMatchObject({ operation: null, outcome: 'answered', retryable: false });
  expect((await callbacks.receive(posted(result, first))).repeat).toBe(true);
});

test('callbacks.receive() refuses another body under either signature of a callback that carried two', async () => {
  const signer = hmacSha256({ apiKey: ['new-key', 'old-key'] });
  const pair = { timestamp: nowText, sec_key: sign(nowText, 'old-key'), signature: sign(nowText, 'new-key') };
  const callbacks = receiver({ signer });
  await callbacks.receive(JSON.stringify({ ...result, ...pair }));

  for (const key of ['new-key', 'old-key']) {
    for (const member of ['signature', 'sec_key'] as const) {
      await disbelieved(callbacks.receive(posted(otherResult, { key, member })), 'replayed');
    }
  }
});

test('callbacks.receive() believes the same result under a pair of its own', async () => {
  const callbacks = receiver();
  await callbacks.receive(posted(result));

  const event = await callbacks.receive(posted(otherResult, { timestamp: '2026-01-02T03:04:05.679Z' }));

  expect(event).toMatchObject({ repeat: false, entry: { resultCode: '0811' } });
});

test('callbacks.receive() remembers nothing of what it refused', async () => {
  const callbacks = receiver();
  const forged = JSON.stringify({ ...otherResult, timestamp: nowText, signature: sign(nowText, 'another-key') });
  await disbelieved(callbacks.receive(forged), 'mismatch');
  await unreadable(callbacks.receive(posted({ ResultCode: '0810' })), 'shape');
  await unreadable(callbacks.receive(posted(otherResult), { maxBytes: 10 }), 'too_large');

  const event = await callbacks.receive(posted(result));

  expect(event.repeat).toBe(false);
});

test.each([
  ['now', 0],
  ['a minute ago', -60_000],
  ['a minute ahead', 60_000],
])(
  'callbacks.receive() remembers a pair signed %s to the last millisecond in which it is fresh',
  async (_what, offset) => {
    const clock = manualClock();
    const callbacks = receiver({ clock });
    const timestamp = new Date(now + offset).toISOString();
    await callbacks.receive(posted(result, { timestamp }));

    clock.advance(offset + fiveMinutes);

    await disbelieved(callbacks.receive(posted(otherResult, { timestamp })), 'replayed');
    expect((await callbacks.receive(posted(result, { timestamp }))).repeat).toBe(true);
    clock.advance(1);
    await disbelieved(callbacks.receive(posted(otherResult, { timestamp })), 'stale');
  },
);

test('callbacks.receive() refuses a replay whose verifying outlasts its freshness', async () => {
  const clock = manualClock();
  let verifyingMs = 0;
  const key = hmacSha256({ apiKey });
  const signer: Signer = {
    name: 'slow',
    sign: (input) => key.sign(input),
    verify: (signature, input) => {
      clock.advance(verifyingMs);
      return key.verify(signature, input);
    },
  };
  const callbacks = receiver({ clock, signer });
  await callbacks.receive(posted(result));
  clock.advance(fiveMinutes - 10);
  verifyingMs = 50;

  await disbelieved(callbacks.receive(posted(otherResult)), 'replayed');
});

test('callbacks.receive() forgets a pair that is long too old', async () => {
  const clock = manualClock();
  const callbacks = receiver({ clock });
  await callbacks.receive(posted(result));

  clock.advance(2 * day);

  await disbelieved(callbacks.receive(posted(result)), 'stale');
  const event = await callbacks.receive(posted(otherResult), { maxAgeMs: false });
  expect(event.repeat).toBe(false);
});

test('callbacks.receive() remembers a pair of any age for an hour and more', async () => {
  const clock = manualClock();
  const callbacks = receiver({ clock });
  const body = posted(result, { timestamp: '2021-05-06T08:48:50.763Z' });
  await callbacks.receive(body, { maxAgeMs: false });

  clock.advance(3_600_000);

  expect((await callbacks.receive(body, { maxAgeMs: false })).repeat).toBe(true);
});

test('the guard in memory lets go of the oldest after ten thousand newer ones', { timeout: 60_000 }, async () => {
  const callbacks = receiver();
  const bodyOf = (index: number) => posted(result, { timestamp: new Date(now + index).toISOString() });
  const isRepeat = async (index: number) => (await callbacks.receive(bodyOf(index))).repeat;
  const newer = 10_001;
  await callbacks.receive(bodyOf(0));

  for (let index = 1; index <= newer; index += 100) {
    const batch = Array.from({ length: Math.min(100, newer - index + 1) }, (_, within) => isRepeat(index + within));
    expect(await Promise.all(batch)).not.toContain(true);
  }

  const recent = await Promise.all([newer, newer - 1, newer - 100, newer - 5_000, newer - 9_000].map(isRepeat));
  expect(recent).toEqual([true, true, true, true, true]);
  expect(await isRepeat(0)).toBe(false);
});

// Signatures ----------------------------------------------------------------

test.each([
  ['without signature', { timestamp: nowText }],
  ['without signature and timestamp', {}],
  ['with a signature of null', { timestamp: nowText, signature: null, sec_key: null }],
  ['with an empty signature', { timestamp: nowText, signature: '' }],
])('callbacks.receive() refuses a callback %s as missing', async (_what, signing) => {
  const error = await disbelieved(receiver().receive(JSON.stringify({ ...result, ...signing })), 'missing');

  expect(error.message).toMatch(/^Cannot receive a callback: /);
  expect(error).toMatchObject({ operation: null, outcome: 'answered', attempts: 0, requestId: null, retryable: false });
});

test.each([
  ['a signature that is a number', { timestamp: nowText, signature: 5 }],
  ['a signature that is a list', { timestamp: nowText, signature: [sign(nowText)] }],
  ['a signature that is true', { timestamp: nowText, sec_key: true }],
  ['a second signature that is an object', { timestamp: nowText, signature: sign(nowText), sec_key: {} }],
  ['no timestamp', { signature: sign('undefined') }],
  ['a timestamp of null', { timestamp: null, signature: sign('null') }],
  ['an empty timestamp', { timestamp: '', signature: sign('') }],
  ['a timestamp that is a list', { timestamp: [nowText], signature: sign(nowText) }],
  ['a timestamp with a fraction', { timestamp: 1767323045.5, signature: sign('1767323045.5') }],
  ['a timestamp beyond 2^53', { timestamp: 2 ** 60, signature: sign(String(2 ** 60)) }],
  ['a timestamp that is no time', { timestamp: 'yesterday', signature: sign('yesterday') }],
  [
    'a timestamp on 30 February',
    { timestamp: '2026-02-30T03:04:05.678Z', signature: sign('2026-02-30T03:04:05.678Z') },
  ],
])('callbacks.receive() refuses %s as malformed', async (_what, signing) => {
  await disbelieved(receiver().receive(JSON.stringify({ ...result, ...signing })), 'malformed');
});

const genuine = sign(nowText);

test.each([
  ['made with another key', { signature: sign(nowText, 'another-key') }],
  ['over another timestamp', { signature: sign('2026-01-02T03:04:05.679Z') }],
  ['over the same time in another form', { signature: sign('2026-01-02T03:04:05.678+00:00') }],
  ['for another partner', { signature: sign(nowText, apiKey, '086') }],
  ['for the partner without its zero', { signature: sign(nowText, apiKey, '85') }],
  ['without its padding', { signature: genuine.slice(0, -1) }],
  ['with a line end', { signature: `${genuine}\n` }],
  ['in hexadecimal digits', { signature: Buffer.from(genuine, 'base64').toString('hex') }],
  ['of the older kind', { sec_key: idVerificationOfNumericTime.sec_key }],
  ['that is a word', { signature: 'sid_request' }],
  ['that is wrong in the first of two members', { sec_key: sign(nowText, 'another-key'), signature: genuine }],
  ['that is wrong in the second of two members', { sec_key: genuine, signature: sign(nowText, 'another-key') }],
])('callbacks.receive() refuses a signature %s as mismatch', async (_what, signing) => {
  await disbelieved(receiver().receive(JSON.stringify({ ...result, timestamp: nowText, ...signing })), 'mismatch');
});

test.each(['signature', 'sec_key'] as const)(
  'callbacks.receive() refuses a digest that anyone can compute in %s as unkeyed',
  async (member) => {
    const digest = createHash('sha256').update(`85:${nowText}`).digest('hex');

    const body = JSON.stringify({ ...result, timestamp: nowText, [member]: digest });

    await disbelieved(receiver().receive(body), 'unkeyed');
    await disbelieved(receiver().receive(body, { maxAgeMs: false }), 'unkeyed');
  },
);

test.each([
  ['behind', -1],
  ['ahead', 1],
])('callbacks.receive() refuses as stale what is more than five minutes %s', async (_what, direction) => {
  const atMost = new Date(now + direction * fiveMinutes).toISOString();
  const beyond = new Date(now + direction * (fiveMinutes + 1)).toISOString();

  const event = await receiver().receive(posted(result, { timestamp: atMost }));
  const error = await disbelieved(receiver().receive(posted(result, { timestamp: beyond })), 'stale');

  expect(event.signedAt).toEqual(new Date(atMost));
  expect(error.message).toContain('maxAgeMs');
  expect(error.message).not.toContain('maxResponseAgeMs');
});

test.each([-1, 1])('callbacks.receive() keeps to maxAgeMs, both ways (%d)', async (direction) => {
  const atMost = posted(result, { timestamp: new Date(now + direction * 1_000).toISOString() });
  const beyond = posted(result, { timestamp: new Date(now + direction * 1_001).toISOString() });

  expect((await receiver().receive(atMost, { maxAgeMs: 1_000 })).userId).toBe('user-1');
  await disbelieved(receiver().receive(beyond, { maxAgeMs: 1_000 }), 'stale');
});

test('callbacks.receive() takes no freshness from maxResponseAgeMs', async () => {
  const callbacks = receiver({ maxResponseAgeMs: false });

  await disbelieved(callbacks.receive(posted(result, { timestamp: '2026-01-02T02:04:05.678Z' })), 'stale');
});

test('callbacks.receive() accepts any age when maxAgeMs is false', async () => {
  const options = { maxAgeMs: false } as const;

  const old = await receiver().receive(posted(result, { timestamp: '2018-03-13T21:04:11.193Z' }), options);
  const early = await receiver().receive(posted(result, { timestamp: '2099-01-01T00:00:00Z' }), options);

  expect([old.signedAt, early.signedAt]).toEqual([
    new Date('2018-03-13T21:04:11.193Z'),
    new Date('2099-01-01T00:00:00Z'),
  ]);
});

test('callbacks.receive() refuses what is old and forged as forged', async () => {
  const body = posted(result, { timestamp: '2018-03-13T21:04:11.193Z', key: 'another-key' });

  await disbelieved(receiver().receive(body), 'mismatch');
});

test('callbacks.receive() verifies before it looks at what a callback says', async () => {
  await disbelieved(receiver().receive('{}'), 'missing');
  await disbelieved(receiver().receive(posted({ PartnerParams: 5 }, { key: 'another-key' })), 'mismatch');
  await disbelieved(receiver().receive(posted({}, { timestamp: '2018-03-13T21:04:11.193Z' })), 'stale');
});

test('callbacks.receive() accepts the old key while both are configured, and then no longer', async () => {
  const byOldKey = posted(result, { key: 'old-key' });
  const byNewKey = posted(result, { key: 'new-key' });
  const during = () => receiver({ signer: hmacSha256({ apiKey: ['new-key', 'old-key'] }) });
  const after = receiver({ apiKey: 'new-key' });

  expect((await during().receive(byOldKey)).userId).toBe('user-1');
  expect((await during().receive(byNewKey)).userId).toBe('user-1');
  await disbelieved(after.receive(byOldKey), 'mismatch');
  expect((await after.receive(byNewKey)).userId).toBe('user-1');
});

test.each(['hmac-sha256', 'ed25519'] as const)(
  "callbacks.receive() refuses the other environment's key in scheme %s",
  async (scheme) => {
    const { sandbox, production } = createMockService({ scheme, clock: stillClock() });
    const job = sandbox.jobs.start();
    sandbox.jobs.complete(job, 'approved');
    const body = await (await sandbox.jobs.callback(job)).text();

    await disbelieved(new HostedClient(production.clientOptions).callbacks.receive(body), 'mismatch');
    expect(await new HostedClient(sandbox.clientOptions).callbacks.receive(body)).toMatchObject(job);
  },
);

/** By node:crypto, with the mock service's own key in the sandbox: its seed is the byte 2, 32 times over. */
function signByEd25519(timestamp: string): string {
  const key = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 2)]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  return edSign(null, Buffer.from(`${timestamp}${partnerId}sid_request`), privateKey).toString('base64');
}

test('callbacks.receive() believes Ed25519 signatures of the service alone', async () => {
  const { sandbox } = createMockService({ scheme: 'ed25519', clock: stillClock() });
  const { callbacks } = new HostedClient(sandbox.clientOptions);
  const signature = signByEd25519(nowText);
  const body = (members: object) => JSON.stringify({ ...result, timestamp: nowText, ...members });

  expect(await callbacks.receive(body({ signature }))).toMatchObject({ userId: 'user-1', repeat: false });
  await disbelieved(callbacks.receive(body({ signature, ResultCode: '0811' })), 'replayed');
  await disbelieved(callbacks.receive(body({ signature: signByEd25519('2026-01-02T03:04:05.679Z') })), 'mismatch');
  await disbelieved(callbacks.receive(body({ signature: signature.replace(/=+$/, '') })), 'mismatch');
  await disbelieved(callbacks.receive(body({ signature: 'AAAA' })), 'mismatch');
});

test('callbacks.receive() rejects with HostedConfigError when the signer throws', async () => {
  const signer: Signer = {
    name: 'broken',
    sign: () => '',
    verify: () => {
      throw new Error('out of order');
    },
  };

  const error = await rejection(receiver({ signer }).receive(posted(result)));

  expect(error).toBeInstanceOf(HostedConfigError);
  expect(error).toMatchObject({ code: 'config', issues: [{ path: 'signer' }] });
});

// Bodies that cannot be read ------------------------------------------------

test('callbacks.receive() counts bytes, and accepts as many as maxBytes', async () => {
  const body = posted(accented);
  const bytes = Buffer.byteLength(body);
  expect(bytes).toBeGreaterThan(body.length);

  const event = await receiver().receive(body, { maxBytes: bytes });
  const asText = await unreadable(receiver().receive(body, { maxBytes: bytes - 1 }), 'too_large');
  await unreadable(receiver().receive(Buffer.from(body), { maxBytes: bytes - 1 }), 'too_large');

  expect(event.userId).toBe('user-1');
  expect(asText.message).toContain('maxBytes');
  expect(asText.message).not.toContain('maxResponseBytes');
  expect(asText).toMatchObject({ status: null, issues: [], operation: null, outcome: 'answered', retryable: false });
});

test('callbacks.receive() accepts bodies of up to 8 MiB', async () => {
  const limit = 8 * 1024 * 1024;
  const room = limit - Buffer.byteLength(posted({ ...result, Photo: '' }));
  const largest = Buffer.from(posted({ ...result, Photo: 'A'.repeat(room) }));
  expect(largest).toHaveLength(limit);

  expect((await receiver().receive(largest)).userId).toBe('user-1');
  await unreadable(receiver().receive(Buffer.concat([largest, Buffer.from(' ')])), 'too_large');
});

test.each([
  ['an empty text', ''],
  ['a text that is no JSON', 'ResultCode=0810'],
  ['a page', '<html></html>'],
  ['JSON that breaks off', posted(result).slice(0, -1)],
  ['JSON with something after it', `${posted(result)}{}`],
  ['bytes that are no UTF-8', Buffer.from(posted({ ...result, FullName: 'Zoë' }), 'latin1')],
  ['bytes in UTF-16', Buffer.from(`\u{feff}${posted(result)}`, 'utf16le')],
  ['no bytes', new Uint8Array()],
  ['JSON nested deeper than 64', posted({ ...result, Deep: JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`) })],
])('callbacks.receive() refuses %s as malformed', async (_what, body) => {
  const error = await unreadable(receiver().receive(body), 'malformed');

  expect(error.message).toMatch(/^Cannot receive a callback: /);
  expect(error).toMatchObject({ status: null, operation: null, outcome: 'answered', attempts: 0 });
});

test.each(['null', 'true', '5', '"text"', '[]', `[${posted(result)}]`])(
  'callbacks.receive() refuses JSON that is no object: %#',
  async (body) => {
    const error = await unreadable(receiver().receive(body), 'shape');

    expect(error.issues).toEqual([{ path: '', message: expect.any(String) }]);
  },
);

test.each([
  ['no PartnerParams', undefined, ['PartnerParams.user_id', 'PartnerParams.job_id']],
  ['PartnerParams of null', null, ['PartnerParams.user_id', 'PartnerParams.job_id']],
  ['empty PartnerParams', {}, ['PartnerParams.user_id', 'PartnerParams.job_id']],
  ['PartnerParams that are an empty list', [], ['PartnerParams.user_id', 'PartnerParams.job_id']],
  ['no user id', { job_id: 'job-1' }, ['PartnerParams.user_id']],
  ['an empty user id', { job_id: 'job-1', user_id: '' }, ['PartnerParams.user_id']],
  ['no job id', { user_id: 'user-1', job_id: null }, ['PartnerParams.job_id']],
  ['a job id that is an object', { user_id: 'user-1', job_id: {} }, ['PartnerParams.job_id']],
])('callbacks.receive() refuses a callback with %s', async (_what, PartnerParams, paths) => {
  const error = await unreadable(receiver().receive(posted({ ...result, PartnerParams })), 'shape');

  expect(error.issues.map(({ path }) => path)).toEqual(paths);
  for (const path of paths) expect(error.message).toContain(`"${path}"`);
});

test.each([
  ['ResultCode', {}],
  ['ResultText', 5],
  ['IsFinalResult', 'yes'],
  ['IsMachineResult', 1],
  ['IDNumber', 12345678901],
  ['FullName', ['Peter', 'Parker']],
  ['DOB', 19900101],
  ['PartnerParams', 'user-1'],
  ['Actions', 'Passed'],
])('callbacks.receive() names %s when it is of another shape', async (member, value) => {
  const error = await unreadable(receiver().receive(posted({ ...result, [member]: value })), 'shape');

  expect(error.issues.map(({ path }) => path)).toEqual([member]);
});

// What the caller gives -----------------------------------------------------

test.each([
  ['a parsed object', JSON.parse(posted(result))],
  ['a parsed list', []],
  ['null', null],
  ['nothing', undefined],
  ['a number', 5],
  ['an ArrayBuffer', new ArrayBuffer(8)],
])('callbacks.receive() rejects with HostedValidationError when it is given %s', async (_what, body) => {
  const error = await rejection(receiver().receive(body));

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(error).toMatchObject({ code: 'validation', outcome: 'not_sent', issues: [{ path: 'body' }] });
});

test.each([
  ['maxAgeMs', 0],
  ['maxAgeMs', -1],
  ['maxAgeMs', 1.5],
  ['maxAgeMs', Number.NaN],
  ['maxAgeMs', Number.POSITIVE_INFINITY],
  ['maxAgeMs', '300000'],
  ['maxAgeMs', true],
  ['maxAgeMs', null],
  ['maxBytes', 0],
  ['maxBytes', -1],
  ['maxBytes', 10.5],
  ['maxBytes', '10'],
  ['maxBytes', false],
  ['replayGuard', null],
  ['replayGuard', {}],
  ['replayGuard', { begin: async () => 'new', commit: async () => undefined }],
])('callbacks.receive() names %s when it is %o', async (option, value) => {
  const error = await rejection(receiver().receive(posted(result), { [option]: value }));

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(error).toMatchObject({ code: 'validation', issues: [{ path: option }] });
  expect((error as HostedValidationError).message).toContain(`"${option}"`);
});

test('callbacks.receive() names every bad option at once', async () => {
  const options = { maxAgeMs: -1, maxBytes: 0, replayGuard: {} } as unknown as ReceiveOptions;

  const error = await rejection(receiver().receive(posted(result), options));

  expect(error).toBeInstanceOf(HostedValidationError);
  const paths = (error as HostedValidationError).issues.map(({ path }) => path);
  expect(paths.sort()).toEqual(['maxAgeMs', 'maxBytes', 'replayGuard']);
});

test('callbacks.receive() takes an option that is undefined as left out', async () => {
  const options = { maxAgeMs: undefined, maxBytes: undefined, replayGuard: undefined } as unknown as ReceiveOptions;

  expect((await receiver().receive(posted(result), options)).userId).toBe('user-1');
});

// Guards --------------------------------------------------------------------

type Known = Awaited<ReturnType<ReplayGuard['begin']>>;

/** A guard that always knows the same of a callback, and writes down what it is told. */
function recordingGuard(known: Known = 'new') {
  const begun: { readonly key: string; readonly bodyDigest: string; readonly expiresAt: Date }[] = [];
  const told: string[] = [];
  const guard: ReplayGuard = {
    begin: async (key, bodyDigest, expiresAt) => {
      begun.push({ key, bodyDigest, expiresAt });
      told.push(`begin ${key}`);
      return known;
    },
    commit: async (key) => {
      told.push(`commit ${key}`);
    },
    forget: async (key) => {
      told.push(`forget ${key}`);
    },
  };
  return { guard, begun, told };
}

test('a ReplayGuard is given digests, and nothing of a signature or a body', async () => {
  const { guard, begun, told } = recordingGuard();
  const callbacks = receiver();

  await callbacks.receive(posted(result), { replayGuard: guard });
  await callbacks.receive(posted(otherResult, { member: 'sec_key' }), { replayGuard: guard });
  await callbacks.receive(Buffer.from(posted(result)), { replayGuard: guard });
  await callbacks.receive(posted(result, { timestamp: '2026-01-02T03:05:00.000Z' }), { replayGuard: guard });

  const [first, altered, again, later] = begun;
  expect(told).toEqual(begun.flatMap(({ key }) => [`begin ${key}`, `commit ${key}`]));
  for (const { key, bodyDigest } of begun) {
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(bodyDigest).toMatch(/^[0-9a-f]{64}$/);
  }
  expect(first?.key).not.toBe(Buffer.from(sign(nowText), 'base64').toString('hex'));
  expect(altered?.key).toBe(first?.key);
  expect(altered?.bodyDigest).not.toBe(first?.bodyDigest);
  expect(again).toEqual(first);
  expect(later?.key).not.toBe(first?.key);
  expect(later?.bodyDigest).not.toBe(first?.bodyDigest);
});

test.each([
  ['now', 0],
  ['four minutes ago', -240_000],
  ['four minutes ahead', 240_000],
])('a ReplayGuard keeps a pair signed %s for as long as it is fresh, and not for ever', async (_what, offset) => {
  const { guard, begun } = recordingGuard();
  const timestamp = new Date(now + offset).toISOString();

  await receiver().receive(posted(result, { timestamp }), { replayGuard: guard });

  const expiry = begun[0]?.expiresAt;
  expect(expiry).toBeInstanceOf(Date);
  expect(expiry?.getTime()).toBeGreaterThanOrEqual(now + offset + fiveMinutes);
  expect(expiry?.getTime()).toBeLessThanOrEqual(now + 60 * 60 * 1000);
});

test('a ReplayGuard keeps a pair of any age for an hour at least, and not for ever', async () => {
  const { guard, begun } = recordingGuard();
  const options = { replayGuard: guard, maxAgeMs: false } as const;

  await receiver().receive(posted(result, { timestamp: '2018-03-13T21:04:11.193Z' }), options);
  await receiver().receive(posted(result, { timestamp: 'yesterday' }), options);

  for (const { expiresAt } of begun) {
    expect(expiresAt.getTime()).toBeGreaterThanOrEqual(now + 60 * 60 * 1000);
    expect(expiresAt.getTime()).toBeLessThanOrEqual(now + 30 * day);
  }
  expect(begun).toHaveLength(2);
});

test.each([
  ['new', false],
  ['repeat', true],
] as const)('callbacks.receive() gives what its guard knows as %s with repeat %s', async (known, repeat) => {
  const { guard, told } = recordingGuard(known);

  const event = await receiver().receive(posted(result), { replayGuard: guard });

  expect(event.repeat).toBe(repeat);
  expect(told.map((line) => line.split(' ')[0])).toEqual(repeat ? ['begin'] : ['begin', 'commit']);
});

test('callbacks.receive() refuses what its guard knows as a conflict', async () => {
  const { guard, told } = recordingGuard('conflict');

  await disbelieved(receiver().receive(posted(result), { replayGuard: guard }), 'replayed');

  expect(told).toHaveLength(1);
});

test('a ReplayGuard is told nothing of what is not believed or cannot be read', async () => {
  const { guard, told } = recordingGuard();
  const options = { replayGuard: guard };

  await disbelieved(receiver().receive(JSON.stringify(result), options), 'missing');
  await disbelieved(receiver().receive(posted(result, { key: 'another-key' }), options), 'mismatch');
  await disbelieved(receiver().receive(posted(result, { timestamp: '2018-03-13T21:04:11.193Z' }), options), 'stale');
  await unreadable(receiver().receive(posted({}), options), 'shape');
  await unreadable(receiver().receive('{', options), 'malformed');

  expect(told).toEqual([]);
});

test.each(['begin', 'commit'] as const)(
  'callbacks.receive() hands nothing over when %s of its guard fails',
  async (method) => {
    const { guard } = recordingGuard();
    const failure = new Error('the store is away');
    const replayGuard = { ...guard, [method]: () => Promise.reject(failure) };

    expect(await rejection(receiver().receive(posted(result), { replayGuard }))).toBe(failure);
  },
);

/** A guard in memory, as a user would write one. */
function ownGuard(): ReplayGuard {
  const known = new Map<string, { bodyDigest: string; handled: boolean }>();
  return {
    begin: async (key, bodyDigest) => {
      const before = known.get(key);
      if (!before) known.set(key, { bodyDigest, handled: false });
      else if (before.bodyDigest !== bodyDigest) return 'conflict';
      else return before.handled ? 'repeat' : 'busy';
      return 'new';
    },
    commit: async (key) => {
      known.set(key, { bodyDigest: known.get(key)?.bodyDigest ?? '', handled: true });
    },
    forget: async (key) => {
      known.delete(key);
    },
  };
}

test('callbacks.receive() hands over anew what its guard could not commit', async () => {
  const guard = ownGuard();
  let commits = 0;
  const replayGuard: ReplayGuard = {
    ...guard,
    commit: async (key) => {
      commits += 1;
      if (commits === 1) throw new Error('the store is away');
      await guard.commit(key);
    },
  };
  const receive = () => receiver().receive(posted(result), { replayGuard });

  await rejection(receive());

  expect((await receive()).repeat).toBe(false);
  expect((await receive()).repeat).toBe(true);
});

test('clients that share a guard know what the other received', async () => {
  const replayGuard = ownGuard();

  const first = await receiver().receive(posted(result), { replayGuard });
  const second = await receiver().receive(posted(result), { replayGuard });
  await disbelieved(receiver().receive(posted(otherResult), { replayGuard }), 'replayed');

  expect([first.repeat, second.repeat]).toEqual([false, true]);
});

test('a guard that environments and partners share keeps them apart', async () => {
  const replayGuard = ownGuard();
  const { sandbox, production } = createMockService({ clock: stillClock() });
  const other = createMockService({ partnerId: '086', clock: stillClock() }).sandbox;

  for (const environment of [sandbox, production, other]) {
    const job = environment.jobs.start();
    environment.jobs.complete(job, 'approved');
    const body = await (await environment.jobs.callback(job)).text();
    const { callbacks } = new HostedClient(environment.clientOptions);

    expect(await callbacks.receive(body, { replayGuard })).toMatchObject({ ...job, repeat: false });
    expect(await callbacks.receive(body, { replayGuard })).toMatchObject({ ...job, repeat: true });
  }
});

// What must not show --------------------------------------------------------

/** A callback with something planted in every member that was ever seen, and in some that were not. */
function plantedCallback({ plant }: Planter) {
  return {
    ResultCode: plant('code'),
    ResultText: plant('text'),
    ResultType: plant('type'),
    HostedJobID: plant('hosted'),
    JSONVersion: plant('version'),
    IsFinalResult: 'true',
    IsMachineResult: 'false',
    ConfidenceValue: plant('confidence'),
    Actions: { [plant('action')]: plant('outcome') },
    PartnerParams: {
      user_id: plant('user'),
      job_id: plant('job'),
      job_type: plant('kind'),
      link_id: plant('link'),
      [plant('member')]: plant('value'),
    },
    FullName: plant('name'),
    FirstName: plant('first'),
    LastName: plant('last'),
    OtherName: plant('other'),
    DOB: plant('birth'),
    Gender: plant('gender'),
    IDNumber: plant('number'),
    SecondaryIDNumber: plant('second'),
    IDType: plant('document'),
    Country: plant('country'),
    ExpirationDate: plant('expiry'),
    IssuanceDate: plant('issue'),
    PhoneNumber2: plant('phone'),
    Photo: plant('photo'),
    Document: plant('scan'),
    KYCReceipt: `https://receipts.test/${plant('receipt')}`,
    ImageLinks: { selfie_image: `https://images.test/${plant('selfie')}`, id_card_image: [plant('card')] },
    Source: plant('source'),
    Address: { [plant('member')]: [{ [plant('member')]: plant('street') }] },
    [plant('member')]: plant('value'),
  };
}

/** A client with a planted key and partner id, what it told, and how its service signs. */
function plantedReceiver(planter: Planter, options: Partial<HostedClientOptions> = {}) {
  const { plant, planted } = planter;
  const told: unknown[] = [];
  const partner = plant('partner');
  const key = plant('key');
  const write = (message: string, details?: object) => {
    told.push(message, details);
  };
  const { client } = clientOf(
    {},
    {
      partnerId: partner,
      ...(options.signer ? {} : { signer: hmacSha256({ apiKey: [plant('key'), key] }) }),
      logger: { debug: write, info: write, warn: write, error: write },
      onEvent: (event) => {
        told.push(event);
      },
      ...options,
    },
  );
  /** A callback by the service, or by whoever has another key; its signature is planted too. */
  const signedBy = (members: object, { timestamp = nowText, signingKey = key } = {}): string => {
    const signature = sign(timestamp, signingKey, partner);
    planted.push(signature);
    return JSON.stringify({ ...members, timestamp, signature });
  };
  const tellings = () => told.flatMap((each) => [inspect(each, everything), JSON.stringify(each) ?? '']);
  return { callbacks: client.callbacks, signedBy, tellings };
}

type Mishap = (planter: Planter, receiving: ReturnType<typeof plantedReceiver>) => Promise<unknown>;

const checkedMembers = [
  'ResultCode',
  'ResultText',
  'ResultType',
  'JSONVersion',
  'IsFinalResult',
  'IsMachineResult',
  'IDNumber',
  'SecondaryIDNumber',
  'FullName',
  'DOB',
  'IDType',
  'Country',
  'ExpirationDate',
] as const;

const mishaps: readonly { readonly what: string; readonly code: string; readonly run: Mishap }[] = [
  {
    what: 'a forged callback',
    code: 'signature',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(signedBy(plantedCallback(planter), { signingKey: planter.plant('theirs') })),
  },
  {
    what: 'a callback without signature',
    code: 'signature',
    run: (planter, { callbacks }) => callbacks.receive(JSON.stringify(plantedCallback(planter))),
  },
  {
    what: 'a signature that is an object',
    code: 'signature',
    run: (planter, { callbacks }) =>
      callbacks.receive(
        JSON.stringify({
          ...plantedCallback(planter),
          timestamp: nowText,
          signature: { [planter.plant('member')]: planter.plant('signature') },
        }),
      ),
  },
  {
    what: 'a timestamp that is no time',
    code: 'signature',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(signedBy(plantedCallback(planter), { timestamp: planter.plant('time') })),
  },
  {
    what: 'a stale callback',
    code: 'signature',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(signedBy(plantedCallback(planter), { timestamp: '2018-03-13T21:04:11.193Z' })),
  },
  {
    what: 'a replay with another body',
    code: 'signature',
    run: async (planter, { callbacks, signedBy }) => {
      await callbacks.receive(signedBy(plantedCallback(planter)));
      return callbacks.receive(signedBy(plantedCallback(planter)));
    },
  },
  {
    what: 'a callback without a job',
    code: 'response',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(
        signedBy({ ...plantedCallback(planter), PartnerParams: { [planter.plant('member')]: planter.plant('value') } }),
      ),
  },
  {
    what: 'ids of another shape',
    code: 'response',
    run: ({ plant, ...planter }, { callbacks, signedBy }) =>
      callbacks.receive(
        signedBy({
          ...plantedCallback({ plant, ...planter }),
          PartnerParams: { user_id: [plant('user')], job_id: { [plant('member')]: plant('job') }, link_id: [] },
        }),
      ),
  },
  {
    what: 'PartnerParams and Actions that are texts',
    code: 'response',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(
        signedBy({
          ...plantedCallback(planter),
          PartnerParams: planter.plant('params'),
          Actions: [planter.plant('action')],
        }),
      ),
  },
  ...checkedMembers.map((member) => ({
    what: `${member} of another shape`,
    code: 'response',
    run: ((planter, { callbacks, signedBy }) =>
      callbacks.receive(
        signedBy({
          ...plantedCallback(planter),
          [member]: { [planter.plant('member')]: [planter.plant('value')] },
        }),
      )) satisfies Mishap,
  })),
  {
    what: 'a callback that is too large',
    code: 'response',
    run: (planter, { callbacks, signedBy }) => callbacks.receive(signedBy(plantedCallback(planter)), { maxBytes: 100 }),
  },
  {
    what: 'JSON that breaks off',
    code: 'response',
    run: (planter, { callbacks, signedBy }) => callbacks.receive(signedBy(plantedCallback(planter)).slice(0, -1)),
  },
  {
    what: 'a text that is no JSON at all',
    code: 'response',
    run: ({ plant }, { callbacks }) => callbacks.receive(plant('text')),
  },
  {
    what: 'bytes that are no UTF-8',
    code: 'response',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(Buffer.concat([Buffer.from(signedBy(plantedCallback(planter))), Buffer.from([0xff])])),
  },
  {
    what: 'a list of callbacks',
    code: 'response',
    run: (planter, { callbacks, signedBy }) => callbacks.receive(`[${signedBy(plantedCallback(planter))}]`),
  },
  {
    what: 'a callback that was parsed already',
    code: 'validation',
    run: (planter, { callbacks, signedBy }) =>
      callbacks.receive(JSON.parse(signedBy(plantedCallback(planter))) as unknown as string),
  },
  {
    what: 'bad options',
    code: 'validation',
    run: ({ plant, ...planter }, { callbacks, signedBy }) =>
      callbacks.receive(signedBy(plantedCallback({ plant, ...planter })), {
        maxAgeMs: plant('age'),
        maxBytes: { [plant('member')]: plant('bytes') },
        replayGuard: { [plant('member')]: plant('guard') },
      } as unknown as ReceiveOptions),
  },
];

test.each(mishaps)('the error of $what shows nothing of it', async ({ code, run }) => {
  const planter = createPlanter();
  const receiving = plantedReceiver(planter);

  const error = await rejection(run(planter, receiving));

  expect(isHostedError(error)).toBe(true);
  expect(error).toMatchObject({ code });
  expect(planter.planted.length).toBeGreaterThan(3);
  expectNothingIn([...showingsOf(error as HostedError), ...receiving.tellings()], planter.planted);
});

test('the error of a signer that says too much shows nothing of it', async () => {
  const planter = createPlanter();
  const signer: Signer = {
    name: planter.plant('signer'),
    sign: () => planter.plant('signed'),
    verify: (signature, input) => {
      const cause = new Error(`${signature} ${input.timestamp} ${input.partnerId}`);
      throw Object.assign(new Error(planter.plant('message'), { cause }), { [planter.plant('member')]: signature });
    },
  };
  const { callbacks, signedBy, tellings } = plantedReceiver(planter, { signer });

  const error = await rejection(callbacks.receive(signedBy(plantedCallback(planter))));

  expect(error).toBeInstanceOf(HostedConfigError);
  expectNothingIn([...showingsOf(error as HostedError), ...tellings()], planter.planted);
});

test('a callback that is received shows no signature and no key, and nothing of it is logged', async () => {
  const planter = createPlanter();
  const { callbacks, signedBy, tellings } = plantedReceiver(planter);
  const secrets = [...planter.planted];
  const body = signedBy(plantedCallback(planter));
  const { signature } = JSON.parse(body) as { signature: string };

  const event = await callbacks.receive(body);

  expect(event.entry.identity?.fullName).toMatch(/^name-/);
  expectNothingIn(showings(event), [...secrets, signature]);
  expectNothingIn([...showings(callbacks), ...tellings()], planter.planted);
});

test('a callback signed twice shows neither signature', async () => {
  const signer = hmacSha256({ apiKey: ['new-key', 'old-key'] });
  const pair = { timestamp: nowText, sec_key: sign(nowText, 'old-key'), signature: sign(nowText, 'new-key') };

  const event = await receiver({ signer }).receive(JSON.stringify({ ...result, ...pair }));

  expectNothingIn(showings(event), [pair.sec_key, pair.signature]);
});

test('callbacks.receive() keeps to freshness though its options are those of a handler that confirms', async () => {
  const options = { confirm: true, maxAgeMs: 1_000, onEvent: () => undefined };
  const callbacks = receiver({ clock: stillClock(now + day) });

  await disbelieved(callbacks.receive(posted(result), options), 'stale');
});

test("callbacks.receive() judges freshness by its own clock, whatever a response's Date says", async () => {
  const date = new Date(now).toUTCString();
  const linkAnswer = () =>
    Response.json({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' }, { headers: { date } });
  const here = now + 600_000;
  const { client } = clientOf(linkAnswer, { clock: stillClock(here) });
  await client.links.get('ref-1');

  const event = await client.callbacks.receive(posted(result, { timestamp: new Date(here).toISOString() }));

  expect(event.signedAt).toEqual(new Date(here));
  await disbelieved(client.callbacks.receive(posted(result)), 'stale');
});

test('callbacks.receive() goes by its own clock alone, and refuses a replay on one that is ten minutes ahead', async () => {
  const date = new Date(now).toUTCString();
  const { client } = clientOf(Response.json({}, { status: 401, headers: { date } }), {
    clock: stillClock(now + 600_000),
  });
  const maxAgeMs = 900_000;
  await rejection(client.links.get('ref-1'));

  await disbelieved(client.callbacks.receive(posted(result)), 'stale');
  const first = await client.callbacks.receive(posted(result), { maxAgeMs });
  const second = await client.callbacks.receive(posted(result), { maxAgeMs });

  expect([first.repeat, second.repeat]).toEqual([false, true]);
  await disbelieved(client.callbacks.receive(posted(otherResult), { maxAgeMs }), 'replayed');
});
