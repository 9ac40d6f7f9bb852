/** Links as the wire spells them, and the one clean link each spelling comes out as. */

import { inspect } from 'node:util';
import { HostedResponseError, type Link } from 'hosted-client';
import { expect, test } from 'vitest';
import { dateLikeTexts, dateUnlikeTexts, unreadableTimes } from '../fixtures/date-times.js';
import { linkInSampleSpelling, linkInTableSpelling, linkRefId, linkUrl, linkUserId } from '../fixtures/records.js';
import { clientOf, type Reply, rejection } from '../support/fake-fetch.js';

const refId = 'ref-1';
const url = 'https://links.hosted.test/085/ref-1';
const minimal = { link_url: url, ref_id: refId };
const oneMeta = { currentPage: 1, limit: 20, totalCount: 1, totalPages: 1 };
const newLink = {
  companyName: 'Example Partner',
  dataPrivacyPolicyUrl: 'https://partner.example/privacy',
  callbackUrl: 'https://partner.example/callbacks',
};

const get = (answer: Reply, id = refId) => clientOf(answer).client.links.get(id);
const getWith = (members: object) => get({ ...minimal, ...members });
const create = (answer: Reply) => clientOf(answer).client.links.create(newLink);
const update = (answer: Reply) => clientOf(answer).client.links.update(refId, { idTypes: [] });
const list = (answer: Reply) => clientOf(answer).client.links.list();

/** A response as it is written, where an object of ours could not say it. */
const raw = (text: string) => new Response(text, { headers: { 'content-type': 'application/json' } });

/** The refusal of a response for its shape. */
async function misshapen(promise: Promise<unknown>): Promise<HostedResponseError> {
  const error = await rejection(promise);
  if (!(error instanceof HostedResponseError)) throw error;
  expect(error).toMatchObject({ code: 'response', reason: 'shape', outcome: 'answered' });
  return error;
}

const pathsOf = (error: HostedResponseError) => error.issues.map(({ path }) => path);

/** Everything of an error that ends in a log. */
const shown = (error: Error) => [error.message, JSON.stringify(error), inspect(error, { showHidden: true })].join('\n');

const fullLink: Link = {
  url: linkUrl,
  linkId: linkRefId,
  refId: linkRefId,
  name: 'Onboarding',
  idTypes: [
    { country: 'NG', idType: 'BVN', verificationMethod: 'biometric_kyc' },
    { country: 'KE', idType: 'PASSPORT', verificationMethod: 'doc_verification' },
  ],
  isSingleUse: true,
  callbackUrl: 'https://partner.example/callbacks',
  dataPrivacyPolicyUrl: 'https://partner.example/privacy',
  logoUrl: 'https://partner.example/logo.svg',
  userIds: [linkUserId],
  jobs: { total: 3, failed: 1, successful: 2 },
  companyName: 'Example Partner',
  partnerId: '085',
  createdAt: new Date('2026-01-01T08:00:00.000Z'),
  updatedAt: new Date('2026-01-02T09:30:00.250Z'),
  expiresAt: new Date('2026-04-01T08:00:00.000Z'),
  disabledAt: null,
  state: 'active',
  extra: {},
};

// Whole records

test.each([
  ['table', linkInTableSpelling],
  ['sample', linkInSampleSpelling],
])('links.get() reads every field of a link in the %s spelling', async (_spelling, record) => {
  expect(await get(record, linkRefId)).toEqual(fullLink);
});

test('links.get() reads fields that are missing as nothing', async () => {
  expect(await get(minimal)).toEqual({
    url,
    linkId: refId,
    refId,
    name: null,
    idTypes: [],
    isSingleUse: null,
    callbackUrl: null,
    dataPrivacyPolicyUrl: null,
    logoUrl: null,
    userIds: [],
    jobs: { total: 0, failed: 0, successful: 0 },
    companyName: null,
    partnerId: null,
    createdAt: null,
    updatedAt: null,
    expiresAt: null,
    disabledAt: null,
    state: 'active',
    extra: {},
  });
});

// user_id, user_ids

// link, link_url

test('links.create() takes the url from "link", and get() from "link_url", if both have one', async () => {
  const both = { link: url, link_url: linkUrl, ref_id: refId };

  expect((await create(both)).url).toBe(url);
  const link = await get(both);
  expect([link.url, link.extra]).toEqual([linkUrl, {}]);
});

// link_id, ref_id

test('links.update() gives the id that was asked for where the response has none', async () => {
  expect((await update({ link_url: url })).refId).toBe(refId);
});

// is_single_use

test.each([[1], [0], ['1'], ['yes'], ['no'], [' true'], ['true '], ['falsely'], [[]], [['true']], [{}]])(
  'links.get() refuses is_single_use %j instead of guessing',
  async (is_single_use) => {
    const error = await misshapen(getWith({ is_single_use }));

    expect(pathsOf(error)).toEqual(['is_single_use']);
  },
);

test('links.list() refuses a boolean that is none with its path and without its value', async () => {
  const records = [minimal, { ...minimal, is_single_use: 'Ada Example' }];

  const error = await misshapen(list({ links: records, meta: oneMeta }));

  expect(pathsOf(error)).toEqual(['links[1].is_single_use']);
  expect(error.message).toContain('links[1].is_single_use');
  expect(shown(error)).not.toContain('Ada Example');
});

test('of more fields that cannot be read, the first twenty are named', async () => {
  const names = ['link', 'link_url', 'ref_id', 'name', 'company_name', 'total_jobs', 'failed_jobs', 'successful_jobs'];
  const record = Object.fromEntries(names.map((name) => [name, {}]));

  const paths = pathsOf(await misshapen(list({ links: [record, record, record, record], meta: oneMeta })));

  expect(paths).toHaveLength(20);
  expect(paths.slice(0, 16).sort()).toEqual([0, 1].flatMap((at) => names.map((name) => `links[${at}].${name}`)).sort());
});

// Counts

test('links.get() reads counts up to the largest exact one', async () => {
  expect((await getWith({ total_jobs: 9_007_199_254_740_991 })).jobs.total).toBe(9_007_199_254_740_991);
  expect((await getWith({ total_jobs: '9007199254740991' })).jobs.total).toBe(9_007_199_254_740_991);
});

test.each([
  ['9007199254740992'],
  ['9007199254740993'],
  ['"9007199254740992"'],
  ['"9007199254740993"'],
  ['1e400'],
  ['3.5'],
  ['"3.5"'],
  ['-1'],
  ['"-1"'],
  ['"three"'],
  ['""'],
  ['" 3"'],
  ['"x3"'],
  ['"3x"'],
  ['"3."'],
  ['"3.0x"'],
  ['"3.01"'],
  ['"0x3"'],
  ['true'],
  ['[]'],
  ['[3]'],
])('links.get() refuses %s as a count', async (written) => {
  const error = await misshapen(get(raw(`{"link_url":"${url}","ref_id":"${refId}","total_jobs":${written}}`)));

  expect(pathsOf(error)).toEqual(['total_jobs']);
});

test.each(['currentPage', 'limit', 'totalCount', 'totalPages'])(
  'links.list() refuses a meta.%s beyond 2^53 or missing',
  async (member) => {
    const beyond = await misshapen(list({ links: [], meta: { ...oneMeta, [member]: 2 ** 53 } }));
    const missing = await misshapen(list({ links: [], meta: { ...oneMeta, [member]: undefined } }));

    expect(pathsOf(beyond)).toEqual([`meta.${member}`]);
    expect(pathsOf(missing)).toEqual([`meta.${member}`]);
  },
);

// Times

test.each<[unknown]>([
  ...unreadableTimes.map((written): [unknown] => [written]),
  ...[['2026-01-02T03:04:05Z'], 1_767_323_045_678, 0, true, false, {}, []].map((written): [unknown] => [written]),
])('links.get() and list() read %j as no time, and keep it in extra', async (written) => {
  const times = { created_at: written, updated_at: written, expires_at: written, disabled_at: written };
  const read = { createdAt: null, updatedAt: null, expiresAt: null, disabledAt: null, extra: times };

  expect(await getWith(times)).toMatchObject(read);
  expect((await list({ links: [{ ...minimal, ...times }], meta: oneMeta })).links[0]).toMatchObject(read);
});

// disabled_at

test.each(dateLikeTexts)('links.disable() takes %j, a date that it cannot read, for done', async (disabled_at) => {
  const answered = [
    await clientOf({ ...minimal, disabled_at }).client.links.disable(refId),
    await clientOf({ ...minimal, disabled_at }).client.links.update(refId, { isDisabled: true, idTypes: [] }),
  ];

  for (const updated of answered) expect(updated).toMatchObject({ state: 'disabled', disabledAt: null });
});

test.each<[unknown]>([
  ...dateUnlikeTexts.map((text): [unknown] => [text]),
  ...[false, true, 0, 1, 1_767_323_045_678, {}, [], ['2026-01-02T03:04:05Z'], { date: '2026-01-02' }].map(
    (value): [unknown] => [value],
  ),
])('links.disable() rejects where disabled_at is %j, which is no date', async (disabled_at) => {
  const errors = [
    await rejection(clientOf({ ...minimal, disabled_at }).client.links.disable(refId)),
    await rejection(
      clientOf({ ...minimal, disabled_at }).client.links.update(refId, { isDisabled: true, idTypes: [] }),
    ),
  ];

  for (const error of errors) {
    expect(error).toBeInstanceOf(HostedResponseError);
    expect(error).toMatchObject({ reason: 'mismatch', outcome: 'answered', issues: [{ path: 'disabled_at' }] });
  }
});

test('links.disable() rejects where no id says which link is disabled', async () => {
  const answer = { link_url: url, disabled_at: '2026-01-02T03:04:05Z' };

  expect(await rejection(clientOf(answer).client.links.disable(refId))).toMatchObject({
    reason: 'mismatch',
    issues: [{ path: 'ref_id', message: 'must be there if the link is disabled' }],
  });
});

// Addresses

const noAddresses = ['javascript:alert(1)', 'ftp://links.hosted.test/1', '/1111/123456', 'links.hosted.test', 'none'];

test.each(noAddresses.map((address) => [address]))('links refuse %j as their own url', async (address) => {
  const record = { link_url: address, ref_id: refId };

  const refusals = [
    [await misshapen(create({ link: address, ref_id: refId })), 'link'],
    [await misshapen(get(record)), 'link_url'],
    [await misshapen(update(record)), 'link_url'],
    [await misshapen(list({ links: [minimal, record], meta: { ...oneMeta, totalCount: 2 } })), 'links[1].link_url'],
  ] as const;

  for (const [error, path] of refusals) {
    expect(pathsOf(error)).toEqual([path]);
    if (address !== 'none') expect(shown(error)).not.toContain(address);
  }
});

const addresses = [
  ['callback_url', 'callbackUrl'],
  ['data_privacy_policy_url', 'dataPrivacyPolicyUrl'],
  ['logo_url', 'logoUrl'],
] as const;

test.each(addresses)('links.get() reads any other "%s" as null and keeps its text in extra', async (member, clean) => {
  for (const address of noAddresses) {
    const link = await getWith({ [member]: address });

    expect(link[clean]).toBeNull();
    expect(link.extra).toEqual({ [member]: address });
  }
});

test.each(addresses)(
  'links.get() reads a "%s" that is no text as null and keeps it in extra',
  async (member, clean) => {
    for (const written of [5, false, {}, [], ['https://partner.example/a']]) {
      const link = await getWith({ [member]: written });

      expect(link[clean]).toBeNull();
      expect(link.extra).toEqual({ [member]: written });
    }
  },
);

// What is not there

test.each(addresses)('links.list() reads "%s" of each link, whatever the link before it has', async (member, clean) => {
  const [one, other] = ['https://partner.example/1', 'https://partner.example/2'];
  const written = [one, one, 'none', other, 'none', 'none', null, one, undefined, 5, one];

  const page = await list({ links: written.map((value) => ({ ...minimal, [member]: value })), meta: oneMeta });

  const isUrl = (value: unknown) => value === one || value === other;
  const isUnreadable = (value: unknown) => value === 'none' || value === 5;
  expect(page.links.map((link) => link[clean])).toEqual(written.map((value) => (isUrl(value) ? value : null)));
  expect(page.links.map(({ extra }) => extra)).toEqual(
    written.map((value) => (isUnreadable(value) ? { [member]: value } : {})),
  );
});

const noUrl = (path: string) => ({ path, message: 'must be an http(s) URL' });
const noId = (path = 'ref_id') => ({ path, message: 'must be there' });

test('links refuse a response without id and URL, naming both', async () => {
  const empty = { name: 'Onboarding' };

  expect((await misshapen(create(empty))).issues).toEqual([noUrl('link'), noId()]);
  expect((await misshapen(get(empty))).issues).toEqual([noUrl('link_url'), noId()]);
  expect((await misshapen(list({ links: [empty, minimal, empty], meta: oneMeta }))).issues).toEqual([
    noUrl('links[0].link_url'),
    noId('links[0].ref_id'),
    noUrl('links[2].link_url'),
    noId('links[2].ref_id'),
  ]);
});

test.each<[string, object]>([
  ['is_single_use', { is_single_use: 'yes' }],
  ...[1, 0, '1', ' true', 'true ', 'falsely', []].map((is_single_use): [string, object] => [
    'is_single_use',
    { is_single_use },
  ]),
  ['total_jobs', { total_jobs: 'three' }],
  ['total_jobs', { total_jobs: 3.5 }],
  ['failed_jobs', { failed_jobs: {} }],
  ['successful_jobs', { successful_jobs: 'three' }],
  ['name', { name: 5 }],
  ['company_name', { company_name: {} }],
  ['link_url', { link_url: 5 }],
  ['ref_id', { ref_id: 1.5 }],
  ['link_id', { link_id: 1.5 }],
  ['partner_id', { partner_id: 1.5 }],
  ['id_types', { id_types: {} }],
  ['id_types[0]', { id_types: ['NG'] }],
  ['id_types[0].country', { id_types: [{ country: 5 }] }],
  ['id_types[0].id_type', { id_types: [{ id_type: 5 }] }],
  ['id_types[0].verification_method', { id_types: [{ verification_method: 5 }] }],
  ['link', { link: {}, link_url: undefined }],
  ['user_id', { user_id: {} }],
  ['user_ids', { user_ids: {} }],
  ['user_ids[1]', { user_ids: ['u1', {}] }],
])('links.get() says of a misshapen "%s" what it must be', async (path, members) => {
  const error = await misshapen(getWith(members));

  expect(error.issues).toEqual([{ path, message: expect.stringMatching(/^must be /) }]);
});

test.each<[string, object]>([
  ['meta', { links: [] }],
  ['meta', { links: [], meta: [] }],
  ['meta.limit', { links: [], meta: { ...oneMeta, limit: 'twenty' } }],
  ['links', { meta: oneMeta }],
  ['links', { links: minimal, meta: oneMeta }],
  ['links[0]', { links: [null], meta: oneMeta }],
])('links.list() says of a misshapen "%s" what it must be', async (path, answer) => {
  const error = await misshapen(list(answer));

  expect(error.issues).toEqual([{ path, message: expect.stringMatching(/^must be /) }]);
});

// What nobody named

test('links.list() keeps no signature of a link in extra', async () => {
  const pair = { signature: 'a', sec_key: 'b' };
  const deep = [1, { ...pair, more: 1 }];
  const record = { ...minimal, ...pair, more: deep, partner_params: { ...pair, deep } };

  const { links } = await list({ links: [record], meta: oneMeta });

  expect(links[0]?.extra).toEqual({ more: [1, { more: 1 }], partner_params: { deep: [1, { more: 1 }] } });
});

test('fields named __proto__, constructor and then touch no prototype and break no awaiting', async () => {
  const link = await get(
    raw(`{"link_url":"${url}","ref_id":"${refId}","__proto__":{"polluted":true,"disabled_at":"2026-01-01T00:00:00Z"},
      "constructor":{"prototype":{"polluted":true}},"then":"later","id_types":[{"country":"NG","id_type":"BVN",
      "verification_method":"enhanced_kyc","__proto__":{"polluted":true},"then":"later"}]}`),
  );

  expect(link).toMatchObject({ url, refId, state: 'active' });
  expect(link.extra.then).toBe('later');
  expect(Object.getOwnPropertyDescriptor(link.extra, 'constructor')?.value).toEqual({ prototype: { polluted: true } });
  for (const value of [{}, link, link.extra, link.jobs, ...link.idTypes]) {
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect('polluted' in value).toBe(false);
  }
});

test('links.get() and list() keep no field named __proto__ in extra', async () => {
  const record = `{"link_url":"${url}","ref_id":"${refId}","flow":"a","__proto__":{"polluted":true}}`;

  const got = await get(raw(record));
  const listed = (await list(raw(`{"links":[${record}],"meta":${JSON.stringify(oneMeta)}}`))).links[0];

  for (const link of [got, listed]) expect(Object.getOwnPropertyNames(link?.extra)).toEqual(['flow']);
});

test('what stands under __proto__ stands for no field', async () => {
  const hidden = raw(`{"__proto__":{"link_url":"${url}","link":"${url}","ref_id":"${refId}","link_id":"${refId}"}}`);

  expect(pathsOf(await misshapen(get(hidden)))).toEqual(['link_url', 'ref_id']);
  expect(pathsOf(await misshapen(create(hidden)))).toEqual(['link', 'ref_id']);
});

test('links.create() and list() await responses with a field named then', async () => {
  const record = `"link":"${url}","ref_id":"${refId}","then":"later"`;
  const page = `{"links":[{${record}}],"meta":${JSON.stringify(oneMeta)},"then":"later"}`;

  expect(await create(raw(`{${record}}`))).toEqual({ url, refId });
  expect((await list(raw(page))).links).toHaveLength(1);
});

test('links.get() keeps no signature in extra when the response hands our request back', async () => {
  const { client } = clientOf(({ body }) =>
    Response.json({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1', more: 'kept', ...body }),
  );

  const link = await client.links.get('ref-1');

  expect(link.extra).toEqual({ more: 'kept', timestamp: expect.any(String) });
});
