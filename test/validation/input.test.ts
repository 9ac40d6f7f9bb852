// What callers may pass: the input of every operation, the options of calls and of clients, and what of it is sent and where to.

import { createHmac } from 'node:crypto';
import {
  ed25519,
  HostedClient,
  type HostedClientOptions,
  HostedConfigError,
  HostedValidationError,
  hmacSha256,
  type NewLink,
} from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import {
  apiKey,
  clientOf,
  now,
  operations,
  partnerId,
  rejection,
  sign,
  signed,
  thrownBy,
} from '../support/fake-fetch.js';

const created = { link: 'https://links.hosted.test/1', ref_id: 'ref-1' };
const updated = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1', disabled_at: null };
const newLink: NewLink = {
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://partner.test/privacy',
  callbackUrl: 'https://partner.test/callback',
};
const bvn = { country: 'NG', idType: 'BVN', verificationMethod: 'biometric_kyc' as const };

function configErrorOf(run: () => unknown): HostedConfigError {
  const error = thrownBy(run);
  expect(error).toBeInstanceOf(HostedConfigError);
  return error as HostedConfigError;
}

afterEach(() => {
  vi.unstubAllEnvs();
});

/** That a call is refused before anything is sent, for these members. */
async function expectRefusal(
  call: (client: HostedClient) => Promise<unknown>,
  paths: readonly string[],
  options: Partial<HostedClientOptions> = {},
): Promise<HostedValidationError> {
  const { client, sent } = clientOf(created, options);
  const error = await rejection(call(client));
  expect(error).toBeInstanceOf(HostedValidationError);
  const { code, issues, message } = error as HostedValidationError;
  expect(error).toMatchObject({ code: 'validation', outcome: 'not_sent', attempts: 0, retryable: false });
  expect(code).toBe('validation');
  expect(issues.map(({ path }) => path).sort()).toEqual([...paths].sort());
  for (const path of paths) expect(message).toContain(path);
  expect(sent).toEqual([]);
  return error as HostedValidationError;
}

// links.create --------------------------------------------------------------

const badLinks: readonly [string, object, readonly string[]][] = [
  [
    'nothing that is required',
    { companyName: undefined, dataPrivacyPolicyUrl: undefined, callbackUrl: undefined },
    ['companyName', 'dataPrivacyPolicyUrl', 'callbackUrl'],
  ],
  [
    'null for what is required',
    { companyName: null, dataPrivacyPolicyUrl: null },
    ['companyName', 'dataPrivacyPolicyUrl'],
  ],
  ['a blank company name', { companyName: '  ' }, ['companyName']],
  ['a company name that is no text', { companyName: 7 }, ['companyName']],
  ['a name that is no text', { name: 7 }, ['name']],
  ['a relative privacy address', { dataPrivacyPolicyUrl: '/privacy' }, ['dataPrivacyPolicyUrl']],
  ['an ftp callback', { callbackUrl: 'ftp://partner.test/' }, ['callbackUrl']],
  ['a javascript callback', { callbackUrl: 'javascript:alert(1)' }, ['callbackUrl']],
  ['an ftp URL object', { callbackUrl: new URL('ftp://partner.test/') }, ['callbackUrl']],
  ['a callback without a scheme', { callbackUrl: 'partner.test/callback' }, ['callbackUrl']],
  ['a callback with a line end', { callbackUrl: 'https://partner.test/\n' }, ['callbackUrl']],
  ['a callback after a blank', { callbackUrl: ' https://partner.test/' }, ['callbackUrl']],
  ['a callback without slashes', { callbackUrl: 'https:partner.test' }, ['callbackUrl']],
  ['a callback without a host', { callbackUrl: 'https://' }, ['callbackUrl']],
  ['an empty callback', { callbackUrl: '' }, ['callbackUrl']],
  ['a callback of false', { callbackUrl: false }, ['callbackUrl']],
  ['a logo that is no address', { logoUrl: 'logo.png' }, ['logoUrl']],
  ['isSingleUse as text', { isSingleUse: 'true' }, ['isSingleUse']],
  ['isSingleUse as a number', { isSingleUse: 1 }, ['isSingleUse']],
  ['a user id that is no text', { userId: 123 }, ['userId']],
  ['a blank user id', { userId: '' }, ['userId']],
  ['an expiry without an offset', { expiresAt: '2030-01-31T12:00:00' }, ['expiresAt']],
  ['an expiry without a time', { expiresAt: '2030-01-31' }, ['expiresAt']],
  ['an expiry on 30 February', { expiresAt: '2030-02-30T12:00:00Z' }, ['expiresAt']],
  ['an expiry at 25 o’clock', { expiresAt: '2030-01-31T25:00:00Z' }, ['expiresAt']],
  ['an expiry that is no date', { expiresAt: 'tomorrow' }, ['expiresAt']],
  ['an expiry as a number', { expiresAt: now }, ['expiresAt']],
  ['an invalid Date', { expiresAt: new Date(Number.NaN) }, ['expiresAt']],
  ['id types that are no list', { idTypes: bvn }, ['idTypes']],
  ['id types of null', { idTypes: null }, ['idTypes']],
  ['an id type of null', { idTypes: [null] }, ['idTypes[0]']],
  ['a country of three letters', { idTypes: [{ ...bvn, country: 'NGA' }] }, ['idTypes[0].country']],
  ['a country with a digit', { idTypes: [{ ...bvn, country: 'N1' }] }, ['idTypes[0].country']],
  ['a country outside ASCII', { idTypes: [{ ...bvn, country: 'ÑG' }] }, ['idTypes[0].country']],
  ['a country with a line end', { idTypes: [{ ...bvn, country: 'NG\n' }] }, ['idTypes[0].country']],
  ['an id type without an id type', { idTypes: [{ ...bvn, idType: undefined }] }, ['idTypes[0].idType']],
  ['an unknown method', { idTypes: [{ ...bvn, verificationMethod: 'unknown' }] }, ['idTypes[0].verificationMethod']],
  [
    'the wire’s spelling',
    { idTypes: [{ country: 'NG', id_type: 'BVN', verification_method: 'biometric_kyc' }] },
    ['idTypes[0].idType', 'idTypes[0].verificationMethod', 'idTypes[0].id_type', 'idTypes[0].verification_method'],
  ],
  [
    'two methods for one ID',
    { idTypes: [bvn, { ...bvn, verificationMethod: 'enhanced_kyc' }] },
    ['idTypes[1].verificationMethod'],
  ],
  [
    'two methods for one ID in two cases',
    { idTypes: [bvn, { ...bvn, country: 'ng', verificationMethod: 'enhanced_kyc' }] },
    ['idTypes[1].verificationMethod'],
  ],
  [
    'a bad entry beside two methods for one ID',
    { idTypes: [{ ...bvn, country: 'NGA' }, bvn, { ...bvn, verificationMethod: 'enhanced_kyc' }] },
    ['idTypes[0].country', 'idTypes[2].verificationMethod'],
  ],
  ['an unknown member', { companyname: 'Example Ltd' }, ['companyname']],
  ['extra that is no object', { extra: 'partner_params' }, ['extra']],
  ['extra that is a list', { extra: [] }, ['extra']],
  ['extra of null', { extra: null }, ['extra']],
  ['extra that refers to itself', { extra: circular() }, ['extra']],
  ['extra with a bigint', { extra: { big: 5n } }, ['extra']],
  [
    'much that is wrong at once',
    {
      companyName: '',
      callbackUrl: 'x',
      idTypes: [
        { ...bvn, country: '' },
        { ...bvn, verificationMethod: 'x' },
      ],
      expiresAt: 'x',
      userId: 5,
      extra: { partner_id: 'x' },
    },
    [
      'companyName',
      'callbackUrl',
      'idTypes[0].country',
      'idTypes[1].verificationMethod',
      'expiresAt',
      'userId',
      'extra.partner_id',
    ],
  ],
];

function circular(): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  members.self = members;
  return members;
}

test.each(badLinks)('links.create() refuses %s and names every member', async (_what, members, paths) => {
  await expectRefusal((client) => client.links.create({ ...newLink, ...members } as NewLink), paths);
});

const named = [
  'partner_id',
  'timestamp',
  'signature',
  'sec_key',
  'name',
  'id_types',
  'callback_url',
  'company_name',
  'data_privacy_policy_url',
  'logo_url',
  'is_single_use',
  'user_id',
  'expires_at',
];

test.each(named)('links.create() lets no extra member replace %s', async (name) => {
  const hidden = Object.defineProperty({}, name, { enumerable: true, get: () => 'planted' });
  const calls: readonly object[] = [{ [name]: 'planted' }, { toJSON: () => ({ [name]: 'planted' }) }, hidden];

  for (const extra of calls) {
    const error = await expectRefusal(
      (client) => client.links.create({ ...newLink, extra: extra as Record<string, unknown> }),
      [`extra.${name}`],
    );
    expect(error.message).not.toContain('planted');
  }
});

test('links.create() lets no extra member change its mind after the check', async () => {
  let reads = 0;
  const shifty = {
    toJSON() {
      reads += 1;
      return reads === 1 ? { partner_params: {} } : { partner_id: 'planted', signature: 'planted' };
    },
  };
  const twice = Object.defineProperty({}, 'partner_params', {
    enumerable: true,
    get: () => ({ toJSON: () => ({ team: 'one' }) }),
  });
  const { client, sent } = clientOf(created);

  await client.links.create({ ...newLink, extra: shifty as unknown as Record<string, unknown> });
  await client.links.create({ ...newLink, extra: twice as Record<string, unknown> });

  expect(sent.map(({ body }) => body.partner_id)).toEqual(['085', '085']);
  expect(sent.map(({ body }) => body.signature)).toEqual(sent.map(({ body }) => sign(String(body.timestamp))));
  expect(sent.map(({ body }) => body.partner_params)).toEqual([{}, { team: 'one' }]);
});

test('links.create() refuses a member __proto__ of extra, and takes no members of a prototype', async () => {
  const own = JSON.parse('{"__proto__": {"partner_id": "planted"}}') as Record<string, unknown>;
  const inherited = Object.create({ partner_id: 'planted' }) as Record<string, unknown>;
  const { client, sent } = clientOf(created);

  const error = await rejection(client.links.create({ ...newLink, extra: own }));
  await client.links.create({ ...newLink, extra: inherited });

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(sent).toHaveLength(1);
  expect(sent[0]?.body.partner_id).toBe('085');
});

test('links.create() lets no toJSON of its input replace anything', async () => {
  const { client, sent } = clientOf(created);
  const link = { ...newLink, toJSON: () => ({ partner_id: 'planted' }) };

  await rejection(client.links.create(link));

  for (const { body } of sent) expect(body.partner_id).toBe('085');
});

test('links.create() sends every member under its name of the protocol', async () => {
  const { client, sent } = clientOf(created);

  const link = await client.links.create({
    ...newLink,
    dataPrivacyPolicyUrl: new URL('https://partner.test/privacy'),
    name: 'Onboarding',
    idTypes: [bvn, { country: 'gh', idType: 'PASSPORT', verificationMethod: 'doc_verification' }],
    logoUrl: 'https://partner.test/logo.svg',
    isSingleUse: true,
    userId: 'user-1',
    expiresAt: new Date('2030-01-31T12:00:00Z'),
    extra: { partner_params: { team: 'one' }, redirect_url: 'https://partner.test/' },
  });

  expect(link).toEqual({ url: 'https://links.hosted.test/1', refId: 'ref-1' });
  expect(sent[0]?.url).toBe('https://sandbox.hosted.test/v1/hosted_links');
  expect(sent[0]?.init.method).toBe('POST');
  expect(sent[0]?.body).toEqual({
    partner_id: '085',
    timestamp: '2026-01-02T03:04:05.678Z',
    signature: '7wAMvfVaJgf4DVuRXk7tljdk6TMLTbpX9iqn+D+O8a8=',
    name: 'Onboarding',
    id_types: [
      { country: 'NG', id_type: 'BVN', verification_method: 'biometric_kyc' },
      { country: 'GH', id_type: 'PASSPORT', verification_method: 'doc_verification' },
    ],
    callback_url: 'https://partner.test/callback',
    company_name: 'Example Ltd',
    data_privacy_policy_url: 'https://partner.test/privacy',
    logo_url: 'https://partner.test/logo.svg',
    is_single_use: true,
    user_id: 'user-1',
    expires_at: '2030-01-31T12:00:00.000Z',
    partner_params: { team: 'one' },
    redirect_url: 'https://partner.test/',
  });
});

test('links.create() leaves out what it was not given', async () => {
  const { client, sent } = clientOf(created);

  await client.links.create({ ...newLink, isSingleUse: false, idTypes: [] });

  expect(Object.keys(sent[0]?.body ?? {}).sort()).toEqual([
    'callback_url',
    'company_name',
    'data_privacy_policy_url',
    'id_types',
    'is_single_use',
    'partner_id',
    'signature',
    'timestamp',
  ]);
});

test.each([
  '2030-01-31T12:00:00Z',
  '2030-01-31T12:00:00.123456789+01:00',
  '2030-01-31T12:00:00+0100',
  '2028-02-29T23:59:59-11:30',
])('links.create() sends the expiry %s as written', async (expiresAt) => {
  const { client, sent } = clientOf(created);

  await client.links.create({ ...newLink, expiresAt });

  expect(sent[0]?.body.expires_at).toBe(expiresAt);
});

test('links.create() drops exact duplicates of ID types', async () => {
  const { client, sent } = clientOf(created);
  const others = { country: 'NG', idType: '', verificationMethod: 'doc_verification' as const };

  await client.links.create({
    ...newLink,
    idTypes: [bvn, { ...bvn, country: 'ng' }, others, { ...bvn, country: 'GH' }, bvn],
  });

  expect(sent[0]?.body.id_types).toEqual([
    { country: 'NG', id_type: 'BVN', verification_method: 'biometric_kyc' },
    { country: 'NG', id_type: '', verification_method: 'doc_verification' },
    { country: 'GH', id_type: 'BVN', verification_method: 'biometric_kyc' },
  ]);
});

test.each(['biometric_kyc', 'doc_verification', 'enhanced_document_verification', 'enhanced_kyc'] as const)(
  'links.create() takes the verification method %s',
  async (verificationMethod) => {
    const { client, sent } = clientOf(created);

    await client.links.create({ ...newLink, idTypes: [{ ...bvn, country: 'xk', verificationMethod }] });

    expect(sent[0]?.body.id_types).toEqual([
      { country: 'XK', id_type: 'BVN', verification_method: verificationMethod },
    ]);
  },
);

test('links.create() takes 1,349 ID types', async () => {
  const { client, sent } = clientOf(created);
  const idTypes = Array.from({ length: 1_349 }, (_, index) => ({ ...bvn, idType: `TYPE_${index}` }));

  await client.links.create({ ...newLink, idTypes });

  expect(sent[0]?.body.id_types).toHaveLength(1_349);
});

test('links.create() takes defaultCallbackUrl where callbackUrl is left out, and leaves it out for null', async () => {
  const { client, sent } = clientOf(created, { defaultCallbackUrl: 'https://partner.test/default' });
  const { callbackUrl, ...withoutCallback } = newLink;

  await client.links.create(withoutCallback);
  await client.links.create({ ...newLink, callbackUrl: null });
  await client.links.create({ ...newLink, callbackUrl: callbackUrl ?? '' });

  expect(sent.map(({ body }) => body.callback_url)).toEqual([
    'https://partner.test/default',
    undefined,
    'https://partner.test/callback',
  ]);
  expect(sent[1]?.body).not.toHaveProperty('callback_url');
});

test.each([
  ['enhanced_kyc without a callback', 'enhanced_kyc', null, 1],
  ['another method without a callback', 'doc_verification', null, 0],
  ['enhanced_kyc with a callback', 'enhanced_kyc', 'https://partner.test/callback', 0],
] as const)('links.create() logs %s as a warning or not', async (_what, verificationMethod, callbackUrl, lines) => {
  const warn = vi.fn();
  const ignore = () => undefined;
  const { client } = clientOf(created, { logger: { debug: ignore, info: ignore, warn, error: ignore } });

  await client.links.create({ ...newLink, callbackUrl, idTypes: [{ ...bvn, verificationMethod }] });

  expect(warn).toHaveBeenCalledTimes(lines);
});

test('links.create() answers with a reference id that cannot go into a path, and no call takes it', async () => {
  const { client, sent } = clientOf({ link: 'https://links.hosted.test/1', ref_id: '../secrets' });

  const { refId } = await client.links.create(newLink);
  const error = await rejection(client.links.get(refId));

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(error).toMatchObject({ code: 'validation', issues: [{ path: 'refId' }] });
  expect(sent).toHaveLength(1);
});

// links.update, disable, get ------------------------------------------------

const badIds: readonly [string, unknown][] = [
  ['an empty text', ''],
  ['a dot', '.'],
  ['two dots', '..'],
  ['a slash', 'a/b'],
  ['a backslash', 'a\\b'],
  ['a percent escape', '%2e%2e'],
  ['a query', 'a?b'],
  ['a fragment', 'a#b'],
  ['a blank', 'a b'],
  ['a line end', 'ref-1\n'],
  ['a letter outside ASCII', 'réf'],
  ['a zero', 'a\u0000'],
  ['129 characters', 'a'.repeat(129)],
  ['the list marker', 'list'],
  ['a number', 5],
  ['null', null],
  ['nothing', undefined],
  ['a list of an id', ['ref-1']],
  ['an object that writes itself as an id', { toString: () => 'ref-1' }],
];

test.each(badIds)('links.get(), update() and disable() refuse %s for an id', async (_what, refId) => {
  await expectRefusal((client) => client.links.get(refId as string), ['refId']);
  await expectRefusal((client) => client.links.update(refId as string, { isDisabled: true }), ['refId']);
  await expectRefusal((client) => client.links.disable(refId as string), ['refId']);
});

test('links.get() refuses the list marker of the wire options, and takes the default one then', async () => {
  const options = { wire: { listMarker: 'all-of-them' } };
  const { client, sent } = clientOf({ link_url: 'https://links.hosted.test/1', ref_id: 'list' }, options);

  await expectRefusal((other) => other.links.get('all-of-them'), ['refId'], options);
  await client.links.get('list');

  expect(sent.map(({ url }) => url)).toEqual(['https://sandbox.hosted.test/v1/hosted_links/list']);
});

test.each(['a', '0', '-', '_', 'List', 'a'.repeat(128), '3c5a2a8e-b6b2-4e5b-9f0e-1f3f6f1c2d3e'])(
  'links.get() takes the id %s',
  async (refId) => {
    const { client, sent } = clientOf({ link_url: 'https://links.hosted.test/1', ref_id: refId });

    await client.links.get(refId);

    expect(sent[0]?.url).toBe(`https://sandbox.hosted.test/v1/hosted_links/${refId}`);
    expect(sent[0]?.init.method).toBe('POST');
    expect(Object.keys(sent[0]?.body ?? {}).sort()).toEqual(['partner_id', 'signature', 'timestamp']);
  },
);

test.each<[string, object, readonly string[]]>([
  ['no change', {}, ['']],
  ['changes that are undefined', { isDisabled: undefined, idTypes: undefined }, ['']],
  ['isDisabled as text', { isDisabled: 'true' }, ['isDisabled']],
  ['isDisabled of null', { isDisabled: null }, ['isDisabled']],
  ['a bad country', { idTypes: [{ ...bvn, country: 'Nigeria' }] }, ['idTypes[0].country']],
  [
    'two methods for one ID',
    { idTypes: [bvn, { ...bvn, verificationMethod: 'x' }] },
    ['idTypes[1].verificationMethod'],
  ],
  ['a member of create', { isDisabled: true, name: 'x' }, ['name']],
])('links.update() refuses %s and names every member', async (_what, changes, paths) => {
  await expectRefusal((client) => client.links.update('ref-1', changes), paths);
});

test('links.update() names a bad id and bad changes together', async () => {
  await expectRefusal(
    (client) => client.links.update('..', { isDisabled: 1, idTypes: 2 } as never),
    ['refId', 'isDisabled', 'idTypes'],
  );
});

test('links.update() sends what changes, and ID types as the service sent them', async () => {
  const { client, sent } = clientOf([
    { ...updated, id_types: [] },
    updated,
    { ...updated, disabled_at: '2026-01-02T03:04:05Z' },
  ]);
  const newer = { country: 'ke', idType: '', verificationMethod: 'a_method_of_tomorrow' };

  await client.links.update('ref-1', { idTypes: [bvn, newer, bvn] });
  await client.links.update('ref-1', { idTypes: [], isDisabled: false });
  await client.links.disable('ref-1');

  const common = { partner_id: '085', timestamp: expect.any(String), signature: expect.any(String) };
  expect(sent.map(({ init }) => init.method)).toEqual(['PUT', 'PUT', 'PUT']);
  expect(new Set(sent.map(({ url }) => url))).toEqual(new Set(['https://sandbox.hosted.test/v1/hosted_links/ref-1']));
  expect(sent.map(({ body }) => body)).toEqual([
    {
      ...common,
      id_types: [
        { country: 'NG', id_type: 'BVN', verification_method: 'biometric_kyc' },
        { country: 'KE', id_type: '', verification_method: 'a_method_of_tomorrow' },
      ],
    },
    { ...common, id_types: [], is_disabled: false },
    { ...common, is_disabled: true },
  ]);
});

// links.list ----------------------------------------------------------------

test.each<[string, unknown]>([
  ['a negative number', -1],
  ['a fraction', 1.5],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['a number beyond 2^53', 2 ** 53],
  ['a text', '1'],
  ['null', null],
])('links.list() refuses %s for a page', async (_what, page) => {
  await expectRefusal((client) => client.links.list({ page: page as number }), ['page']);
});

test('links.list() sends a page only when it was given one', async () => {
  const meta = { limit: 20, totalCount: 0, totalPages: 9 };
  const { client, sent } = clientOf([
    { links: [], meta: { ...meta, currentPage: 0 } },
    { links: [], meta: { ...meta, currentPage: 0 } },
    { links: [], meta: { ...meta, currentPage: 7 } },
  ]);

  await client.links.list();
  await client.links.list({ page: 0 });
  await client.links.list({ page: 7 });

  expect(sent.map(({ url, init }) => `${init.method} ${url}`)).toEqual(
    Array(3).fill('POST https://sandbox.hosted.test/v1/hosted_links/list'),
  );
  expect(sent.map(({ body }) => body.page)).toEqual([undefined, 0, 7]);
  expect(Object.keys(sent[0]?.body ?? {}).sort()).toEqual(['partner_id', 'signature', 'timestamp']);
});

test('links.list() names a bad page and bad call options together', async () => {
  await expectRefusal((client) => client.links.list({ page: -1, timeoutMs: 0 }), ['page', 'timeoutMs']);
});

// jobs.status ---------------------------------------------------------------

test.each<[string, object, readonly string[]]>([
  ['no ids', {}, ['userId', 'jobId']],
  ['blank ids', { userId: '', jobId: ' ' }, ['userId', 'jobId']],
  ['ids that are numbers', { userId: 1, jobId: 2 }, ['userId', 'jobId']],
  ['flags as text', { userId: 'u', jobId: 'j', imageLinks: 'true', history: 'false' }, ['imageLinks', 'history']],
  ['flags as numbers', { userId: 'u', jobId: 'j', imageLinks: 1, history: 0 }, ['imageLinks', 'history']],
  ['ids and a flag', { userId: null, jobId: [], history: null }, ['userId', 'jobId', 'history']],
])('jobs.status() refuses %s and names every member', async (_what, query, paths) => {
  await expectRefusal((client) => client.jobs.status(query as never), paths);
});

test('jobs.status() sends its flags only where they are true', async () => {
  const { client, sent } = clientOf(signed({ job_complete: false }));
  const job = { userId: 'user-1', jobId: 'job-1' };
  const common = {
    partner_id: '085',
    user_id: 'user-1',
    job_id: 'job-1',
    timestamp: expect.any(String),
    sec_key: expect.any(String),
  };

  await client.jobs.status(job);
  await client.jobs.status({ ...job, imageLinks: false, history: false });
  await client.jobs.status({ ...job, imageLinks: true, history: true });

  expect(new Set(sent.map(({ url, init }) => `${init.method} ${url}`))).toEqual(
    new Set(['POST https://sandbox.hosted.test/v1/job_status']),
  );
  expect(sent.map(({ body }) => body)).toEqual([common, common, { ...common, image_links: true, history: true }]);
});

test('jobs.status() sends ids as they are, whatever they hold', async () => {
  const job = { userId: '../ü "\\\u2028', jobId: '__proto__' };
  const { client, sent } = clientOf(signed({ job_complete: false }));

  const status = await client.jobs.status(job);

  expect(sent[0]?.body).toMatchObject({ user_id: job.userId, job_id: job.jobId });
  expect(status).toMatchObject(job);
});

// Options of a call ---------------------------------------------------------

const badOptions: readonly [string, object, readonly string[]][] = [
  ['a timeout of 0', { timeoutMs: 0 }, ['timeoutMs']],
  ['a negative timeout', { timeoutMs: -1 }, ['timeoutMs']],
  ['a fractional timeout', { timeoutMs: 0.5 }, ['timeoutMs']],
  ['a timeout of NaN', { timeoutMs: Number.NaN }, ['timeoutMs']],
  ['an endless timeout', { totalTimeoutMs: Number.POSITIVE_INFINITY }, ['totalTimeoutMs']],
  ['a timeout of 2^31', { timeoutMs: 2 ** 31, totalTimeoutMs: 2 ** 31 }, ['timeoutMs', 'totalTimeoutMs']],
  ['a timeout as text', { timeoutMs: '1000' }, ['timeoutMs']],
  ['negative retries', { maxRetries: -1 }, ['maxRetries']],
  ['fractional retries', { maxRetries: 1.5 }, ['maxRetries']],
  ['endless retries', { maxRetries: Number.POSITIVE_INFINITY }, ['maxRetries']],
  ['a signal that is none', { signal: {} }, ['signal']],
  ['a controller for a signal', { signal: new AbortController() }, ['signal']],
  ['content-type among the headers', { headers: { 'Content-Type': 'text/plain' } }, ['headers']],
  ['content-length among the headers', { headers: { 'content-length': '5' } }, ['headers']],
  ['host among the headers', { headers: { HOST: 'elsewhere.test' } }, ['headers']],
  ['a header name with a blank', { headers: { 'x y': 'z' } }, ['headers']],
  ['a header with a line end', { headers: { 'x-y': 'a\r\nx-z: b' } }, ['headers']],
  ['a header that is no text', { headers: { 'x-y': 5 } }, ['headers']],
  ['headers that are no object', { headers: 'x-y: z' }, ['headers']],
  ['an unknown option', { timeout: 5 }, ['timeout']],
  [
    'all of it',
    { timeoutMs: 0, totalTimeoutMs: 0, maxRetries: -1, signal: 5, headers: 5 },
    ['timeoutMs', 'totalTimeoutMs', 'maxRetries', 'signal', 'headers'],
  ],
];

test.each(
  operations.flatMap((operation) =>
    badOptions.map(([what, options, paths]) => ({ name: operation.name, what, options, paths, operation })),
  ),
)('$name refuses $what in its options', async ({ operation, options, paths }) => {
  await expectRefusal((client) => operation.call(client, options as never), paths);
});

test('bad input and bad options are named together', async () => {
  await expectRefusal(
    (client) => client.jobs.status({ userId: '', jobId: 'j' }, { timeoutMs: 0, maxRetries: -1 }),
    ['userId', 'timeoutMs', 'maxRetries'],
  );
});

test.each(operations)('$name sends the headers of its options beside its own', async ({ call, answer }) => {
  const { client, sent } = clientOf(answer(), { userAgentSuffix: 'shop/1.2' });

  await call(client, { headers: { 'X-Trace': 'trace-1' } });

  const headers = new Headers(sent[0]?.init.headers);
  expect(headers.get('x-trace')).toBe('trace-1');
  expect(headers.get('content-type')).toBe('application/json');
  expect(headers.get('accept')).toBe('application/json');
  expect(headers.get('user-agent')).toMatch(/^hosted-client\/\d+\.\d+\.\d+\S* shop\/1\.2$/);
});

test.each([1, 2 ** 31 - 1])('a timeout of %i ms is taken', async (ms) => {
  const { client } = clientOf({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' });

  await expect(client.links.get('ref-1', { timeoutMs: ms, totalTimeoutMs: ms })).resolves.toBeDefined();
});

// Wire options --------------------------------------------------------------

test('wire.brand names the path and the id member', async () => {
  const result = { ResultText: 'text', AcmeJobID: '0000000857', HostedJobID: 'another' };
  const { client, sent } = clientOf([created, signed({ job_complete: false, result })], { wire: { brand: 'acme' } });

  await client.links.create(newLink);
  const status = await client.jobs.status({ userId: 'u', jobId: 'j' });

  expect(sent.map(({ url }) => url)).toEqual([
    'https://sandbox.hosted.test/v1/acme_links',
    'https://sandbox.hosted.test/v1/job_status',
  ]);
  expect(status.result?.hostedJobId).toBe('0000000857');
});

test('wire.listMarker is where the list is asked for', async () => {
  const { client, sent } = clientOf(operations[3].answer(), { wire: { listMarker: 'all' } });

  await client.links.list();

  expect(sent[0]?.url).toBe('https://sandbox.hosted.test/v1/hosted_links/all');
});

test.each([
  ['iso', '2026-01-02T03:04:05.678Z'],
  ['epoch-ms', '1767323045678'],
  // Two seconds earlier: nearly every honest response would be signed for the second of its request.
  ['epoch-s', '1767323043'],
] as const)('wire.timestampFormat %s writes link timestamps as text', async (timestampFormat, expected) => {
  const { client, sent } = clientOf([created, signed({ job_complete: false })], { wire: { timestampFormat } });

  await client.links.create(newLink);
  await client.jobs.status({ userId: 'u', jobId: 'j' });

  expect(sent[0]?.body.timestamp).toBe(expected);
  expect(sent[0]?.body.signature).toBe(sign(expected));
  expect(sent[1]?.body.timestamp).toMatch(/^2026-01-02T03:04:05\.\d{3}Z$/);
});

test.each([
  ['iso', '2026-01-02T03:04:05.678Z'],
  ['epoch-ms', 1767323045678],
  ['epoch-s', 1767323043],
] as const)('wire.jobTimestampFormat %s writes job timestamps', async (jobTimestampFormat, expected) => {
  const { client, sent } = clientOf([signed({ job_complete: false }), created], { wire: { jobTimestampFormat } });

  await client.jobs.status({ userId: 'u', jobId: 'j' });
  await client.links.create(newLink);

  expect(sent[0]?.body.timestamp).toBe(expected);
  expect(sent[0]?.body.sec_key).toBe(sign(String(expected)));
  expect(sent[1]?.body.timestamp).toMatch(/^2026-01-02T03:04:05\.\d{3}Z$/);
});

test('wire.jobSignatureMember and wire.jobFlags change how job status is asked for', async () => {
  const wire = { jobSignatureMember: 'signature', jobFlags: 'string' } as const;
  const { client, sent } = clientOf(signed({ job_complete: false }), { wire });

  await client.jobs.status({ userId: 'u', jobId: 'j', imageLinks: true, history: true });
  await client.jobs.status({ userId: 'u', jobId: 'j', imageLinks: false, history: false });

  const [first, second] = sent;
  expect(first?.body).toMatchObject({ image_links: 'true', history: 'true' });
  expect(first?.body.signature).toBe(sign(String(first?.body.timestamp)));
  expect(first?.body).not.toHaveProperty('sec_key');
  expect(second?.body).not.toHaveProperty('image_links');
  expect(second?.body).not.toHaveProperty('history');
});

test.each([
  [{ firstPage: 'auto' }, 0, 2, true],
  [{ firstPage: 0 }, 0, 2, true],
  [{ firstPage: 1 }, 1, 1, false],
] as const)('wire.firstPage %j tells whether a page follows', async (wire, currentPage, totalPages, expected) => {
  const { client } = clientOf({ links: [], meta: { currentPage, limit: 20, totalCount: 0, totalPages } }, { wire });

  const page = await client.links.list();

  expect(page.hasNextPage).toBe(expected);
});

// Options of a client -------------------------------------------------------

const good: HostedClientOptions = {
  partnerId,
  apiKey,
  baseUrls: { sandbox: 'https://sandbox.hosted.test' },
};

const badClients: readonly [string, object, readonly string[]][] = [
  ['a partner id as a number', { partnerId: 85 }, ['partnerId']],
  ['an empty partner id', { partnerId: '' }, ['partnerId']],
  ['a partner id with a line end', { partnerId: '085\n' }, ['partnerId']],
  ['no partner id', { partnerId: undefined }, ['partnerId']],
  ['an empty key', { apiKey: '' }, ['apiKey']],
  ['a blank key', { apiKey: ' \t' }, ['apiKey']],
  ['a key with a line end', { apiKey: 'planted-key\n' }, ['apiKey']],
  ['a key that is no text', { apiKey: 12345 }, ['apiKey']],
  ['no key', { apiKey: undefined }, ['apiKey']],
  ['key and signer', { signer: hmacSha256({ apiKey }) }, ['apiKey']],
  ['a signer without verify', { apiKey: undefined, signer: { name: 'x', sign: () => '' } }, ['signer']],
  ['an unknown environment', { environment: 'staging' }, ['environment']],
  ['no address', { baseUrls: undefined }, ['baseUrls']],
  ['the address of the other environment', { environment: 'production' }, ['baseUrls.production']],
  ['no address in baseUrls', { baseUrls: {} }, ['baseUrls.sandbox']],
  [
    'an address for an unknown environment',
    { baseUrls: { ...good.baseUrls, staging: 'https://planted.test' } },
    ['baseUrls.staging'],
  ],
  ['a relative address', { baseUrls: { sandbox: 'planted.test' } }, ['baseUrls.sandbox']],
  ['an empty address', { baseUrls: { sandbox: '' } }, ['baseUrls.sandbox']],
  ['an address that is no text', { baseUrls: { sandbox: ['https://planted.test'] } }, ['baseUrls.sandbox']],
  ['a plain http address', { baseUrls: { sandbox: 'http://planted.test' } }, ['baseUrls.sandbox']],
  [
    'http on a host that looks like loopback',
    { baseUrls: { sandbox: 'http://localhost.planted.test' } },
    ['baseUrls.sandbox'],
  ],
  [
    'http on a host that begins like loopback',
    { baseUrls: { sandbox: 'http://127.0.0.1.planted.test' } },
    ['baseUrls.sandbox'],
  ],
  ['an ftp address', { baseUrls: { sandbox: 'ftp://planted.test' } }, ['baseUrls.sandbox']],
  ['an address with a user', { baseUrls: { sandbox: 'https://planted@hosted.test' } }, ['baseUrls.sandbox']],
  ['an address with a password', { baseUrls: { sandbox: 'https://:planted@hosted.test' } }, ['baseUrls.sandbox']],
  ['an address with a query', { baseUrls: { sandbox: 'https://hosted.test/?planted=1' } }, ['baseUrls.sandbox']],
  ['an address with a fragment', { baseUrls: { sandbox: 'https://hosted.test/#planted' } }, ['baseUrls.sandbox']],
  ['an address that ends in /v1', { baseUrls: { sandbox: 'https://hosted.test/planted/v1' } }, ['baseUrls.sandbox']],
  ['an address that ends in /v1/', { baseUrls: { sandbox: new URL('https://hosted.test/v1/') } }, ['baseUrls.sandbox']],
  [
    'a bad address of the other environment',
    { baseUrls: { ...good.baseUrls, production: 'http://planted.test' } },
    ['baseUrls.production'],
  ],
  [
    'a bad address for job status',
    { jobStatusBaseUrls: { sandbox: 'http://planted.test' } },
    ['jobStatusBaseUrls.sandbox'],
  ],
  ['a default callback that is no address', { defaultCallbackUrl: 'planted' }, ['defaultCallbackUrl']],
  ['a timeout of 0', { timeoutMs: 0, totalTimeoutMs: 0 }, ['timeoutMs', 'totalTimeoutMs']],
  ['a timeout of 2^31', { timeoutMs: 2 ** 31 }, ['timeoutMs']],
  ['an endless timeout', { totalTimeoutMs: Number.POSITIVE_INFINITY }, ['totalTimeoutMs']],
  ['a fractional timeout', { timeoutMs: 1.5 }, ['timeoutMs']],
  ['negative retries', { maxRetries: -1 }, ['maxRetries']],
  ['retries as text', { maxRetries: '2' }, ['maxRetries']],
  ['a fetch that is none', { fetch: 'planted' }, ['fetch']],
  ['a clock without now()', { clock: {} }, ['clock']],
  ['a clock whose sleep is no function', { clock: { now: () => 0, sleep: 5 } }, ['clock']],
  ['an unknown clockSkew', { clockSkew: true }, ['clockSkew']],
  ['a maxResponseAgeMs of true', { maxResponseAgeMs: true }, ['maxResponseAgeMs']],
  ['a negative maxResponseAgeMs', { maxResponseAgeMs: -1 }, ['maxResponseAgeMs']],
  ['an endless maxResponseAgeMs', { maxResponseAgeMs: Number.POSITIVE_INFINITY }, ['maxResponseAgeMs']],
  ['maxResponseBytes of 0', { maxResponseBytes: 0 }, ['maxResponseBytes']],
  ['maxResponseBytes as text', { maxResponseBytes: '1' }, ['maxResponseBytes']],
  ['wire that is no object', { wire: 'planted' }, ['wire']],
  ['an unknown wire option', { wire: { planted: 1 } }, ['wire.planted']],
  ['a brand with a slash', { wire: { brand: 'a/b' } }, ['wire.brand']],
  ['an empty list marker', { wire: { listMarker: '' } }, ['wire.listMarker']],
  ['a list marker of two dots', { wire: { listMarker: '..' } }, ['wire.listMarker']],
  ['a first page of 2', { wire: { firstPage: 2 } }, ['wire.firstPage']],
  [
    'every wire option wrong',
    {
      wire: {
        brand: 1,
        listMarker: 1,
        firstPage: '0',
        timestampFormat: 'x',
        jobTimestampFormat: 'x',
        jobSignatureMember: 'x',
        echoesTimestamp: 'x',
        jobFlags: 'x',
        namesJob: 'x',
      },
    },
    [
      'wire.brand',
      'wire.listMarker',
      'wire.firstPage',
      'wire.timestampFormat',
      'wire.jobTimestampFormat',
      'wire.jobSignatureMember',
      'wire.echoesTimestamp',
      'wire.jobFlags',
      'wire.namesJob',
    ],
  ],
  ['a logger that cannot warn', { logger: { debug: () => 0, info: () => 0, error: () => 0 } }, ['logger']],
  ['an onEvent that is no function', { onEvent: 'planted' }, ['onEvent']],
  ['a user agent suffix with a line end', { userAgentSuffix: 'a\r\nx-planted: b' }, ['userAgentSuffix']],
  ['an unknown option', { apikey: 'planted-key' }, ['apikey']],
  [
    'much that is wrong at once',
    {
      partnerId: 85,
      apiKey: 'planted-key\n',
      baseUrls: { sandbox: 'https://planted:planted@hosted.test/v1?planted' },
      timeoutMs: -1,
      wire: { brand: 'A' },
      clock: 5,
    },
    ['partnerId', 'apiKey', 'baseUrls.sandbox', 'timeoutMs', 'wire.brand', 'clock'],
  ],
];

test.each(badClients)('new HostedClient() refuses %s, naming every option and no value', (_what, options, paths) => {
  const error = configErrorOf(() => new HostedClient({ ...good, ...options } as HostedClientOptions));

  expect(error).toMatchObject({ code: 'config', outcome: 'not_sent', operation: null, retryable: false });
  expect([...new Set(error.issues.map(({ path }) => path))].sort()).toEqual([...paths].sort());
  for (const path of paths) expect(error.message).toContain(path);
  const withoutPaths = paths.reduce((text, path) => text.replaceAll(path, ''), error.message);
  expect(withoutPaths).not.toMatch(/planted|hosted\.test/);
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['null', null],
  ['a text', 'options'],
  ['a number', 5],
  ['a list', []],
])('new HostedClient() refuses %s for its options', (_what, options) => {
  const error = configErrorOf(() => new HostedClient(options as HostedClientOptions));

  expect(error.code).toBe('config');
});

test('a partner id as a number is refused for its leading zeros', () => {
  const error = configErrorOf(() => new HostedClient({ ...good, partnerId: 85 as never }));

  expect(error.message).toMatch(/zero/);
});

test('an address that ends in /v1 is refused with the reason', () => {
  const error = configErrorOf(() => new HostedClient({ ...good, baseUrls: { sandbox: 'https://hosted.test/v1' } }));

  expect(error.message).toMatch(/\/v1.*version/);
});

test.each<[string | URL, string]>([
  ['https://hosted.test', 'https://hosted.test/v1/hosted_links/ref-1'],
  ['https://hosted.test/', 'https://hosted.test/v1/hosted_links/ref-1'],
  ['https://hosted.test/gateway/identity', 'https://hosted.test/gateway/identity/v1/hosted_links/ref-1'],
  ['https://hosted.test/gateway/', 'https://hosted.test/gateway/v1/hosted_links/ref-1'],
  ['https://hosted.test/v1/proxy', 'https://hosted.test/v1/proxy/v1/hosted_links/ref-1'],
  ['https://hosted.test:8443', 'https://hosted.test:8443/v1/hosted_links/ref-1'],
  [new URL('https://hosted.test/gateway'), 'https://hosted.test/gateway/v1/hosted_links/ref-1'],
  ['http://localhost:3000', 'http://localhost:3000/v1/hosted_links/ref-1'],
  ['http://127.0.0.1:3000/base', 'http://127.0.0.1:3000/base/v1/hosted_links/ref-1'],
  ['http://[::1]:3000', 'http://[::1]:3000/v1/hosted_links/ref-1'],
])('the base address %s is kept', async (sandbox, expected) => {
  const { client, sent } = clientOf(
    { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' },
    { baseUrls: { sandbox } },
  );

  await client.links.get('ref-1');

  expect(sent[0]?.url).toBe(expected);
});

test('the environment is the sandbox unless production is written', async () => {
  const link = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };
  const sandbox = clientOf(link);
  const production = clientOf(link, { environment: 'production' });

  await sandbox.client.links.get('ref-1');
  await production.client.links.get('ref-1');

  expect([sandbox.client.environment, production.client.environment]).toEqual(['sandbox', 'production']);
  expect(sandbox.sent[0]?.url).toMatch(/^https:\/\/sandbox\./);
  expect(production.sent[0]?.url).toMatch(/^https:\/\/production\./);
});

test('jobStatusBaseUrls counts for job status alone, and baseUrls where it has nothing', async () => {
  const options = { jobStatusBaseUrls: { sandbox: 'https://jobs.hosted.test/base' } };
  const answers = [signed({ job_complete: false }), { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' }];
  const sandbox = clientOf(answers, options);
  const production = clientOf(answers, { ...options, environment: 'production' });

  for (const { client } of [sandbox, production]) {
    await client.jobs.status({ userId: 'u', jobId: 'j' });
    await client.links.get('ref-1');
  }

  expect([...sandbox.sent, ...production.sent].map(({ url }) => url)).toEqual([
    'https://jobs.hosted.test/base/v1/job_status',
    'https://sandbox.hosted.test/v1/hosted_links/ref-1',
    'https://production.hosted.test/v1/job_status',
    'https://production.hosted.test/v1/hosted_links/ref-1',
  ]);
});

test('what becomes of the options after a client was made changes nothing', async () => {
  const baseUrls = { sandbox: 'https://sandbox.hosted.test' };
  const wire = { brand: 'acme' };
  const { client, sent } = clientOf({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' }, { baseUrls, wire });

  baseUrls.sandbox = 'https://elsewhere.test';
  wire.brand = 'other';
  await client.links.get('ref-1');

  expect(sent[0]?.url).toBe('https://sandbox.hosted.test/v1/acme_links/ref-1');
});

// fromEnv and withOptions ---------------------------------------------------

const variables = {
  HOSTED_PARTNER_ID: '007',
  HOSTED_API_KEY: 'key-of-the-environment',
  HOSTED_SECRET_KEY: '',
  HOSTED_SERVICE_PUBLIC_KEY: '',
  HOSTED_ENVIRONMENT: '',
  HOSTED_SANDBOX_BASE_URL: 'https://sandbox.env.test',
  HOSTED_PRODUCTION_BASE_URL: 'https://production.env.test',
};

function stubEnvironment(changes: Partial<typeof variables> = {}): void {
  for (const [name, value] of Object.entries({ ...variables, ...changes })) vi.stubEnv(name, value);
}

/** What a client made from the environment sends. */
async function sentFromEnv(overrides: Partial<HostedClientOptions> = {}) {
  const sent: { url: string; body: Record<string, unknown> }[] = [];
  const fetch = async (url: unknown, init?: RequestInit) => {
    sent.push({ url: String(url), body: JSON.parse(String(init?.body)) as Record<string, unknown> });
    return Response.json({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' });
  };
  await HostedClient.fromEnv({
    fetch: fetch as typeof globalThis.fetch,
    clock: { now: () => now },
    ...overrides,
  }).links.get('ref-1');
  return sent[0];
}

test('fromEnv() reads partner, key and addresses', async () => {
  stubEnvironment();

  const request = await sentFromEnv();

  expect(request?.url).toBe('https://sandbox.env.test/v1/hosted_links/ref-1');
  expect(request?.body).toEqual({
    partner_id: '007',
    timestamp: '2026-01-02T03:04:05.678Z',
    signature: sign('2026-01-02T03:04:05.678Z', 'key-of-the-environment', '007'),
  });
});

test('fromEnv() reads the environment’s name', async () => {
  stubEnvironment({ HOSTED_ENVIRONMENT: 'production' });

  const request = await sentFromEnv();

  expect(request?.url).toBe('https://production.env.test/v1/hosted_links/ref-1');
});

test('fromEnv() makes an Ed25519 signer of a pair of keys', async () => {
  const secretKey = Buffer.alloc(32, 7);
  const servicePublicKey = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex');
  stubEnvironment({
    HOSTED_API_KEY: '',
    HOSTED_SECRET_KEY: secretKey.toString('base64'),
    HOSTED_SERVICE_PUBLIC_KEY: servicePublicKey.toString('base64'),
  });
  const timestamp = '2026-01-02T03:04:05.678Z';

  const request = await sentFromEnv();

  const expected = await ed25519({ secretKey, servicePublicKey }).sign({ partnerId: '007', timestamp });
  expect(request?.body.signature).toBe(expected);
});

test('fromEnv() lets overrides count before the environment', async () => {
  stubEnvironment();

  const request = await sentFromEnv({
    partnerId: '085',
    apiKey: undefined as never,
    signer: hmacSha256({ apiKey: 'another-key', context: 'another' }),
    environment: 'production',
    baseUrls: { production: 'https://override.test' },
  });

  const text = '2026-01-02T03:04:05.678Z085another';
  expect(request?.url).toBe('https://override.test/v1/hosted_links/ref-1');
  expect(request?.body.signature).toBe(createHmac('sha256', 'another-key').update(text).digest('base64'));
});

test.each<[string, Partial<typeof variables>, readonly string[]]>([
  [
    'nothing',
    { HOSTED_PARTNER_ID: '', HOSTED_API_KEY: '', HOSTED_SANDBOX_BASE_URL: '', HOSTED_PRODUCTION_BASE_URL: '' },
    ['HOSTED_API_KEY', 'HOSTED_PARTNER_ID', 'HOSTED_SANDBOX_BASE_URL'],
  ],
  ['half a pair of keys', { HOSTED_API_KEY: '', HOSTED_SECRET_KEY: 'planted' }, ['HOSTED_API_KEY']],
  ['an unknown environment', { HOSTED_ENVIRONMENT: 'planted' }, ['HOSTED_ENVIRONMENT']],
  [
    'no production address',
    { HOSTED_ENVIRONMENT: 'production', HOSTED_PRODUCTION_BASE_URL: '' },
    ['HOSTED_PRODUCTION_BASE_URL'],
  ],
])('fromEnv() names what is missing when there is %s', (_what, changes, paths) => {
  stubEnvironment(changes);

  const error = configErrorOf(() => HostedClient.fromEnv());

  expect(error.code).toBe('config');
  expect(error.issues.map(({ path }) => path).sort()).toEqual(paths);
  for (const path of paths) expect(error.message).toContain(path);
  expect(error.message).not.toContain('planted');
});

test.each([
  ['a key with a line end', { HOSTED_API_KEY: 'planted-key\n' }],
  ['a bad address', { HOSTED_SANDBOX_BASE_URL: 'https://planted@hosted.test' }],
  ['a bad secret key', { HOSTED_API_KEY: '', HOSTED_SECRET_KEY: 'planted', HOSTED_SERVICE_PUBLIC_KEY: 'planted' }],
])('fromEnv() refuses %s without repeating it', (_what, changes) => {
  stubEnvironment(changes);

  const error = configErrorOf(() => HostedClient.fromEnv());

  expect(error.code).toBe('config');
  expect(error.message).not.toContain('planted');
});

const linkAnswer = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };

test('withOptions() changes what it is given and keeps the rest', async () => {
  const { client, sent } = clientOf(linkAnswer, { wire: { brand: 'acme' } });

  const production = client.withOptions({ environment: 'production', apiKey: undefined as never });
  await production.links.get('ref-1');
  await client.links.get('ref-1');

  expect(production).toBeInstanceOf(HostedClient);
  expect(production.environment).toBe('production');
  expect(client.environment).toBe('sandbox');
  expect(sent.map(({ url }) => url)).toEqual([
    'https://production.hosted.test/v1/acme_links/ref-1',
    'https://sandbox.hosted.test/v1/acme_links/ref-1',
  ]);
  expect(sent[0]?.body.signature).toBe(sign(String(sent[0]?.body.timestamp)));
});

test('withOptions() lets a signer replace the key, and a key the signer', async () => {
  const { client, sent } = clientOf(linkAnswer);

  const bySigner = client.withOptions({ signer: hmacSha256({ apiKey: 'signer-key' }) });
  const byKey = bySigner.withOptions({ apiKey: 'another-key' });
  await bySigner.links.get('ref-1');
  await byKey.links.get('ref-1');

  expect(sent.map(({ body }) => body.signature)).toEqual([
    sign(String(sent[0]?.body.timestamp), 'signer-key'),
    sign(String(sent[1]?.body.timestamp), 'another-key'),
  ]);
});

test('withOptions() refuses what a client refuses, all at once', () => {
  const { client } = clientOf(linkAnswer);

  const both = configErrorOf(() => client.withOptions({ apiKey: 'x', signer: hmacSha256({ apiKey }) }));
  const much = configErrorOf(() => client.withOptions({ timeoutMs: 0, partnerId: '' }));

  expect(both.issues.map(({ path }) => path)).toEqual(['apiKey']);
  expect(much.issues.map(({ path }) => path).sort()).toEqual(['partnerId', 'timeoutMs']);
});
