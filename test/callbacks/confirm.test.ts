// What a handler that confirms passes to onEvent: values of the verified response, not of the callback's body.

import type { ConfirmedEvent } from 'hosted-client';
import { expect, test } from 'vitest';
import { clientOf, now, type Reply, sign, signed } from '../support/fake-fetch.js';
import { randomFrom } from '../support/random.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { confirmedListener } from './handled-callback.js';
import { idOf, nowText } from './posted-callback.js';

failOnStrayRejections();

/** A callback, signed with the key of `clientOf` by node:crypto. */
function post(properties: object, timestamp = nowText): Request {
  const body = JSON.stringify({
    PartnerParams: { user_id: 'user-1', job_id: 'job-1', link_id: 'forged-link' },
    ...properties,
    timestamp,
    signature: sign(timestamp),
  });
  return new Request('https://partner.test/callbacks', { method: 'POST', body });
}

const enrolled = {
  ResultCode: '0810',
  ResultText: 'Enroll User',
  ResultType: 'SAIA',
  HostedJobID: '0000001111',
  IsFinalResult: 'true',
  // As in honest responses, the ids of an entry are not those that were asked about.
  PartnerParams: { user_id: 'user-of-the-entry', job_id: 'job-1', link_id: 'link-1' },
};
const idVerified = {
  ResultCode: '1012',
  ResultText: 'ID Number Validated',
  ResultType: 'ID Verification',
  HostedJobID: '0000001111',
  IsFinalResult: 'true',
  FullName: 'Peter Parker',
};

/** The status of a completed job with this history. */
function completed(history: readonly object[] | undefined, properties: object = {}): Reply {
  return signed({ job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1', history, ...properties });
}

async function passOn(reply: Reply | readonly Reply[], properties: object) {
  const { client, sent } = clientOf(reply);
  const onEvent = confirmedListener();
  const response = await client.callbacks.handler({ onEvent })(post(properties));
  const [event, status] = onEvent.mock.calls[0] ?? [];
  return { response, event, status, sent, onEvent };
}

test('callbacks.handler() confirms where nothing else is said, and asks with history', async () => {
  const { response, event, status, sent } = await passOn(completed([enrolled, idVerified]), {
    ...enrolled,
    PartnerParams: { user_id: 'user-1', job_id: 'job-1' },
  });

  expect(response.status).toBe(200);
  expect(sent.map(({ body }) => [body.user_id, body.job_id, body.history])).toEqual([['user-1', 'job-1', true]]);
  expect(event).toEqual({
    id: idOf('user-1', 'job-1', '0000001111', '0810', 'SAIA', true),
    repeat: false,
    userId: 'user-1',
    jobId: 'job-1',
    linkId: 'link-1',
    signedAt: new Date(now),
    entry: status?.history?.[0],
  });
  expect(status).toMatchObject({ state: 'succeeded', userId: 'user-1', jobId: 'job-1' });
});

test('callbacks.handler() passes on the entry of the history, not the forged name beside its facts', async () => {
  const { event } = await passOn(completed([idVerified]), { ...idVerified, FullName: 'Mallory', Photo: 'forged' });

  expect(event?.entry?.identity?.fullName).toBe('Peter Parker');
  expect(event?.entry?.extra).toEqual({});
  expect(event?.linkId).toBeNull();
});

test("callbacks.handler() takes the only entry with the callback's job id and code, and that one's id", async () => {
  const { ResultType: _type, IsFinalResult: _final, ...bare } = enrolled;

  const { event, status } = await passOn(completed([idVerified, enrolled]), { ...bare, PartnerParams: ids });

  expect(event?.entry).toBe(status?.history?.[1]);
  expect(event?.id).toBe(idOf('user-1', 'job-1', '0000001111', '0810', 'SAIA', true));
  expect(event?.linkId).toBe('link-1');
});

const ids = { user_id: 'user-1', job_id: 'job-1', link_id: 'forged-link' };

test.each([
  ['two entries with its job id and code', [enrolled, { ...enrolled, ResultType: 'DIVA' }], { ResultType: 'Other' }],
  ['another code', [idVerified], {}],
  ["another of the service's job ids", [{ ...enrolled, HostedJobID: '0000002222' }], {}],
  ['no history', undefined, {}],
  ['an empty history', [], {}],
])('callbacks.handler() passes on no entry if job status has %s', async (_what, history, properties) => {
  const { response, event, status } = await passOn(completed(history), {
    ...enrolled,
    PartnerParams: ids,
    ...properties,
  });

  expect(response.status).toBe(200);
  expect(event).toMatchObject({ entry: null, linkId: null, userId: 'user-1', jobId: 'job-1' });
  expect(status?.state).toBe('succeeded');
});

test('callbacks.handler() takes the later of two results that are the same', async () => {
  const { event, status } = await passOn(
    completed([idVerified, { ...idVerified, FullName: 'Peter B. Parker' }]),
    idVerified,
  );

  expect(event?.entry).toBe(status?.history?.[1]);
});

test('callbacks.handler() gives what has no entry an id of the job and its state alone', async () => {
  const idAfter = async (reply: Reply, properties: object) => (await passOn(reply, properties)).event?.id;
  const failed = completed([], { job_success: false });

  const succeeded = await idAfter(completed([]), { ...enrolled, PartnerParams: ids });

  expect(succeeded).toMatch(/^[0-9a-f]{64}$/);
  expect(await idAfter(completed([]), { FullName: 'Mallory' })).toBe(succeeded);
  expect(await idAfter(failed, {})).not.toBe(succeeded);
  expect(
    await idAfter(completed([], { user_id: 'user-1', job_id: 'job-2' }), {
      PartnerParams: { ...ids, job_id: 'job-2' },
    }),
  ).not.toBe(succeeded);
});

// A property ----------------------------------------------------------------

/** Every value in a value that holds no others, dates as such. */
function leavesOf(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null || value instanceof Date) return [value];
  return Object.values(value).flatMap(leavesOf);
}

/** Every name in a value. */
function namesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return [...(Array.isArray(value) ? [] : Object.keys(value)), ...Object.values(value).flatMap(namesIn)];
}

test('nothing that onEvent is given comes from the unsigned body, whatever that says', async () => {
  const random = randomFrom(20_260_104);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const history = [enrolled, { ...enrolled, ResultType: 'DIVA' }, idVerified];
  let withEntry = 0;

  for (let count = 0; count < 300; count++) {
    const forged = (what: string) => `forged-${what}-${Math.floor(random() * 1e9)}`;
    const maybe = (properties: object) => (random() < 0.5 ? properties : {});
    const body = {
      ...maybe(pick(history)),
      ...maybe({ ResultText: forged('text') }),
      ...maybe({ ResultCode: pick(['0810', '0811', '1012', forged('code')]) }),
      ...maybe({ ResultType: pick(['SAIA', 'DIVA', 'ID Verification', forged('type')]) }),
      ...maybe({ HostedJobID: pick(['0000001111', forged('job')]) }),
      ...maybe({ IsFinalResult: pick(['true', 'false', true]) }),
      ...maybe({
        FullName: forged('name'),
        DOB: forged('birth'),
        IDNumber: forged('number'),
        Country: forged('country'),
      }),
      ...maybe({ Actions: { [forged('action')]: forged('outcome') }, ConfidenceValue: '12.5' }),
      ...maybe({
        [forged('property')]: { [forged('inner')]: [forged('value')] },
        ImageLinks: { selfie: forged('url') },
      }),
      PartnerParams: { ...ids, job_type: forged('kind'), ...maybe({ [forged('property')]: forged('value') }) },
    };
    const reply = completed(pick([history, history.slice(0, 1), []]), { job_success: pick([true, false]) });

    const { response, event, status } = await passOn(reply, body);

    expect(response.status).toBe(200);
    const { id, repeat, signedAt, userId, jobId, ...rest } = event as ConfirmedEvent;
    const trusted = new Set([...leavesOf(status), null]);
    expect([userId, jobId, repeat, signedAt]).toEqual(['user-1', 'job-1', false, new Date(now)]);
    expect(leavesOf(rest).filter((leaf) => !trusted.has(leaf))).toEqual([]);
    expect(JSON.stringify([event, status])).not.toContain('forged');
    expect(namesIn([event, status]).filter((name) => name.startsWith('forged'))).toEqual([]);
    const { entry } = event as ConfirmedEvent;
    if (entry !== null) {
      withEntry += 1;
      expect(status?.history).toContain(entry);
      const { hostedJobId, resultCode, resultType, isFinal } = entry;
      expect(id).toBe(idOf('user-1', 'job-1', hostedJobId, resultCode, resultType, isFinal));
    }
  }

  expect(withEntry).toBeGreaterThan(30);
  expect(withEntry).toBeLessThan(250);
});

// Pending -------------------------------------------------------------------

test.each([
  ['says that it is not final', { ResultCode: '0813', IsFinalResult: 'false' }],
  ['is under review', { ResultCode: '0814' }],
  ['is under review, and calls itself final', { ResultCode: '0814', IsFinalResult: 'true' }],
])('callbacks.handler() passes on the pending status at once if a callback %s', async (_what, properties) => {
  const entry = { ...properties, HostedJobID: '0000001111' };
  const { response, event, status, sent } = await passOn(signed({ job_complete: false, history: [entry] }), entry);

  expect(response.status).toBe(200);
  expect(sent).toHaveLength(1);
  expect(status?.state).toBe('pending');
  expect(event?.entry).toBe(status?.history?.[0]);
});

test('callbacks.handler() passes on the completed status for a callback that calls itself interim', async () => {
  const { status, sent } = await passOn(completed([enrolled]), {
    ...enrolled,
    PartnerParams: ids,
    IsFinalResult: 'false',
  });

  expect(status?.state).toBe('succeeded');
  expect(sent).toHaveLength(1);
});

// The body alone ------------------------------------------------------------

test('callbacks.handler() with confirm: false hands the unsigned body over, and asks nothing', async () => {
  const { client, sent } = clientOf({});
  const seen: unknown[] = [];
  const handle = client.callbacks.handler({ confirm: false, onEvent: (...given) => void seen.push(...given) });

  const response = await handle(post({ ...enrolled, PartnerParams: ids, FullName: 'Mallory' }));

  expect(response.status).toBe(200);
  expect(sent).toEqual([]);
  expect(seen).toEqual([
    expect.objectContaining({ linkId: 'forged-link', entry: expect.objectContaining({ resultCode: '0810' }) }),
  ]);
});

test('callbacks.handler() confirms though Object.prototype says otherwise', async () => {
  const { client, sent } = clientOf(completed([enrolled]));
  const onEvent = confirmedListener();
  const polluted = Object.prototype as Record<string, unknown>;
  polluted.confirm = false;
  const handle = client.callbacks.handler({ onEvent });
  delete polluted.confirm;

  await handle(post({ ...enrolled, PartnerParams: ids }));

  expect(sent).toHaveLength(1);
  expect(onEvent).toHaveBeenCalledExactlyOnceWith(expect.anything(), expect.objectContaining({ state: 'succeeded' }));
});
