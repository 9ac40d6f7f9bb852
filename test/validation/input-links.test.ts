// What callers may pass to the operations on links, and what of it is sent.

import { HostedValidationError, type LinkChanges, type NewLink } from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { clientOf, newLink, rejection, sign } from '../support/fake-fetch.js';
import { created, expectRefusal } from './expect-refusal.js';

const updated = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1', disabled_at: null };

const bvn = { country: 'NG', idType: 'BVN', verificationMethod: 'biometric_kyc' as const };

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
  ['a relative privacy URL', { dataPrivacyPolicyUrl: '/privacy' }, ['dataPrivacyPolicyUrl']],
  ['an ftp callback', { callbackUrl: 'ftp://partner.test/' }, ['callbackUrl']],
  ['an ftp URL object', { callbackUrl: new URL('ftp://partner.test/') }, ['callbackUrl']],
  ['a logo that is no URL', { logoUrl: 'logo.png' }, ['logoUrl']],
  ['isSingleUse as text', { isSingleUse: 'true' }, ['isSingleUse']],
  ['a user id that is no text', { userId: 123 }, ['userId']],
  ['a blank user id', { userId: '' }, ['userId']],
  ['an expiry without an offset', { expiresAt: '2030-01-31T12:00:00' }, ['expiresAt']],
  ['an expiry that is no date', { expiresAt: 'tomorrow' }, ['expiresAt']],
  ['id types of null', { idTypes: null }, ['idTypes']],
  ['an id type of null', { idTypes: [null] }, ['idTypes[0]']],
  ['a country with a line end', { idTypes: [{ ...bvn, country: 'NG\n' }] }, ['idTypes[0].country']],
  ['an id type without an id type', { idTypes: [{ ...bvn, idType: undefined }] }, ['idTypes[0].idType']],
  [
    'the wire’s spelling',
    { idTypes: [{ country: 'NG', id_type: 'BVN', verification_method: 'biometric_kyc' }] },
    ['idTypes[0].idType', 'idTypes[0].verificationMethod', 'idTypes[0].id_type', 'idTypes[0].verification_method'],
  ],
  [
    'a bad entry beside two methods for one ID',
    { idTypes: [{ ...bvn, country: 'NGA' }, bvn, { ...bvn, verificationMethod: 'enhanced_kyc' }] },
    ['idTypes[0].country', 'idTypes[2].verificationMethod'],
  ],
  ['an unknown property', { companyname: 'Example Ltd' }, ['companyname']],
  ['extra that is a list', { extra: [] }, ['extra']],
  ['extra of null', { extra: null }, ['extra']],
  ['extra that refers to itself', { extra: circular() }, ['extra']],
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

test.each(badLinks)('links.create() refuses %s and names every property', async (_what, members, paths) => {
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

test.each(named)('links.create() lets no extra property replace %s', async (name) => {
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

test('links.create() lets no extra property change its mind after the check', async () => {
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

test('links.create() refuses a property __proto__ of extra, and takes no properties of a prototype', async () => {
  const own = JSON.parse('{"__proto__": {"partner_id": "planted"}}') as Record<string, unknown>;
  const inherited = Object.create({ partner_id: 'planted' }) as Record<string, unknown>;
  const { client, sent } = clientOf(created);

  await rejection(client.links.create({ ...newLink, extra: own }), HostedValidationError);
  await client.links.create({ ...newLink, extra: inherited });

  expect(sent).toHaveLength(1);
  expect(sent[0]?.body.partner_id).toBe('085');
});

test('links.create() lets no toJSON of its input replace anything', async () => {
  const { client, sent } = clientOf(created);
  const link = { ...newLink, toJSON: () => ({ partner_id: 'planted' }) };

  await rejection(client.links.create(link));

  for (const { body } of sent) expect(body.partner_id).toBe('085');
});

test('links.create() sends every property under its name of the protocol', async () => {
  const { client, sent } = clientOf(created);

  const link = await client.links.create({
    ...newLink,
    dataPrivacyPolicyUrl: new URL('https://partner.test/privacy'),
    name: 'Onboarding',
    // Methods are compared for each country and ID type alone, and the same entry counts once.
    idTypes: [
      bvn,
      { country: 'ng', idType: 'NIN', verificationMethod: 'enhanced_kyc' },
      { country: 'gh', idType: 'BVN', verificationMethod: 'doc_verification' },
      { country: 'XK', idType: 'BVN', verificationMethod: 'enhanced_document_verification' },
      { ...bvn, country: 'ng' },
    ],
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
      { country: 'NG', id_type: 'NIN', verification_method: 'enhanced_kyc' },
      { country: 'GH', id_type: 'BVN', verification_method: 'doc_verification' },
      { country: 'XK', id_type: 'BVN', verification_method: 'enhanced_document_verification' },
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
  ['enhanced_kyc without a callback', ['enhanced_kyc'], null, 1],
  ['enhanced_kyc beside another method, without a callback', ['doc_verification', 'enhanced_kyc'], null, 1],
  ['another method without a callback', ['doc_verification'], null, 0],
  ['enhanced_kyc with a callback', ['enhanced_kyc'], 'https://partner.test/callback', 0],
] as const)('links.create() logs %s as a warning or not', async (_what, methods, callbackUrl, lines) => {
  const warn = vi.fn();
  const ignore = () => undefined;
  const { client } = clientOf(created, { logger: { debug: ignore, info: ignore, warn, error: ignore } });

  const idTypes = methods.map((verificationMethod, at) => ({ ...bvn, idType: `TYPE_${at}`, verificationMethod }));
  await client.links.create({ ...newLink, callbackUrl, idTypes });

  expect(warn).toHaveBeenCalledTimes(lines);
});

test('links.create() warns once of a userId that is not kept, because the link is not for a single use', async () => {
  const warn = vi.fn();
  const ignore = () => undefined;
  const { client } = clientOf(created, { logger: { debug: ignore, info: ignore, warn, error: ignore } });

  await client.links.create({ ...newLink, userId: 'user-4711', isSingleUse: true });
  await client.links.create(newLink);
  expect(warn).not.toHaveBeenCalled();
  await client.links.create({ ...newLink, userId: 'user-4711' });
  await client.links.create({ ...newLink, userId: 'user-4711', isSingleUse: false });

  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('isSingleUse: true'));
  expect(warn.mock.calls.join()).not.toContain('4711');
});

test('links.create() responds with a reference id that cannot go into a path, and no call takes it', async () => {
  const { client, sent } = clientOf({ link: 'https://links.hosted.test/1', ref_id: '../secrets' });

  const { refId } = await client.links.create(newLink);
  const error = await rejection(client.links.get(refId), HostedValidationError);

  expect(error).toMatchObject({ issues: [{ path: 'refId' }] });
  expect(sent).toHaveLength(1);
});

// links.update, disable, get ------------------------------------------------

const badIds: readonly [string, unknown][] = [
  ['two dots', '..'],
  ['a slash', 'a/b'],
  ['a percent escape', '%2e%2e'],
  ['a line end', 'ref-1\n'],
  ['129 characters', 'a'.repeat(129)],
  ['the list marker', 'list'],
  ['nothing', undefined],
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
  ['a property of create', { isDisabled: true, name: 'x' }, ['name']],
])('links.update() refuses %s and names every property', async (_what, changes, paths) => {
  await expectRefusal((client) => client.links.update('ref-1', changes as LinkChanges), paths);
});

test('links.update() names a bad id and bad changes together', async () => {
  await expectRefusal(
    (client) => client.links.update('..', { isDisabled: 1, idTypes: 2 } as never),
    ['refId', 'isDisabled', 'idTypes'],
  );
  await expectRefusal((client) => client.links.update('a/b', {} as never), ['refId', '']);
});

test('links.update() sends what changes, and ID types as the service sent them', async () => {
  const { client, sent } = clientOf([
    { ...updated, id_types: [] },
    updated,
    { ...updated, disabled_at: '2026-01-02T03:04:05Z' },
  ]);
  const newer = { country: 'ke', idType: '', verificationMethod: 'a_method_of_tomorrow' };
  const nowhere = { ...newer, country: '' };

  await client.links.update('ref-1', { idTypes: [bvn, newer, nowhere, bvn] });
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
        { country: '', id_type: '', verification_method: 'a_method_of_tomorrow' },
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

test('links.list() names its bad options and those of a call together', async () => {
  const options = { page: -1, prefetch: 17, maxPages: 0, timeoutMs: 0 };

  await expectRefusal((client) => client.links.list(options), Object.keys(options));
});
