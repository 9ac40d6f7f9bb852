/** Events as the platform's own documents show them, with callbacks of the mock service in them. */

import { HostedClient, HostedConfigError } from 'hosted-client';
import { lambdaHandler } from 'hosted-client/node';
import { createMockService } from 'hosted-client/testing';
import { beforeEach, describe, expect, test } from 'vitest';

const service = createMockService();
const { sandbox } = service;
const client = new HostedClient({ ...sandbox.clientOptions, fetch: service.fetch });
const plain = { 'content-type': 'text/plain' };
const seen: string[] = [];
const failures: string[] = [];

const handle = lambdaHandler(
  client.callbacks.handler({
    onEvent: ({ jobId }) => void seen.push(jobId),
    onError: (_error, { phase, status }) => void failures.push(`${phase} ${status}`),
  }),
);

beforeEach(() => {
  seen.length = 0;
  failures.length = 0;
});

type Carry = (body: string | undefined, method?: string) => Record<string, unknown>;

/** Each kind of event, as AWS documents it. */
const kinds: Readonly<Record<string, Carry>> = {
  'an HTTP API, payload 2.0': (body, method = 'POST') => ({
    version: '2.0',
    routeKey: 'POST /callbacks',
    rawPath: '/callbacks',
    rawQueryString: '',
    headers: { 'content-type': 'application/json', 'content-length': '12345', host: 'api.test', via: 'HTTP/1.1' },
    requestContext: {
      accountId: '123456789012',
      http: { method, path: '/callbacks', protocol: 'HTTP/1.1', sourceIp: '203.0.113.7', userAgent: 'agent' },
      stage: '$default',
      timeEpoch: 1583348638390,
    },
    ...(body !== undefined && { body }),
    isBase64Encoded: false,
  }),
  'an HTTP API, payload 1.0': (body, method = 'POST') => ({
    version: '1.0',
    resource: '/callbacks',
    path: '/callbacks',
    httpMethod: method,
    headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': '203.0.113.7' },
    multiValueHeaders: { 'Content-Type': ['application/json'], 'X-Forwarded-For': ['203.0.113.7', '10.0.0.1'] },
    queryStringParameters: null,
    requestContext: { httpMethod: method, path: '/callbacks', stage: '$default' },
    body: body ?? null,
    isBase64Encoded: false,
  }),
  'a function URL': (body, method = 'POST') => ({
    version: '2.0',
    routeKey: '$default',
    rawPath: '/',
    rawQueryString: '',
    headers: { 'x-amzn-trace-id': 'Root=1-5f84c7a9-0e5b1e1e1e1e1e1e1e1e1e1e', 'content-type': 'application/json' },
    requestContext: { domainName: 'x.lambda-url.us-west-2.on.aws', http: { method, path: '/' } },
    ...(body !== undefined && { body }),
    isBase64Encoded: false,
  }),
  'a load balancer': (body, method = 'POST') => ({
    requestContext: { elb: { targetGroupArn: 'arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/a/b' } },
    httpMethod: method,
    path: '/callbacks',
    queryStringParameters: {},
    multiValueHeaders: { 'content-type': ['text/plain'], 'x-forwarded-proto': ['https'] },
    body: body ?? '',
    isBase64Encoded: false,
  }),
};

async function callbackText(options: Parameters<typeof sandbox.jobs.callback>[1] = {}) {
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  return { job, text: await (await sandbox.jobs.callback(job, options)).text() };
}

describe.each(Object.entries(kinds))('lambdaHandler() behind %s', (_kind, carry) => {
  test.each([0, 1_500_000])('accepts a callback with %d bytes of images, as text and as base64', async (padBytes) => {
    const first = await callbackText({ padBytes });
    const second = await callbackText({ padBytes });

    const asText = await handle(carry(first.text));
    const encoded = Buffer.from(second.text).toString('base64');
    const asBase64 = await handle({ ...carry(encoded), isBase64Encoded: true });

    expect([asText, asBase64]).toEqual(Array(2).fill({ statusCode: 200, headers: plain, body: 'accepted' }));
    expect(seen).toEqual([first.job.jobId, second.job.jobId]);
    expect(failures).toEqual([]);
  });

  test('refuses a forged callback, a missing body, and anything but POST', async () => {
    const { text } = await callbackText({ variant: 'forged' });

    const ends = [await handle(carry(text)), await handle(carry(undefined)), await handle(carry(undefined, 'GET'))];

    expect(ends.map(({ statusCode }) => statusCode)).toEqual([401, 400, 405]);
    expect(ends[2]?.headers).toEqual({ ...plain, allow: 'POST' });
    expect(failures).toEqual(['verify 401', 'read 400', 'read 405']);
  });
});

test('a body that a middleware parsed is accepted', async () => {
  const { job, text } = await callbackText();

  const { statusCode } = await handle({ ...kinds['an HTTP API, payload 2.0']?.(''), body: JSON.parse(text) });

  expect([statusCode, seen]).toEqual([200, [job.jobId]]);
});

test('base64 is decoded where a middleware wrote the flag as a string', async () => {
  const { job, text } = await callbackText();

  const { statusCode } = await handle({ httpMethod: 'POST', body: btoa(text), isBase64Encoded: 'true' });

  expect([statusCode, seen]).toEqual([200, [job.jobId]]);
});

test.each([
  ['base64 that is none', { httpMethod: 'POST', body: '{"a": "%"}', isBase64Encoded: true }, 401],
  ['a body that JSON cannot carry', { httpMethod: 'POST', body: { a: 1n } }, 503],
  ['an event of a test', { key1: 'value1' }, 405],
  ['headers of the wrong kind', { httpMethod: 'POST', headers: 'none', multiValueHeaders: [1], body: 'x' }, 400],
  ['no event', null, 405],
  [
    'an event that throws as it is read',
    {
      httpMethod: 'POST',
      get body() {
        throw new Error('secret');
      },
    },
    503,
  ],
])('%s ends without a throw, and is reported', async (_what, event, statusCode) => {
  expect((await handle(event as never)).statusCode).toBe(statusCode);
  expect(failures).toEqual([expect.stringMatching(`${statusCode}$`)]);
});

test('asks for a redelivery where confirming failed', async () => {
  const { text } = await callbackText();
  sandbox.failNext('jobs.status', { kind: 'status', status: 503 });

  const { statusCode, headers } = await handle(kinds['a function URL']?.(text) ?? {});

  expect([statusCode, headers['retry-after']]).toEqual([503, '30']);
});

test('responds with 500 where the handler rejects', async () => {
  const failing = lambdaHandler(() => Promise.reject(new Error('secret')));

  expect(await failing({ httpMethod: 'POST', body: '{}' })).toEqual({ statusCode: 500, headers: {}, body: '' });
});

test('something else than a handler is refused when the adapter is made', () => {
  expect(() => lambdaHandler(undefined as never)).toThrow(HostedConfigError);
});
