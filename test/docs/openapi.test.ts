/**
 * docs/openapi.yaml: linted, its examples checked, and held against what the client really sends and the mock
 * service really sends back, by a JSON Schema validator that knows nothing of this package.
 */

import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createConfig, lint } from '@redocly/openapi-core';
import { HostedClient, type HostedClientOptions, HostedError, type OperationName } from 'hosted-client';
import { createMockService, type MockServiceOptions } from 'hosted-client/testing';
import { beforeEach, expect, test } from 'vitest';
import { environments } from '../../src/options.js';
import { routes } from '../../src/protocol/routes.js';
import * as payloads from '../fixtures/real-payloads.js';
import * as records from '../fixtures/records.js';
import {
  check,
  collectExamples,
  description,
  descriptionPath,
  type Exchange,
  findCallbackProblems,
  findRequestProblems,
  findResponseProblems,
  findSchemaProblem,
  operationOf,
  operations,
  recordingFetch,
} from '../support/api-description.js';
import { newLink, partnerOf, send, stillClock, wireJob } from '../testing/partner.js';

const examples = collectExamples();
const schemas = Object.keys(description.components.schemas).map((name) => `#/components/schemas/${name}`);
const broken = [...schemas, ...examples.map(({ pointer }) => pointer)].flatMap(findSchemaProblem);

test('every schema of docs/openapi.yaml compiles', () => {
  expect(broken).toEqual([]);
});

// They would only repeat what the test above says.
beforeEach(({ task, skip }) => skip(broken.length > 0 && !task.name.endsWith('compiles'), 'a schema does not compile'));

test('docs/openapi.yaml has no finding of the linter, not even a warning', async () => {
  const problems = await lint({
    ref: descriptionPath,
    config: await createConfig({ extends: ['recommended-strict'] }),
  });

  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([]);
});

test('docs/openapi.yaml has the operations of the table of routes, and no more', () => {
  const expected = Object.values(routes).map(
    ({ method, path }) => `${method} ${path.replace('{brand}', 'hosted').replace('{list}', 'list')}`,
  );

  expect(operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`).sort()).toEqual(expected.sort());
  expect(Object.keys(description.webhooks)).toEqual(['result']);
});

test('docs/openapi.yaml has the version of the package', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };

  expect(description.info.version).toBe(version);
});

test('every server is an example under .test, with a variable for its host', () => {
  const urls = description.servers.map(({ url, variables }: { url: string; variables: Record<string, object> }) =>
    url.replaceAll(/\{(\w+)\}/g, (_all, name) => (variables[name] as { default: string }).default),
  );

  expect(description.servers.every(({ url }: { url: string }) => url.includes('{'))).toBe(true);
  expect(urls).toEqual(environments.map((name) => `https://${name}.hosted.test`));
});

// By the field tables of the protocol. Objects are open, so that no response would show that a field is missing here.
test.each([
  ['UpdateLinkRequest', 'partner_id timestamp signature is_disabled id_types'],
  ['GetLinkRequest', 'partner_id timestamp signature'],
  ['ListLinksRequest', 'partner_id timestamp signature page'],
  ['JobStatusRequest', 'partner_id timestamp sec_key user_id job_id image_links history'],
  ['JobStatusRequestWithSignature', 'partner_id timestamp signature user_id job_id image_links history'],
  ['IdType', 'country id_type verification_method'],
  ['CreatedLink', 'link ref_id'],
  ['UpdatedLink', 'link_url ref_id id_types disabled_at'],
  ['PageMeta', 'currentPage limit totalCount totalPages'],
])('%s has the fields of the protocol', (name, fields) => {
  expect(Object.keys(description.components.schemas[name].properties)).toEqual(fields.split(' '));
});

test.each([
  ['2301', 'System error'],
  ['2302', 'Success'],
  ['2303', 'Invalid JSON'],
  ['2304', 'Job not found'],
  ['2305', 'Invalid `sec_key`'],
  ['2307', 'The enrolled user is disabled'],
  ['2310', 'No enrolled user found'],
  ['2313', 'Missing required parameters'],
])('docs/openapi.yaml explains code %s', (code, meaning) => {
  expect(description.info.description).toContain(`| ${code} | ${meaning}`);
});

// Examples

test.each(examples.map(({ name, ...example }) => [name, example] as const))('the example %s', (_name, example) => {
  const { value, pointer } = example;

  expect(check(value, pointer)).toEqual([]);
});

/** By node:crypto, with the key and the partner that the description names. */
function signatureOf(timestamp: string): string {
  return createHmac('sha256', 'test-key').update(`${timestamp}085sid_request`).digest('base64');
}

test('every signature in the examples is that of its timestamp', () => {
  const signed = examples.filter(({ value }) => value.timestamp !== undefined);

  expect(signed.length).toBeGreaterThan(12);
  for (const { name, value } of signed) {
    expect([name, value.sec_key ?? value.signature]).toEqual([name, signatureOf(value.timestamp)]);
  }
});

test('every signature that the description computes is right', () => {
  const rows = [...description.info.description.matchAll(/^\| `(2026\S+)` \| `(\S+)` \|$/gm)];

  expect(rows).toHaveLength(3);
  for (const [, timestamp, signature] of rows) expect(signature).toBe(signatureOf(timestamp));
});

// The client, and the mock service

const links = {
  least: {
    companyName: 'Example Partner',
    dataPrivacyPolicyUrl: 'https://partner.example/privacy',
    callbackUrl: 'https://partner.example/callbacks',
  },
  withoutCallback: {
    companyName: 'Example Partner',
    dataPrivacyPolicyUrl: new URL('HTTPS://partner.example/privacy?of=ä'),
    callbackUrl: null,
  },
  full: {
    name: 'Onboarding',
    companyName: 'Example Partner',
    dataPrivacyPolicyUrl: 'https://partner.example/privacy',
    callbackUrl: 'https://partner.example/callbacks',
    logoUrl: 'https://partner.example/logo.svg',
    idTypes: [
      { country: 'NG', idType: 'BVN', verificationMethod: 'biometric_kyc' },
      { country: 'XK', idType: '', verificationMethod: 'enhanced_kyc' },
    ],
    isSingleUse: true,
    userId: 'user-4711',
    expiresAt: new Date('2026-04-01T08:00:00Z'),
    extra: { redirect_url: 'https://partner.example/done', partner_params: { branch: 'north' } },
  },
} as const;

/** What was said between a client and the service, and the bodies of callbacks. */
interface Conversation {
  readonly exchanges: readonly Exchange[];
  readonly callbacks: readonly string[];
}

/** Calls every operation with whatever it can be given, for jobs in every state. */
async function converse(
  options: MockServiceOptions,
  clientOptions: Partial<HostedClientOptions> = {},
): Promise<Conversation> {
  const service = createMockService({ clock: stillClock, pageSize: 2, ...options });
  const exchanges: Exchange[] = [];
  const callbacks: string[] = [];
  const { sandbox } = service;
  const fetch = recordingFetch(service.fetch, exchanges);
  const client = new HostedClient({
    ...sandbox.clientOptions,
    ...clientOptions,
    fetch,
    maxRetries: 0,
  } as HostedClientOptions);

  const { refId } = await client.links.create(links.full);
  // Beside the link for a single use, which takes one job.
  const { refId: openRefId } = await client.links.create(links.least);
  await client.links.create(links.withoutCallback);
  await client.links.create(payloads.linkOfManyIdTypes);
  await client.links.update(refId, { idTypes: links.full.idTypes });
  await client.links.update(refId, { isDisabled: false, idTypes: [] });
  sandbox.links.seed(3);

  const pending = sandbox.jobs.start({ linkRefId: refId });
  const reviewed = sandbox.jobs.start();
  sandbox.jobs.report(reviewed, { resultCode: '0814', resultText: 'Provisional Enroll - Under Review' });
  const succeeded = sandbox.jobs.start({ linkRefId: openRefId });
  sandbox.jobs.report(succeeded, {
    resultCode: '1012',
    resultText: 'ID Number Validated',
    resultType: 'ID Verification',
    final: true,
  });
  sandbox.jobs.complete(succeeded, 'approved');
  const failed = sandbox.jobs.start({ linkRefId: openRefId });
  sandbox.jobs.complete(failed, 'rejected');

  const states: string[] = [];
  for (const job of [pending, reviewed, succeeded, failed]) {
    const { state } = await client.jobs.status({ ...job, imageLinks: true, history: true });
    await client.jobs.status(job);
    states.push(state);
  }
  expect(states).toEqual(['pending', 'pending', 'succeeded', 'failed']);

  await client.links.get(refId);
  await client.links.disable(refId);
  await client.links.get(refId);
  expect(await client.links.list().toArray({ limit: 100 })).toHaveLength(7);

  const genuine = [
    sandbox.jobs.callback(reviewed),
    sandbox.jobs.callback(succeeded, { entry: 0 }),
    sandbox.jobs.callback(succeeded, { padBytes: 1_500_000 }),
    sandbox.jobs.callback(failed),
  ];
  for (const callback of await Promise.all(genuine)) callbacks.push(await callback.text());
  return { exchanges, callbacks };
}

function problemsIn({ exchanges, callbacks }: Conversation): readonly unknown[] {
  return [
    ...exchanges.flatMap((exchange) => [
      ...findRequestProblems(exchange).map((problem) => ({ problem, request: exchange.request })),
      ...findResponseProblems(exchange).map((problem) => ({ problem, response: exchange.response })),
    ]),
    ...callbacks.flatMap((callback) => findCallbackProblems(callback)),
  ];
}

const dialects: readonly MockServiceOptions[] = [
  { spelling: 'table' },
  { spelling: 'sample' },
  { spelling: 'table', scheme: 'ed25519' },
  { spelling: 'sample', scheme: 'ed25519' },
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((seed) => ({ spelling: 'random', seed }) as const),
];

test.each(dialects)('what client and service say fits the description: %o', async (dialect) => {
  const conversation = await converse(dialect);

  expect(problemsIn(conversation)).toEqual([]);
  // Seven links on pages of two.
  expect(conversation.exchanges.filter(({ path }) => path === '/v1/hosted_links/list')).toHaveLength(4);
  expect(conversation.callbacks).toHaveLength(4);
});

test('client and service say something in every operation of the description', async () => {
  const { exchanges } = await converse({});

  expect(new Set(exchanges.map((exchange) => operationOf(exchange)?.id))).toEqual(
    new Set(operations.map(({ id }) => id)),
  );
});

test.each([
  { jobSignatureMember: 'signature' },
  { jobTimestampFormat: 'epoch-ms', jobFlags: 'string' },
  { jobTimestampFormat: 'epoch-s', timestampFormat: 'epoch-s' },
  { timestampFormat: 'epoch-ms', firstPage: 0 },
] as const)('requests fit the description with the other guesses, too: %o', async (wire) => {
  expect(problemsIn(await converse({ wire }))).toEqual([]);
});

// Errors

/** Fails calls in every way the service can fail them; gives what was said. */
async function fail(options: MockServiceOptions): Promise<readonly Exchange[]> {
  const service = createMockService({ clock: stillClock, ...options });
  const exchanges: Exchange[] = [];
  const fetch = recordingFetch(service.fetch, exchanges);
  const { sandbox } = service;
  const client = new HostedClient({ ...sandbox.clientOptions, fetch, maxRetries: 0 });
  const stranger = new HostedClient({ ...sandbox.clientOptions, apiKey: 'another-key', fetch, maxRetries: 0 });
  const job = sandbox.jobs.start();
  const { refId } = await client.links.create(links.least);
  const callsOf = ({ links: { create, update, get, list }, jobs }: HostedClient) =>
    ({
      'links.create': () => create(links.least),
      'links.update': () => update(refId, { isDisabled: true }),
      'links.get': () => get(refId),
      'links.list': () => list(),
      'jobs.status': () => jobs.status(job),
    }) satisfies Record<OperationName, () => PromiseLike<unknown>>;
  exchanges.length = 0;

  const unfortunate: (() => PromiseLike<unknown>)[] = [
    ...Object.values(callsOf(stranger)),
    () => client.links.get('unknown'),
    () => client.links.update('unknown', { isDisabled: true }),
    () => client.jobs.status({ userId: 'nobody', jobId: 'unknown' }),
  ];
  for (const call of unfortunate) await expect(call()).rejects.toBeInstanceOf(HostedError);

  const calls = Object.entries(callsOf(client)) as [OperationName, () => PromiseLike<unknown>][];
  for (const [operation, call] of calls) {
    for (const fault of [
      ...[400, 401, 403, 404, 408, 409, 422, 500, 502, 503, 504].map((status) => ({ status })),
      { status: 429, retryAfter: '30' },
      { status: 429, body: { error: 'The ID number is blocked', code: '2222' } },
      { status: 400, body: { message: 'Invalid request', code: 2215 } },
      { status: 502, body: '<!doctype html><title>502 Bad Gateway</title>' },
    ]) {
      sandbox.failNext(operation, { kind: 'status', ...fault });
      await expect(call()).rejects.toBeInstanceOf(HostedError);
    }
  }

  const partner = partnerOf({ ...service, fetch });
  await partner.create({ ...newLink, company_name: undefined });
  await partner.update(refId, { id_types: 'BVN' });
  await partner.list({ page: -1 });
  await partner.status({ ...wireJob(job), job_id: undefined });
  await send({ ...service, fetch }, 'POST', `${sandbox.baseUrl}/v1/job_status`, 'no JSON');
  await send({ ...service, fetch }, 'POST', `${sandbox.baseUrl}/v1/hosted_links`, '[]');
  return exchanges;
}

test.each(['table', 'sample', 'random'] as const)(
  'every error of the service fits the description: %s',
  async (spelling) => {
    const exchanges = await fail({ spelling });

    expect(exchanges.flatMap((exchange) => findResponseProblems(exchange))).toEqual([]);
    const codes = exchanges.map(({ response }) => /"code":"?(\d+)/.exec(response)?.[1]);
    expect(new Set(codes)).toEqual(
      new Set([undefined, '2201', '2203', '2205', '2213', '2215', '2222', '2301', '2303', '2304', '2305', '2313']),
    );
    // Those that no client of ours would send.
    const misshapen = exchanges.filter((exchange) => findRequestProblems(exchange).length > 0);
    expect(misshapen.map(({ request }) => request)).toEqual(exchanges.slice(-6).map(({ request }) => request));
  },
);

// Real payloads, and records by the protocol's tables

const signedNow = { timestamp: '2026-01-02T03:04:06.012Z', signature: signatureOf('2026-01-02T03:04:06.012Z') };

test.each(
  Object.entries({
    finishedJob: { ...payloads.finishedJob, ...payloads.publishedSignature },
    textResult: { job_complete: false, result: payloads.textResult, ...signedNow },
    pendingWithDigest: payloads.pendingWithDigest,
    pendingMinimal: payloads.pendingMinimal,
    finishedWithoutSuccess: { ...payloads.finishedWithoutSuccess, ...signedNow },
    jobWithActions: payloads.jobWithActions,
    selfieResult: { job_complete: true, job_success: true, result: payloads.selfieResult, ...signedNow },
    jobInTableSpelling: { ...records.jobInTableSpelling, ...signedNow },
    jobInSampleSpelling: { ...records.jobInSampleSpelling, ...signedNow },
  }),
)('a real job status fits the description: %s', (_name, body) => {
  expect(check(body, '#/components/schemas/JobStatus')).toEqual([]);
});

test.each(
  Object.entries({
    biometricKycResult: payloads.biometricKycResult,
    documentResult: payloads.documentResult,
    idVerificationOfNumericTime: payloads.idVerificationOfNumericTime,
    idVerificationWithoutDates: payloads.idVerificationWithoutDates,
    enrolledCallback: payloads.enrolledCallback,
    documentCallback: payloads.documentCallback,
  }),
)('a real callback fits the description: %s', (_name, body) => {
  expect(findCallbackProblems(JSON.stringify(body))).toEqual([]);
});

test('real links fit the description', () => {
  expect(check(payloads.acceptedLink, '#/components/schemas/CreatedLink')).toEqual([]);
  expect(check(payloads.createdLink, '#/components/schemas/CreatedLink')).toEqual([]);
  expect(check(records.linkInTableSpelling, '#/components/schemas/Link')).toEqual([]);
  expect(check(records.linkInSampleSpelling, '#/components/schemas/Link')).toEqual([]);
});

// What does not fit

const request = {
  partner_id: '085',
  timestamp: '2026-01-02T03:04:05.678Z',
  signature: signatureOf('2026-01-02T03:04:05.678Z'),
};
const { signature: sec_key, ...unsigned } = request;
const idType = { country: 'NG', id_type: 'BVN', verification_method: 'biometric_kyc' };

const requests = {
  'POST /v1/hosted_links': { ...request, ...newLink },
  'PUT /v1/hosted_links/abcd1234': { ...request, is_disabled: true },
  'POST /v1/hosted_links/abcd1234': request,
  'POST /v1/hosted_links/list': request,
  'POST /v1/job_status': { ...unsigned, sec_key, user_id: 'user-4711', job_id: 'job-0815' },
};

test.each([
  ['POST /v1/hosted_links', "must have required property 'signature'", { signature: undefined }],
  ['POST /v1/hosted_links', "must have required property 'timestamp'", { timestamp: undefined }],
  ['POST /v1/hosted_links', '/partner_id must be string', { partner_id: 85 }],
  ['POST /v1/hosted_links', '/signature must match pattern', { signature: 'f'.repeat(64) }],
  ['POST /v1/hosted_links', '/company_name must NOT have fewer than 1', { company_name: '' }],
  ['POST /v1/hosted_links', '/callback_url must match pattern', { callback_url: 'javascript:alert(1)' }],
  ['POST /v1/hosted_links', '/callback_url must be string', { callback_url: null }],
  ['POST /v1/hosted_links', '/is_single_use must be boolean', { is_single_use: 'true' }],
  ['POST /v1/hosted_links', '/expires_at must match format "date-time"', { expires_at: '1 April' }],
  ['POST /v1/hosted_links', '/id_types must be array', { id_types: idType }],
  ['POST /v1/hosted_links', '/id_types/0/country must match', { id_types: [{ ...idType, country: 'Nigeria' }] }],
  [
    'POST /v1/hosted_links',
    '/id_types/0/verification_method must be equal to one of',
    { id_types: [{ ...idType, verification_method: 'guess' }] },
  ],
  ['PUT /v1/hosted_links/abcd1234', '/is_disabled must be boolean', { is_disabled: 'yes' }],
  ['POST /v1/hosted_links/abcd1234', "must have required property 'signature'", { signature: undefined }],
  ['POST /v1/hosted_links/list', '/page must be integer', { page: '2' }],
  ['POST /v1/hosted_links/list', '/page must be >= 0', { page: -1 }],
  ['POST /v1/job_status', "must have required property 'sec_key'", { sec_key: undefined }],
  ['POST /v1/job_status', "must have required property 'job_id'", { job_id: undefined }],
  ['POST /v1/job_status', '/history must be boolean', { history: 'yes' }],
] as const)('a damaged request does not fit: %s %s', (call, problem, damage) => {
  const [method = '', path = ''] = call.split(' ');
  const problemsOf = (body: object) => findRequestProblems({ method, path, request: JSON.stringify(body) });

  expect(problemsOf(requests[call])).toEqual([]);
  expect(problemsOf({ ...requests[call], ...damage }).join('\n')).toContain(problem);
});

const bodies = {
  JobStatus: { ...signedNow, ...records.jobInTableSpelling },
  CreatedLink: payloads.createdLink,
  UpdatedLink: { link_url: records.linkUrl, ref_id: records.linkRefId, id_types: [], disabled_at: null },
  Link: records.linkInTableSpelling,
  LinkPage: {
    links: [records.linkInTableSpelling],
    meta: { currentPage: 1, limit: 20, totalCount: 1, totalPages: 1 },
  },
  Error: { error: 'Invalid signature', code: '2205' },
  Callback: payloads.documentCallback,
};

test.each([
  ['JobStatus', "must have required property 'job_complete'", { job_complete: undefined }],
  ['JobStatus', "must have required property 'timestamp'", { timestamp: undefined }],
  ['JobStatus', '/job_complete must be boolean', { job_complete: 1 }],
  ['JobStatus', '/job_success must match pattern', { job_success: 'yes' }],
  ['JobStatus', '/signature must NOT have fewer than 1', { signature: '' }],
  ['JobStatus', '/result must NOT have more than 0 items', { result: ['Enroll User'] }],
  ['JobStatus', '/history must be array', { history: 'none' }],
  ['JobStatus', '/history/0/IDNumber must be string', { history: [{ IDNumber: 12345 }] }],
  ['JobStatus', '/image_links must be object', { image_links: 'https://images.hosted.test/1' }],
  ['CreatedLink', "must have required property 'ref_id'", { ref_id: undefined }],
  ['UpdatedLink', '/disabled_at must be string,null', { disabled_at: true }],
  ['Link', "must have required property 'link_url'", { link_url: undefined }],
  ['Link', '/link_url must match pattern', { link_url: 'javascript:alert(1)' }],
  ['Link', '/total_jobs must be >= 0', { total_jobs: -1 }],
  ['Link', '/total_jobs must be multiple of 1', { total_jobs: 1.5 }],
  ['Link', '/is_single_use must be boolean', { is_single_use: 1 }],
  ['Link', '/user_ids/0 must be string', { user_ids: [null] }],
  ['LinkPage', "must have required property 'meta'", { meta: undefined }],
  ['LinkPage', "/meta must have required property 'totalPages'", { meta: {} }],
  ['LinkPage', '/links must be array', { links: records.linkInTableSpelling }],
  ['Error', 'must NOT have fewer than 1 properties', { error: undefined, code: undefined }],
  ['Error', '/error must be string', { error: { text: 'Invalid' } }],
  ['Callback', "must have required property 'timestamp'", { timestamp: undefined }],
  ['Callback', "must have required property 'PartnerParams'", { PartnerParams: undefined }],
  ['Callback', '/ResultCode must be integer', { ResultCode: 8.1 }],
] as const)('a damaged response or callback does not fit: %s %s', (schema, problem, damage) => {
  const problemsOf = (body: object) => check(JSON.parse(JSON.stringify(body)), `#/components/schemas/${schema}`);

  expect(problemsOf(bodies[schema])).toEqual([]);
  expect(problemsOf({ ...bodies[schema], ...damage }).join('\n')).toContain(problem);
});

test('a call of no operation, a page of a proxy and half a response do not fit', () => {
  const [method, path] = ['POST', '/v1/job_status'];
  const json = { method, path, request: '{}', status: 200, contentType: 'application/json', response: '{"job_' };

  expect(findRequestProblems({ ...json, method: 'PUT' })).toEqual(['no operation for PUT /v1/job_status']);
  expect(findResponseProblems({ ...json, path: `${path}/a` })).toEqual(['no operation for POST /v1/job_status/a']);
  expect(findResponseProblems({ ...json, contentType: 'text/html' })).toEqual(['no text/html for 200']);
  expect(findResponseProblems(json)).toEqual(['no JSON']);
});
