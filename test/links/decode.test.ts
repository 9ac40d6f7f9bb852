/** Links as the wire spells them, and the one clean link each spelling comes out as. */

import { inspect } from 'node:util';
import { HostedResponseError } from 'hosted-client';
import { expect, test } from 'vitest';
import { dateLikeTexts, dateUnlikeTexts, unreadableTimes } from '../fixtures/date-times.js';
import {
  emptyLink,
  fullLink,
  linkInSampleSpelling,
  linkInTableSpelling,
  linkRefId,
  linkUrl,
} from '../fixtures/records.js';
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

// Whole records

test.each([
  ['table', linkInTableSpelling],
  ['sample', linkInSampleSpelling],
])('links.get() reads every field of a link in the %s spelling', async (_spelling, record) => {
  expect(await get(record, linkRefId)).toEqual(fullLink);
});

test('links.get() reads fields that are missing as nothing', async () => {
  expect(await get(minimal)).toEqual({ ...emptyLink, url, linkId: refId, refId });
});

// A field that cannot be read

const lenientFields = [
  'name',
  'company_name',
  'is_single_use',
  'id_types',
  'callback_url',
  'data_privacy_policy_url',
  'logo_url',
  'created_at',
  'updated_at',
  'expires_at',
  'disabled_at',
];
const strictFields = ['link', 'link_url', 'ref_id', 'link_id', 'total_jobs', 'failed_jobs', 'successful_jobs'];
const idFields = ['partner_id', 'user_id', 'user_ids'];

test.each(lenientFields)(
  'links.get() and list() read a "%s" that is an object as nothing, and keep it in extra',
  async (field) => {
    const written = { [field]: { odd: 1 } };

    const links = [
      await getWith(written),
      ...(await list({ links: [{ ...minimal, ...written }], meta: oneMeta })).links,
    ];

    const state = field === 'disabled_at' ? 'disabled' : 'active';
    const expected = { ...emptyLink, url, linkId: refId, refId, state, extra: written };
    expect(links).toEqual([expected, expected]);
  },
);

test.each([...strictFields, ...idFields])('links.get() rejects a link whose "%s" is an object', async (field) => {
  expect(pathsOf(await misshapen(getWith({ [field]: {} })))).toEqual([field]);
});

test.each([...lenientFields, ...strictFields, ...idFields, 'callback'])(
  'an empty "%s" means nothing',
  async (field) => {
    const link = await get({ link_url: url, ref_id: refId, link: url, link_id: refId, [field]: '' });

    expect(link).toEqual({
      ...emptyLink,
      url,
      linkId: refId,
      refId,
      extra: field === 'callback' ? { callback: '' } : {},
    });
  },
);

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

test.each([[1], [0], ['1'], ['yes'], ['no'], [' true'], ['true '], ['falsely'], [[]], [{}]])(
  'links.get() does not guess what is_single_use %j means, and keeps it in extra',
  async (is_single_use) => {
    expect(await getWith({ is_single_use })).toMatchObject({ isSingleUse: null, extra: { is_single_use } });
  },
);

test('links.list() refuses a count that is none with its path and without its value', async () => {
  const records = [minimal, { ...minimal, total_jobs: 'Ada Example' }];

  const error = await misshapen(list({ links: records, meta: oneMeta }));

  expect(pathsOf(error)).toEqual(['links[1].total_jobs']);
  expect(error.message).toContain('links[1].total_jobs');
  expect(shown(error)).not.toContain('Ada Example');
});

test('of more fields that cannot be read, the first twenty are named', async () => {
  const names = [...strictFields.filter((name) => name !== 'link_id'), 'partner_id', 'user_id'];
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
  ...[undefined, null, '', false, true, 0, 1, 1_767_323_045_678, {}, [], ['2026-01-02T03:04:05Z']].map(
    (value): [unknown] => [value],
  ),
])('links.disable() rejects where disabled_at is %j, which is no date', async (disabled_at) => {
  const errors = [
    await rejection(clientOf({ ...minimal, disabled_at }).client.links.disable(refId)),
    await rejection(
      clientOf({ ...minimal, disabled_at }).client.links.update(refId, { isDisabled: true, idTypes: [] }),
    ),
  ];

  const message = "must be a date, at most a day ahead of this machine's clock, if the link is disabled";
  const issues = [{ path: 'disabled_at', message }];
  for (const error of errors) {
    expect(error).toBeInstanceOf(HostedResponseError);
    expect(error).toMatchObject({ reason: 'mismatch', outcome: 'answered', issues });
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
  ['total_jobs', { total_jobs: 'three' }],
  ['total_jobs', { total_jobs: 3.5 }],
  ['failed_jobs', { failed_jobs: {} }],
  ['successful_jobs', { successful_jobs: 'three' }],
  ['link_url', { link_url: 5 }],
  ['ref_id', { ref_id: 1.5 }],
  ['link_id', { link_id: 1.5 }],
  ['partner_id', { partner_id: 1.5 }],
  ['link', { link: {}, link_url: undefined }],
  ['user_ids[1]', { user_ids: ['u1', {}] }],
])('links.get() says of a misshapen "%s" what it must be', async (path, members) => {
  const error = await misshapen(getWith(members));

  expect(error.issues).toEqual([{ path, message: expect.stringMatching(/^must be /) }]);
});

const bvn = { country: 'NG', id_type: 'BVN', verification_method: 'enhanced_kyc' };

test.each<[unknown, object[]]>([
  [{}, []],
  ['NG', []],
  [[bvn, 'NG'], []],
  [[null], []],
  [
    [bvn, { ...bvn, country: 5 }],
    [
      { country: 'NG', idType: 'BVN', verificationMethod: 'enhanced_kyc' },
      { country: '', idType: 'BVN', verificationMethod: 'enhanced_kyc' },
    ],
  ],
])('links.get() reads the id_types %j as far as it can, and keeps them all in extra', async (id_types, idTypes) => {
  expect(await getWith({ id_types })).toMatchObject({ idTypes, extra: { id_types } });
  expect((await update({ ...minimal, id_types })).idTypes).toEqual(idTypes);
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
