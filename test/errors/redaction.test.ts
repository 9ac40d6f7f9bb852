// That the error of a call shows no key, signature, body, id or personal datum, whatever happens to the call.

import {
  type HostedClient,
  type HostedClientOptions,
  type HostedError,
  isHostedError,
  type NewLink,
  type Signer,
} from 'hosted-client';
import { expect, test } from 'vitest';
import { now, operations, type Reply, rejection } from '../support/fake-fetch.js';
import { createPlanter, expectNothingIn, type Planter, plantedClient, showingsOf } from '../support/showings.js';

/** The five operations, with people and URLs that must not show. */
function plantedCalls({ plant }: Planter) {
  const link: NewLink = {
    companyName: plant('company'),
    dataPrivacyPolicyUrl: `https://partner.test/${plant('privacy')}`,
    callbackUrl: `https://partner.test/${plant('callback')}`,
    name: plant('name'),
    logoUrl: `https://partner.test/${plant('logo')}`,
    userId: plant('user'),
    idTypes: [{ country: 'NG', idType: plant('type'), verificationMethod: 'biometric_kyc' }],
    extra: { partner_params: { [plant('member')]: plant('value') } },
  };
  const refId = plant('link');
  const job = { userId: plant('user'), jobId: plant('job') };
  const options = { headers: { 'x-trace': plant('header'), authorization: plant('token') } };
  return [
    ['links.create', (client: HostedClient) => client.links.create(link, options)],
    ['links.update', (client: HostedClient) => client.links.update(refId, { isDisabled: true }, options)],
    ['links.get', (client: HostedClient) => client.links.get(refId, options)],
    ['links.list', (client: HostedClient) => client.links.list(options)],
    ['jobs.status', (client: HostedClient) => client.jobs.status({ ...job, history: true }, options)],
  ] as const;
}

const operationNames = operations.map(({ name }) => name);

/** An error that says more than it should, wherever it can. */
function talkative({ plant }: Planter, code: string): Error {
  const cause = Object.assign(new Error(plant('cause'), { cause: new Error(plant('deeper')) }), {
    code,
    host: plant('host'),
    request: { body: plant('body') },
  });
  return Object.assign(new TypeError(plant('message'), { cause }), { [plant('property')]: plant('content') });
}

/** A body and headers that repeat personal data in every place. */
function tellAll({ plant }: Planter, code: unknown, status: number): Response {
  const body = {
    error: plant('error'),
    message: plant('message'),
    status: plant('status'),
    result: { ResultText: plant('result'), FullName: plant('fullname'), [plant('member')]: plant('value') },
    code,
    user_id: plant('user'),
    [plant('name')]: plant('value'),
  };
  const headers = {
    'x-other': plant('header'),
    'set-cookie': plant('cookie'),
    location: `https://elsewhere.test/${plant('location')}`,
    server: plant('server'),
    'retry-after': plant('later'),
    'x-request-id': `${plant('words')} and ${plant('more')}`,
  };
  return Response.json(body, { status, headers });
}

/** Fields of a wrong type in every place, with names and values that must not show. */
function misshapen({ plant }: Planter): object {
  const wrong = () => ({ [plant('member')]: plant('value') });
  return {
    link: wrong(),
    link_url: plant('url'),
    ref_id: wrong(),
    link_id: [plant('id')],
    name: wrong(),
    id_types: [plant('entry'), { country: wrong() }],
    is_single_use: plant('flag'),
    user_id: wrong(),
    user_ids: [wrong()],
    total_jobs: plant('count'),
    links: [{ link_url: plant('url'), ref_id: wrong(), total_jobs: plant('count') }, plant('entry')],
    meta: { currentPage: plant('page'), limit: wrong() },
    job_id: wrong(),
    job_complete: plant('flag'),
    job_success: plant('flag'),
    result: { PartnerParams: plant('params'), IsFinalResult: plant('flag'), [plant('member')]: plant('value') },
    history: [{ IDNumber: 12345678901, FullName: wrong(), DOB: [plant('birth')] }, plant('entry')],
    image_links: plant('images'),
  };
}

const timestamp = new Date(now).toISOString();

/** A signer that accepts each signature. */
const credulous = ({ plant }: Planter): Signer => {
  const signature = plant('signature');
  return { name: plant('signer'), sign: () => signature, verify: () => true };
};

/** What happens to a call; properties of its error; the response, and the options of the client. */
type Case = readonly [
  what: string,
  facts: object,
  reply: (planter: Planter) => Reply,
  options?: ((planter: Planter) => Partial<HostedClientOptions>) | undefined,
];

const throws = (make: (planter: Planter) => unknown) => (planter: Planter) => () => Promise.reject(make(planter));
const responds = (text: (planter: Planter) => string, init?: ResponseInit) => (planter: Planter) =>
  new Response(text(planter), init);
const ofAnyone = (planter: Planter) => ({ signer: credulous(planter) });

const thrown: readonly (readonly [string, (planter: Planter) => unknown])[] = [
  ['a reset connection', (planter) => talkative(planter, 'ECONNRESET')],
  ['a refused connection', (planter) => talkative(planter, 'ECONNREFUSED')],
  ['an error with a code of its own', (planter) => talkative(planter, planter.plant('code'))],
  ['a string', ({ plant }) => plant('text')],
  ['an object', ({ plant }) => ({ message: plant('message'), name: plant('name'), code: plant('code') })],
  ['several errors', ({ plant }) => new AggregateError([new Error(plant('one'))], plant('all'))],
  [
    'an error with its own name',
    ({ plant }) => Object.assign(new Error(plant('message')), { name: plant('name'), stack: plant('stack') }),
  ],
];

const errorResponses: readonly (readonly [status: number, serviceCode: unknown, code: string])[] = [
  [400, '2215', 'api'],
  [200, '2313', 'api'],
  [200, null, 'api'],
  [401, '2205', 'authentication'],
  [200, 2305, 'authentication'],
  [404, null, 'not_found'],
  [200, '2304', 'not_found'],
  [408, null, 'timeout'],
  [429, null, 'rate_limit'],
  [429, '2222', 'rate_limit'],
  [500, null, 'server'],
  [503, '2301', 'server'],
];

const cases: readonly Case[] = [
  ...thrown.map(([what, make]): Case => [`a fetch that throws ${what}`, { code: 'connection' }, throws(make)]),
  [
    'a body that breaks off',
    { code: 'connection' },
    (planter) => () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode(`{"name":"${planter.plant('name')}"`)),
          pull: (controller) => controller.error(talkative(planter, 'UND_ERR_SOCKET')),
        }),
      ),
  ],
  ...errorResponses.map(
    ([status, serviceCode, code]): Case => [
      `status ${status} with code ${serviceCode}`,
      { code },
      (planter) => tellAll(planter, serviceCode, status),
    ],
  ),
  ...(
    [
      ['a string', ({ plant }) => plant('code')],
      ['an object', ({ plant }) => ({ [plant('member')]: plant('value') })],
      ['a list', ({ plant }) => [plant('code')]],
      ['a number and more', ({ plant }) => `2305 ${plant('code')}`],
    ] satisfies readonly (readonly [string, (planter: Planter) => unknown])[]
  ).map(
    ([what, make]): Case => [
      `a code that is ${what}`,
      { code: 'api', serviceCode: null },
      (planter) => tellAll(planter, make(planter), 422),
    ],
  ),
  ...[200, 404, 502].map(
    (status): Case => [`HTML with ${status}`, {}, responds(({ plant }) => `<html>${plant('page')}</html>`, { status })],
  ),
  ...(
    [
      ['JSON that breaks off', 'malformed', ({ plant }) => `{"name":"${plant('name')}"`],
      ['words', 'malformed', ({ plant }) => plant('words')],
      ['deep JSON', 'malformed', ({ plant }) => `${'['.repeat(100)}"${plant('deep')}"${']'.repeat(100)}`],
      ['a list', 'shape', ({ plant }) => `["${plant('name')}"]`],
    ] satisfies readonly (readonly [string, string, (planter: Planter) => string])[]
  ).map(([what, reason, text]): Case => [what, { code: 'response', reason }, responds(text)]),
  [
    'a body that is too large',
    { code: 'response', reason: 'too_large' },
    responds(({ plant }) => `{"name":"${plant('name').repeat(20)}"}`),
    () => ({ maxResponseBytes: 100 }),
  ],
  [
    'a redirect',
    { code: 'response', reason: 'redirect' },
    ({ plant }) => {
      const location = `https://${plant('host')}.test/${plant('path')}?token=${plant('token')}`;
      return new Response(plant('body'), { status: 307, headers: { location } });
    },
  ],
  [
    'fields of a wrong type',
    { code: 'response', reason: 'shape', issues: expect.toSatisfy((issues: unknown[]) => issues.length > 1) },
    (planter) => Response.json({ ...misshapen(planter), timestamp, signature: planter.plant('theirs') }),
    ofAnyone,
  ],
  ...thrown
    .slice(2, 5)
    .map(
      ([what, make]): Case => [
        `a signer that cannot sign because of ${what}`,
        { code: 'config' },
        () => ({}),
        (planter) => ({ signer: { ...credulous(planter), sign: () => Promise.reject(make(planter)) } }),
      ],
    ),
  [
    'a signer that cannot verify',
    { code: 'config' },
    ({ plant }) => Response.json({ timestamp, signature: plant('theirs'), name: plant('name') }),
    (planter) => ({ signer: { ...credulous(planter), verify: () => Promise.reject(talkative(planter, 'EKEY')) } }),
  ],
  ...(['attempt', 'total'] as const).map(
    (phase): Case => [
      `a timeout of the ${phase}`,
      { code: 'timeout', phase },
      () => () => new Promise<Response>(() => undefined),
      () => ({
        clock: { now: () => now, sleep: (ms) => (ms === 5_000 ? Promise.resolve() : new Promise(() => undefined)) },
        ...(phase === 'attempt' ? { timeoutMs: 5_000, maxRetries: 0 } : { totalTimeoutMs: 5_000 }),
      }),
    ],
  ),
];

const ofAnotherJob: Case = [
  'a response about something else',
  { code: 'response', reason: 'mismatch' },
  ({ plant }) =>
    Response.json({
      link_url: `https://links.hosted.test/${plant('url')}`,
      ref_id: plant('link'),
      link_id: plant('link'),
      job_complete: true,
      job_success: true,
      user_id: plant('user'),
      job_id: plant('job'),
      result: { ResultText: plant('text'), PartnerParams: { user_id: plant('user'), job_id: plant('job') } },
      timestamp,
      signature: plant('theirs'),
    }),
  ofAnyone,
];

const stale = '2020-01-02T03:04:05.678Z';
const untrusted = (
  [
    ['missing', () => ({})],
    ['malformed', ({ plant }) => ({ timestamp: { [plant('member')]: plant('time') }, signature: plant('theirs') })],
    ['malformed', ({ plant }) => ({ timestamp, signature: [plant('theirs')] })],
    ['mismatch', ({ plant }) => ({ timestamp: plant('time'), signature: plant('theirs') })],
    ['mismatch', ({ plant }) => ({ timestamp, sec_key: plant('theirs'), signature: plant('theirs') })],
    ['stale', ({ plant }) => ({ timestamp: stale, signature: plant('theirs') }), ofAnyone],
  ] satisfies readonly (readonly [string, (planter: Planter) => object, Case[3]?])[]
).map(
  ([reason, signature, options]): Case => [
    `a status whose signature is ${reason}`,
    { code: 'signature', reason },
    (planter) =>
      Response.json({
        job_complete: true,
        job_success: true,
        result: { ResultText: planter.plant('text') },
        ...signature(planter),
      }),
    options,
  ],
);

test.each([
  ...operationNames.flatMap((operation) => cases.map((row) => ({ operation, row }))),
  ...(['links.update', 'links.get', 'jobs.status'] as const).map((operation) => ({ operation, row: ofAnotherJob })),
  ...untrusted.map((row) => ({ operation: 'jobs.status' as const, row })),
])('the error of $operation shows no key, signature, body or id after $row.0', async ({ operation, row }) => {
  const [, facts, makeReply, makeOptions] = row;
  const planter = createPlanter();
  const { client, secrets, tellings } = plantedClient(planter, makeReply(planter), makeOptions?.(planter));
  const [, call] = plantedCalls(planter).find(([name]) => name === operation) ?? [];

  const error = await rejection(Promise.resolve(call?.(client)));

  expect(isHostedError(error)).toBe(true);
  expect(error).toMatchObject(facts);
  expectNothingIn([...showingsOf(error as HostedError), ...tellings()], secrets());
});
