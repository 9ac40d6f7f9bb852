// What is trusted of a response and what is not: the table of statuses and codes, signatures, freshness, and what a response is about.

import {
  HostedApiError,
  HostedAuthenticationError,
  HostedConnectionError,
  HostedNotFoundError,
  HostedRateLimitError,
  HostedResponseError,
  HostedServerError,
  HostedSignatureError,
  HostedTimeoutError,
} from 'hosted-client';
import { expect, onTestFinished, test } from 'vitest';
import {
  clientOf,
  failed,
  now,
  operations,
  type Reply,
  recordingClock,
  rejection,
  type SentRequest,
  sign,
  signed,
} from '../support/fake-fetch.js';
import { faultyServer, whole } from '../support/faulty-server.js';

const job = { userId: 'user-1', jobId: 'job-1' };
const isoNow = new Date(now).toISOString();
const iso = (offsetMs: number) => new Date(now + offsetMs).toISOString();
const linkOperations = operations.filter(({ name }) => name !== 'jobs.status');

/** A response to job status, signed with `signature` alone. */
const ids = { user_id: job.userId, job_id: job.jobId };
const answered = (members: object) => ({ job_complete: true, job_success: true, ...ids, ...members });

// Statuses and codes --------------------------------------------------------

interface Row {
  readonly what: string;
  readonly reply: Reply;
  readonly type: new (...given: never[]) => Error;
  readonly code: string;
  readonly outcome?: string;
  readonly repeated: 'always' | 'if repeatable' | 'never';
}

const json = (status: number, body: object = {}) => Response.json(body, { status });
const html = (status: number) =>
  new Response('<html><body>Bad Gateway</body></html>', { status, headers: { 'content-type': 'text/html' } });

const connection = { type: HostedConnectionError, code: 'connection' } as const;
const server = { type: HostedServerError, code: 'server', repeated: 'if repeatable' } as const;
const rateLimit = { type: HostedRateLimitError, code: 'rate_limit' } as const;
const authentication = { type: HostedAuthenticationError, code: 'authentication', repeated: 'never' } as const;
const notFound = { type: HostedNotFoundError, code: 'not_found', repeated: 'never' } as const;
const api = { type: HostedApiError, code: 'api', repeated: 'never' } as const;
const unusable = { type: HostedResponseError, code: 'response', outcome: 'answered', repeated: 'never' } as const;

function broken(code: string): Reply {
  return () => {
    throw failed(code);
  };
}

const rows: readonly Row[] = [
  { what: 'a reset', reply: broken('ECONNRESET'), ...connection, outcome: 'unknown', repeated: 'if repeatable' },
  {
    what: 'a refused connection',
    reply: broken('ECONNREFUSED'),
    ...connection,
    outcome: 'not_sent',
    repeated: 'always',
  },
  { what: 'an unknown host', reply: broken('ENOTFOUND'), ...connection, outcome: 'not_sent', repeated: 'always' },
  { what: 'status 408', reply: json(408), type: HostedTimeoutError, code: 'timeout', repeated: 'if repeatable' },
  // 425 is "too early"; 520 to 530 are those of Cloudflare, which stands before many services.
  ...[425, 500, 502, 503, 504, ...Array.from({ length: 11 }, (_, index) => 520 + index)].map((status) => ({
    what: `status ${status}`,
    reply: json(status),
    ...server,
  })),
  { what: 'HTML with status 502', reply: html(502), ...server },
  { what: 'code 2301 with status 200', reply: json(200, { code: '2301' }), ...server },
  { what: 'code 2301 with status 400', reply: json(400, { code: '2301' }), ...server },
  { what: 'code 2301 as a number', reply: json(200, { code: 2301 }), ...server },
  { what: 'status 429', reply: json(429), ...rateLimit, repeated: 'always' },
  { what: 'status 429 with code 2222', reply: json(429, { code: '2222' }), ...rateLimit, repeated: 'never' },
  { what: 'status 429 with code 2222 as a number', reply: json(429, { code: 2222 }), ...rateLimit, repeated: 'never' },
  { what: 'status 401', reply: json(401), ...authentication },
  { what: 'status 403', reply: json(403), ...authentication },
  { what: 'code 2204', reply: json(400, { code: '2204' }), ...authentication },
  { what: 'code 2205', reply: json(400, { error: 'text', code: '2205' }), ...authentication },
  { what: 'code 2305 with status 200', reply: json(200, { code: '2305' }), ...authentication },
  { what: 'code 2305 with status 400', reply: json(400, { code: '2305' }), ...authentication },
  { what: 'code 2305 as a number', reply: json(200, { code: 2305 }), ...authentication },
  { what: 'status 404', reply: json(404), ...notFound },
  { what: 'HTML with status 404', reply: html(404), ...notFound },
  { what: 'code 2304 with status 200', reply: json(200, { code: '2304', job_complete: false }), ...notFound },
  { what: 'code 2304 with status 400', reply: json(400, { code: '2304' }), ...notFound },
  { what: 'code 2304 as a number', reply: json(200, { code: 2304 }), ...notFound },
  { what: 'code 2303', reply: json(200, { code: '2303' }), ...api },
  { what: 'code 2313', reply: json(200, { code: '2313', job_complete: false }), ...api },
  { what: 'code 2313 as a number', reply: json(400, { code: 2313 }), ...api },
  { what: 'code 2215', reply: json(400, { error: 'text', code: '2215' }), ...api },
  ...[400, 402, 405, 406, 409, 410, 413, 415, 422, 451].map((status) => ({
    what: `status ${status}`,
    reply: json(status),
    ...api,
  })),
  // Of the rows that fit, the first one.
  { what: 'status 429 with code 2205', reply: json(429, { code: '2205' }), ...rateLimit, repeated: 'always' },
  { what: 'status 401 with code 2301', reply: json(401, { code: '2301' }), ...authentication },
  { what: 'code 2205 with status 503', reply: json(503, { code: '2205' }), ...authentication },
  { what: 'code 2304 with status 503', reply: json(503, { code: '2304' }), ...notFound },
  { what: 'code 2301 with status 404', reply: json(404, { code: '2301' }), ...server },
  { what: 'status 501', reply: json(501), ...server, repeated: 'never' },
  { what: 'code 2201 with status 501', reply: json(501, { code: '2201' }), ...server },
  { what: 'code 2399 with status 501', reply: json(501, { code: '2399' }), ...server, repeated: 'never' },
  { what: 'code 2203 with status 503', reply: json(503, { code: '2203' }), ...api },
  { what: 'code 2313 with status 408', reply: json(408, { code: '2313' }), ...api },
  { what: 'an error member with status 200', reply: json(200, { error: 'text' }), ...api },
  { what: 'an error member with status 202', reply: json(202, { error: { text: 'text' } }), ...api },
  { what: 'HTML with status 200', reply: html(200), ...unusable },
  { what: 'an empty body with status 200', reply: new Response('', { status: 200 }), ...unusable },
  { what: 'no body with status 204', reply: new Response(null, { status: 204 }), ...unusable },
  { what: 'JSON null', reply: new Response('null'), ...unusable },
  { what: 'a JSON list', reply: new Response('[]'), ...unusable },
  { what: 'a JSON text', reply: new Response('"text"'), ...unusable },
  { what: 'half a JSON object', reply: new Response('{"ref_id": "ref'), ...unusable },
];

test.each(
  operations.flatMap((operation) => rows.map((row) => ({ name: operation.name, what: row.what, operation, row }))),
)('$name on $what rejects as the table says', async ({ operation, row }) => {
  const { client, sent } = clientOf(row.reply, { clock: recordingClock() });
  const repeats = row.repeated === 'always' || (row.repeated === 'if repeatable' && operation.repeatable);

  const error = await rejection(operation.call(client));

  expect(error).toBeInstanceOf(row.type);
  expect(error).toMatchObject({
    code: row.code,
    operation: operation.name,
    outcome: row.outcome ?? 'refused',
    retryable: repeats,
    mayHaveActed: operation.writes && mayHaveActed(row),
    attempts: repeats ? 3 : 1,
  });
  // It says how to look for a link that may exist.
  const speaksOfLink = operation.name === 'links.create' && mayHaveActed(row);
  expect((error as Error).message.includes('links.find()')).toBe(speaksOfLink);
  expect(sent).toHaveLength(repeats ? 3 : 1);
});

// By docs/errors.md: the response was lost or cannot be used, or it may be a proxy's, or is no 4xx.
function mayHaveActed({ outcome = 'refused', code, reply }: Row): boolean {
  if (outcome !== 'refused') return outcome !== 'not_sent';
  const is4xx = reply instanceof Response && reply.status >= 400 && reply.status < 500;
  return code === 'server' || code === 'timeout' || !is4xx;
}

test('an error of the service reports its own status, code, words and headers', async () => {
  const body = { error: 'No such thing', code: '2215' };
  const headers = { 'x-request-id': 'req-1', 'x-other': 'value' };
  const { client } = clientOf(Response.json(body, { status: 400, headers }));

  const error = await rejection(client.links.get('ref-1'), HostedApiError);

  const { status, serviceCode, serviceMessage, requestId, retryAfterMs } = error;
  expect({ status, serviceCode, serviceMessage, requestId, retryAfterMs }).toEqual({
    status: 400,
    serviceCode: '2215',
    serviceMessage: 'No such thing',
    requestId: 'req-1',
    retryAfterMs: null,
  });
  expect(error.header('X-Other')).toBe('value');
  expect(error.header('x-none')).toBeNull();
  expect(error.rawBody()).toBe(JSON.stringify(body));
});

test.each<[unknown]>([[['2301']], [{ code: '2301' }], ['2301 times'], ['23011234567'], [-2301], [23.01], [true]])(
  'a code of %j counts as none',
  async (code) => {
    const { client, sent } = clientOf(json(400, { code }), { clock: recordingClock() });

    const error = await rejection(client.links.get('ref-1'));

    expect(error).toMatchObject({ code: 'api', serviceCode: null });
    expect(sent).toHaveLength(1);
  },
);

const words = 'No such thing';

test.each<[object, string | null]>([
  [{ error: words, message: 'Bad request', result: 'None' }, words],
  [{ message: words, result: 'None' }, words],
  [{ result: words }, words],
  [{ error: '', message: words }, words],
  [{ error: { text: 'text' }, message: '', result: words }, words],
  [{ error: { text: 'text' }, result: {} }, null],
  [{ error: '' }, null],
])('the service’s own words in %j are %j', async (body, serviceMessage) => {
  const { client } = clientOf(json(400, body));

  const error = await rejection(client.links.get('ref-1'));

  expect((error as HostedApiError).serviceMessage).toBe(serviceMessage);
});

test('a service that stopped waiting is the timeout of an attempt', async () => {
  const { client } = clientOf(json(408), { maxRetries: 0 });

  const error = await rejection(client.links.get('ref-1'));

  expect(error).toMatchObject({ code: 'timeout', phase: 'attempt', timeoutMs: null, outcome: 'refused' });
});

// RFC 9110 §5.5. `Headers` that were not read off a socket cannot have any.
test('the blanks that Node’s fetch leaves behind a header are no part of its value', async () => {
  const headers = {
    'retry-after': '7 \t',
    'x-request-id': 'req-1 ',
    date: `${new Date(now + 3_600_000).toUTCString()} `,
  };
  // Only a rejected authentication says anything of the time.
  const server = await faultyServer(({ socket }) => socket.write(whole(401, '{}', headers)));
  onTestFinished(() => server.close());
  const { client, sent } = clientOf(() => fetch(server.origin), { maxRetries: 0 });

  const error = await rejection(client.links.get('ref-1'));
  await rejection(client.links.get('ref-1'));

  expect(error).toMatchObject({ retryAfterMs: 7_000, requestId: 'req-1' });
  // `Date` is exact to a second.
  expect(Math.abs(Date.parse(String(sent[1]?.body.timestamp)) - now - 3_600_000)).toBeLessThanOrEqual(1_000);
});

// Before a signature is looked at -------------------------------------------

test.each([
  ['unsigned', {}],
  ['signed with another key', { timestamp: isoNow, sec_key: sign(isoNow, 'another-key') }],
  ['signed with our key', signed({})],
])('jobs.status() rejects with HostedAuthenticationError on a 2305 that is %s', async (_what, signature) => {
  const { client } = clientOf(answered({ code: '2305', ...signature }));

  const error = await rejection(client.jobs.status(job), HostedAuthenticationError);

  expect(error).toMatchObject({ serviceCode: '2305', outcome: 'refused' });
});

// Signatures of job status --------------------------------------------------

const untrusted: readonly [string, object, string][] = [
  ['no signature', answered({ timestamp: isoNow }), 'missing'],
  ['a signature of null', answered({ timestamp: isoNow, signature: null }), 'missing'],
  ['an empty signature', answered({ timestamp: isoNow, sec_key: '', signature: '' }), 'missing'],
  ['a timestamp that is an object', answered({ timestamp: {}, signature: sign(isoNow) }), 'malformed'],
  ['a timestamp that is true', answered({ timestamp: true, signature: sign('true') }), 'malformed'],
  ['a fractional timestamp', answered({ timestamp: now + 0.5, signature: sign(String(now + 0.5)) }), 'malformed'],
  ['a timestamp beyond 2^53', answered({ timestamp: 2 ** 60, signature: sign(String(2 ** 60)) }), 'malformed'],
  ['a signature that is a number', answered({ timestamp: isoNow, signature: 7 }), 'malformed'],
  ['a signature that is 0', answered({ timestamp: isoNow, signature: 0 }), 'malformed'],
  ['a signature that is a list', answered({ timestamp: isoNow, signature: [sign(isoNow)] }), 'malformed'],
  ['a good sec_key beside a signature that is no text', { ...signed(answered({})), signature: 7 }, 'malformed'],
  ['a timestamp of a millisecond later', answered({ timestamp: iso(1), signature: sign(isoNow) }), 'mismatch'],
  ['a signature with another key', answered({ timestamp: isoNow, signature: sign(isoNow, 'another-key') }), 'mismatch'],
  [
    'a signature for another partner',
    answered({ timestamp: isoNow, signature: sign(isoNow, 'test-key', '086') }),
    'mismatch',
  ],
  ['a good sec_key beside a wrong signature', { ...signed(answered({})), signature: sign(iso(1)) }, 'mismatch'],
  [
    'a wrong sec_key beside a good signature',
    { ...signed(answered({}), { member: 'signature' }), sec_key: sign(iso(1)) },
    'mismatch',
  ],
  ['a legacy signature', answered({ timestamp: isoNow, signature: `c2lnbmF0dXJl|${'0'.repeat(64)}` }), 'mismatch'],
  [
    'text digits, which are not signed as ISO text',
    answered({ timestamp: String(now), signature: sign(isoNow) }),
    'mismatch',
  ],
  [
    'a forged timestamp that is stale as well',
    answered({ timestamp: iso(-400_000), signature: sign(isoNow) }),
    'mismatch',
  ],
  ['64 hex digits of something else', answered({ timestamp: isoNow, signature: 'ab'.repeat(32) }), 'mismatch'],
];

test.each(untrusted)('jobs.status() does not trust %s', async (_what, body, reason) => {
  const { client, sent } = clientOf(body);

  const error = await rejection(client.jobs.status(job), HostedSignatureError);

  expect(error).toMatchObject({ reason, outcome: 'answered', retryable: false });
  expect(sent).toHaveLength(1);
});

// Freshness -----------------------------------------------------------------

test.each<[offsetMs: number, maxResponseAgeMs: number | undefined, isTrusted: boolean]>([
  [-300_001, undefined, false],
  [300_001, undefined, false],
  [-31_536_000_000, undefined, false],
  [-300_000, undefined, true],
  [0, undefined, true],
  [300_000, undefined, true],
  [-1_000, 1_000, true],
  [-1_001, 1_000, false],
  [1_001, 1_000, false],
])('of a response of %i ms from now and a maxResponseAgeMs of %s, whether it is trusted is %s', async (...row) => {
  const [offsetMs, maxResponseAgeMs, isTrusted] = row;
  const answer = signed(answered({}), { timestamp: iso(offsetMs) });
  const { client } = clientOf(answer, maxResponseAgeMs === undefined ? {} : { maxResponseAgeMs });

  const end = await client.jobs.status(job).catch((error: unknown) => error);

  const message = expect.stringContaining('maxResponseAgeMs');
  const rejected = { code: 'signature', reason: 'stale', outcome: 'answered', message };
  expect(end).toMatchObject(isTrusted ? { state: 'succeeded' } : rejected);
});

test('maxResponseAgeMs of false accepts any age, and verifies all the same', async () => {
  const years = signed(answered({}), { timestamp: '2018-03-13T21:04:11.193Z' });
  const future = signed(answered({}), { timestamp: '2118-03-13T21:04:11.193Z' });
  const undated = signed(answered({}), { timestamp: 'once upon a time' });
  const forged = { ...years, timestamp: '2018-03-13T21:04:11.194Z' };
  const { client } = clientOf([years, future, undated, forged], { maxResponseAgeMs: false });

  const dates = [await client.jobs.status(job), await client.jobs.status(job), await client.jobs.status(job)];
  const error = await rejection(client.jobs.status(job));

  expect(dates.map(({ signedAt }) => signedAt)).toEqual([
    new Date('2018-03-13T21:04:11.193Z'),
    new Date('2118-03-13T21:04:11.193Z'),
    null,
  ]);
  expect(error).toMatchObject({ code: 'signature', reason: 'mismatch' });
});

// Signatures of links -------------------------------------------------------

test.each(linkOperations)(
  '$name trusts a response that is signed by the service, or not at all',
  async ({ answer, call }) => {
    const unsigned = { ...answer(), timestamp: iso(-400_000) };
    const reflected = ({ body }: SentRequest) => Response.json({ ...answer(), signature: body.signature });
    const inBoth = ({ body }: SentRequest) =>
      Response.json({ ...unsigned, signature: body.signature, sec_key: body.signature });
    // Its own signature that comes back is none of the service.
    const replies = [unsigned, signed(answer()), signed(answer(), { member: 'signature' }), reflected, inBoth];
    const { client } = clientOf(replies);

    for (const _ of replies) await expect(call(client)).resolves.toBeDefined();
  },
);

test.each(
  linkOperations.flatMap((operation) =>
    (
      [
        ['a wrong signature', { timestamp: isoNow, signature: sign(iso(1)) }, 'mismatch'],
        ['a wrong sec_key', { timestamp: isoNow, sec_key: sign(iso(1)) }, 'mismatch'],
        ['a signature and no timestamp', { signature: sign(iso(1)) }, 'malformed'],
        ['a signature that is a number', { timestamp: isoNow, signature: 7 }, 'malformed'],
        ['a stale signature', { timestamp: iso(-300_001), signature: sign(iso(-300_001)) }, 'stale'],
      ] as const
    ).map(([what, members, reason]) => ({ name: operation.name, what, operation, members, reason })),
  ),
)('$name does not trust $what where there is one', async ({ operation, members, reason }) => {
  const { client } = clientOf({ ...operation.answer(), ...members });

  const error = await rejection(operation.call(client), HostedSignatureError);

  expect(error).toMatchObject({ reason, outcome: 'answered' });
});

// About what was asked ------------------------------------------------------

const otherJob: readonly [string, object, string][] = [
  ['user_id', { user_id: 'user-2' }, 'user_id'],
  ['job_id', { job_id: 'job-2' }, 'job_id'],
  ['user_id in another case', { user_id: 'USER-1' }, 'user_id'],
  [
    'result.PartnerParams.user_id',
    { result: { PartnerParams: { user_id: 'user-2' } } },
    'result.PartnerParams.user_id',
  ],
  ['result.PartnerParams.job_id', { result: { PartnerParams: { job_id: 'job-2' } } }, 'result.PartnerParams.job_id'],
  ['a numeric user_id', { user_id: 1 }, 'user_id'],
];

test.each(otherJob)('jobs.status() rejects a response with another %s', async (_what, members, path) => {
  const { client, sent } = clientOf([signed(answered(members)), signed({ job_complete: false, ...members })]);

  const errors = [await rejection(client.jobs.status(job)), await rejection(client.jobs.status(job))];

  for (const error of errors) {
    expect(error).toBeInstanceOf(HostedResponseError);
    expect(error).toMatchObject({ code: 'response', reason: 'mismatch', outcome: 'answered', issues: [{ path }] });
  }
  expect(sent).toHaveLength(2);
});

test.each([201, 202, 203, 206, 299])(
  'jobs.status() rejects a response with HTTP status %i, however genuine',
  async (status) => {
    const respond = (record: object) => Response.json(signed(record), { status });
    const { client } = clientOf([respond(answered({})), respond({ job_complete: false })]);

    const errors = [await rejection(client.jobs.status(job)), await rejection(client.jobs.status(job))];

    for (const error of errors) {
      expect(error).toBeInstanceOf(HostedResponseError);
      expect(error).toMatchObject({
        reason: 'shape',
        status,
        issues: [{ path: '', message: 'must come with HTTP status 200' }],
      });
    }
  },
);

test('jobs.status() takes ids that are equal as text, and compares neither empty ones nor history', async () => {
  const query = { userId: '123', jobId: '0456' };
  const params = { user_id: '', job_id: '0456', job_type: 4 };
  const history = [{ ResultCode: '1210', PartnerParams: { user_id: 'somebody-else', job_id: 'another-job' } }];
  const body = answered({ user_id: 123, job_id: null, result: { PartnerParams: params }, history });
  const { client } = clientOf(signed(body));

  const status = await client.jobs.status(query);

  expect(status).toMatchObject({ state: 'succeeded', ...query });
});

const both = ['user_id', 'job_id'];

/** Ways in which the status of a job that succeeded does not name both ids, and which ones it lacks. */
const nameless: readonly [string, object, readonly string[]][] = [
  ['no id', {}, both],
  ['empty ids', { user_id: '', job_id: '', result: { PartnerParams: { user_id: '', job_id: '' } } }, both],
  ['null for ids', { user_id: null, job_id: null, result: { PartnerParams: { job_id: null } } }, both],
  ['its user alone', { user_id: job.userId, result: { PartnerParams: { user_id: job.userId } } }, ['job_id']],
  ['its job alone', { job_id: job.jobId, result: { PartnerParams: { job_id: job.jobId } } }, ['user_id']],
  ['ids in a result that is a string', { result: `user ${job.userId}, job ${job.jobId}` }, both],
  ['a list of partner params', { result: { PartnerParams: [] } }, both],
  ['ids in its history', { history: [{ PartnerParams: ids }] }, both],
  ['the service’s own id', { user_id: job.userId, result: { HostedJobID: job.jobId } }, ['job_id']],
  ['ids in fields of other names', { ...job, JOB_ID: job.jobId, USER_ID: job.userId, PartnerParams: ids }, both],
];

test.each(nameless)('jobs.status() rejects a success that has %s', async (_what, members, lacking) => {
  const record = { job_complete: true, job_success: true, code: '2302', ...members };
  const { client } = clientOf([signed(record), signed(record, { member: 'signature' })]);

  const errors = [await rejection(client.jobs.status(job)), await rejection(client.jobs.status(job))];

  for (const error of errors) {
    expect(error).toBeInstanceOf(HostedResponseError);
    const issues = lacking.map((path) => ({ path }));
    expect(error).toMatchObject({ reason: 'mismatch', outcome: 'answered', issues });
  }
});

test.each(nameless)('jobs.status() takes a job that failed or is pending, and has %s', async (_what, members) => {
  const failed = { job_complete: true, job_success: false, ...members };
  const pending = { job_complete: false, job_success: true, ...members };
  const { client } = clientOf([signed(failed), signed(pending)]);

  expect(await client.jobs.status(job)).toMatchObject({ state: 'failed', ...job });
  expect(await client.jobs.status(job)).toMatchObject({ state: 'pending', ...job });
});

test.each(nameless)('wire.namesJob of false takes a success that has %s', async (_what, members) => {
  const record = signed({ job_complete: true, job_success: true, ...members });
  const { client } = clientOf(record, { wire: { namesJob: false } });

  expect(await client.jobs.status(job)).toMatchObject({ state: 'succeeded', ...job });
});

test.each(both)('wire.namesJob of false still rejects the success of another %s', async (path) => {
  const { client } = clientOf(signed(answered({ [path]: 'other' })), { wire: { namesJob: false } });

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ code: 'response', reason: 'mismatch', issues: [{ path }] });
});

test('jobs.status() does not take 456 for the job 0456', async () => {
  const { client } = clientOf(signed(answered({ user_id: 123, job_id: 456 })));

  const error = await rejection(client.jobs.status({ userId: '123', jobId: '0456' }));

  expect(error).toMatchObject({ code: 'response', reason: 'mismatch', issues: [{ path: 'job_id' }] });
});

const otherLink: readonly [string, object, string][] = [
  ['ref_id', { ref_id: 'ref-2' }, 'ref_id'],
  ['link_id', { ref_id: undefined, link_id: 'ref-2' }, 'link_id'],
  ['link_id beside the right ref_id', { link_id: 'ref-2' }, 'link_id'],
  ['ref_id beside the right link_id', { ref_id: 'ref-2', link_id: 'ref-1' }, 'ref_id'],
];

test.each(
  otherLink.flatMap(([what, members, path]) =>
    linkOperations
      .filter(({ name }) => name !== 'links.create' && name !== 'links.list')
      .map((operation) => ({ name: operation.name, what, members, path, operation })),
  ),
)('$name rejects a response with another $what', async ({ operation, members, path }) => {
  const { client } = clientOf({ ...operation.answer(), ...members });

  const error = await rejection(operation.call(client), HostedResponseError);

  const issues = [{ path, message: 'must be the id of the requested link' }];
  expect(error).toMatchObject({ reason: 'mismatch', outcome: 'answered', issues });
});

const disabled = (disabled_at: string) => ({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1', disabled_at });

test.each<[string, object, 'yes' | 'disabled_at' | 'ref_id']>([
  ['a date of now', disabled(isoNow), 'yes'],
  ['a date of years ago', disabled('1999-12-31T23:59:59Z'), 'yes'],
  ['a date of a day ahead', disabled(iso(86_400_000)), 'yes'],
  ['a date of a day and a millisecond ahead', disabled(iso(86_400_001)), 'disabled_at'],
  ['a date of years ahead', disabled('2099-01-02T03:04:05Z'), 'disabled_at'],
  ['tomorrow, without a time', disabled('2026-01-03'), 'yes'],
  ['the day after tomorrow, without a time', disabled('2026-01-04'), 'disabled_at'],
  ['2 January or 1 February', disabled('02/01/2026'), 'yes'],
  ['2 March or 3 February', disabled('03/02/2026'), 'disabled_at'],
  ['now, as a Unix timestamp', disabled(String(Math.floor(now / 1_000))), 'yes'],
  ['years ahead, as a Unix timestamp', disabled('4102444800000'), 'disabled_at'],
  ['no id', { ...disabled(isoNow), ref_id: undefined }, 'ref_id'],
  ['empty ids', { ...disabled(isoNow), ref_id: '', link_id: '' }, 'ref_id'],
  ['another id', { ...disabled(isoNow), ref_id: 'ref-2' }, 'ref_id'],
  ['its link_id alone', { ...disabled(isoNow), ref_id: undefined, link_id: 'ref-1' }, 'yes'],
])('a disable is confirmed by a response with %s, or its field is named', async (_what, answer, path) => {
  const { client } = clientOf(answer);

  const end = await client.links.disable('ref-1').catch((error: unknown) => error);

  const rejected = { code: 'response', reason: 'mismatch', mayHaveActed: true, issues: [{ path }] };
  expect(end).toMatchObject(path === 'yes' ? { state: 'disabled' } : rejected);
});

// Bodies --------------------------------------------------------------------

const okLink = JSON.stringify({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1', name: 'Zażółć' });
const utf8 = (text: string) => new TextEncoder().encode(text);
const bytes = (...parts: readonly Uint8Array[]) => new Response(Buffer.concat(parts));
const byteOrderMark = Uint8Array.of(0xef, 0xbb, 0xbf);

/** A link whose extra member brings the whole answer to so many levels of nesting. */
const nested = (levels: number) => `${okLink.slice(0, -1)},"more":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;

test.each<[string, Reply]>([
  ['begin with one byte order mark', bytes(byteOrderMark, utf8(okLink))],
  ['nest 64 levels deep', new Response(nested(64))],
])('a response may %s', async (_what, reply) => {
  const { client } = clientOf(reply);

  expect((await client.links.get('ref-1')).name).toBe('Zażółć');
});

test.each<[string, Reply]>([
  ['begins with two byte order marks', bytes(byteOrderMark, byteOrderMark, utf8(okLink))],
  ['nests 65 levels deep', new Response(nested(65))],
  ['nests 100,000 levels deep', new Response(nested(100_000))],
  ['has a byte that is no UTF-8', bytes(utf8('{"ref_id":"ref-1","name":"'), Uint8Array.of(0xff), utf8('"}'))],
  ['has an overlong form', bytes(utf8('{"ref_id":"ref-1","name":"'), Uint8Array.of(0xc0, 0xaf), utf8('"}'))],
  ['ends within a character', bytes(utf8(okLink.slice(0, -2)), Uint8Array.of(0xc5))],
  ['is UTF-16', new Response(Buffer.from(`\ufeff${okLink}`, 'utf16le'))],
])('links.get() rejects with HostedResponseError when the response %s', async (_what, reply) => {
  const { client, sent } = clientOf(reply);

  const error = await rejection(client.links.get('ref-1'), HostedResponseError);

  expect(error).toMatchObject({ reason: 'malformed', outcome: 'answered', status: 200 });
  expect(sent).toHaveLength(1);
});

test('jobs.status() does not trust a signed response with a byte that is no UTF-8', async () => {
  const [before, after] = JSON.stringify(signed(answered({ result: { ResultText: '@' } }))).split('@');
  const { client } = clientOf(bytes(utf8(before ?? ''), Uint8Array.of(0xe9), utf8(after ?? '')));

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ code: 'response', reason: 'malformed' });
});

test('a response of maxResponseBytes is read, and one of a byte more is too large', async () => {
  const maxResponseBytes = utf8(okLink).length;
  const { client, sent } = clientOf([bytes(utf8(okLink)), bytes(utf8(okLink), utf8(' '))], { maxResponseBytes });

  const link = await client.links.get('ref-1');
  const error = await rejection(client.links.get('ref-1'), HostedResponseError);

  expect(link.refId).toBe('ref-1');
  expect(error).toMatchObject({ reason: 'too_large', outcome: 'answered' });
  expect((error as Error).message).toContain('maxResponseBytes');
  expect(sent).toHaveLength(2);
});

test('a response without an end is given up on, whatever its length header says', async () => {
  let pulled = 0;
  let cancelled = false;
  const endless = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull: (controller) => {
          pulled += 1;
          controller.enqueue(new Uint8Array(1_024));
        },
        cancel: () => {
          cancelled = true;
        },
      }),
      { headers: { 'content-length': '10' } },
    );
  const { client } = clientOf(endless, { maxResponseBytes: 10_000 });

  const error = await rejection(client.links.get('ref-1'));

  expect(error).toMatchObject({ code: 'response', reason: 'too_large' });
  expect(pulled).toBeLessThan(15);
  expect(cancelled).toBe(true);
});

test('the body of an error is read up to 64 KiB, and the error stays what it is', async () => {
  const { client } = clientOf(new Response('x'.repeat(1_000_000), { status: 404 }));

  const error = await rejection(client.links.get('ref-1'), HostedNotFoundError);

  expect(error.rawBody().length).toBeLessThanOrEqual(64 * 1024);
});

// Redirects -----------------------------------------------------------------

test.each(
  operations.flatMap((operation) =>
    [300, 301, 302, 303, 307, 308, 399].map((status) => ({ name: operation.name, status, operation })),
  ),
)('$name rejects on a redirect with status $status, and sends nothing else', async ({ operation, status }) => {
  const headers = { location: 'https://elsewhere.test/' };
  const { client, sent } = clientOf(new Response('not read', { status, headers }), { clock: recordingClock() });

  const error = await rejection(operation.call(client), HostedResponseError);

  expect(error).toMatchObject({ reason: 'redirect', status, outcome: 'answered' });
  expect(error.rawBody()).toBe('');
  expect(sent.map(({ init }) => init.redirect)).toEqual(['manual']);
});

/** A response as a fetch hands it over that followed a redirect, or that may not show one. */
function dressed(response: Response, members: PropertyDescriptorMap): Reply {
  return () => Object.defineProperties(response.clone(), members);
}

test.each<[string, Reply]>([
  ['followed to a good answer', dressed(new Response(okLink), { redirected: { value: true } })],
  ['followed to a 503', dressed(json(503), { redirected: { value: true } })],
  ['followed to a 404', dressed(json(404), { redirected: { value: true } })],
  ['hidden as a browser does', dressed(json(200), { type: { value: 'opaqueredirect' }, status: { value: 0 } })],
])('links.get() rejects on a redirect that was %s', async (_what, reply) => {
  const { client, sent } = clientOf(reply, { clock: recordingClock() });

  const error = await rejection(client.links.get('ref-1'), HostedResponseError);

  expect(error).toMatchObject({ reason: 'redirect' });
  expect(sent).toHaveLength(1);
});
