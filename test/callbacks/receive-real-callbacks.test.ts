// What receive() makes of real callbacks.

import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { idVerificationOfNumericTime } from '../fixtures/real-payloads.js';
import { realResults } from '../fixtures/real-results.js';
import { clientOf, now, stillClock } from '../support/fake-fetch.js';
import { idOf, nowText, posted, receiver, result } from './posted-callback.js';

test.each(realResults)('callbacks.receive() reads $what', async ({ payload, signing, signedAt, entry }) => {
  const callbacks = receiver({ clock: stillClock(signedAt.getTime()) });

  const received = await callbacks.receive(posted(payload, signing));

  const { partnerParams, hostedJobId, resultCode, resultType, isFinal, extra } = entry;
  const job = { userId: partnerParams?.userId ?? '', jobId: partnerParams?.jobId ?? '' };
  expect(received).toEqual({
    id: idOf(job.userId, job.jobId, hostedJobId, resultCode, resultType, isFinal),
    repeat: false,
    ...job,
    linkId: partnerParams?.linkId,
    signedAt,
    entry: { ...entry, extra: { ...extra, timestamp: signing.timestamp ?? nowText } },
  });
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
