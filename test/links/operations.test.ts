/** The link operations: what is said of input that is wrong, and how much is read of what is wrong. */

import { type HostedClient, HostedValidationError } from 'hosted-client';
import { expect, test } from 'vitest';
import { type Issue, maxIssues } from '../../src/errors/hosted-error.js';
import { createLink, listLinks } from '../../src/links/operations.js';
import { collectIn } from '../../src/protocol/scalars.js';
import { clientOf, newLink, rejection } from '../support/fake-fetch.js';

const bvn = { country: 'NG', idType: 'BVN', verificationMethod: 'biometric_kyc' };

const create = (members: object) => (client: HostedClient) => client.links.create({ ...newLink, ...members } as never);
const update = (changes: object) => (client: HostedClient) => client.links.update('ref-1', changes as never);

const onlyMethod = /^must be the only verification method of its country and ID type$/;

test.each<[string, (client: HostedClient) => Promise<unknown>, string, RegExp]>([
  [
    'a link without a callback URL',
    create({ callbackUrl: undefined }),
    'callbackUrl',
    /^must be an absolute http\(s\) .*null/,
  ],
  ['ID types that are no list', create({ idTypes: bvn }), 'idTypes', /^must be a list$/],
  ['a country of three letters', create({ idTypes: [{ ...bvn, country: 'NGA' }] }), 'idTypes[0].country', /two-letter/],
  ['a country of no letters', create({ idTypes: [{ ...bvn, country: 'N1' }] }), 'idTypes[0].country', /two-letter/],
  [
    'a country that is no string',
    create({ idTypes: [{ ...bvn, country: 5 }] }),
    'idTypes[0].country',
    /^must be a (?:text|string)$/,
  ],
  [
    'an unknown method',
    create({ idTypes: [{ ...bvn, verificationMethod: 'magic' }] }),
    'idTypes[0].verificationMethod',
    /^must be one of biometric_kyc, doc_verification, enhanced_document_verification, enhanced_kyc$/,
  ],
  [
    'two methods for one ID type',
    create({ idTypes: [bvn, { ...bvn, country: 'ng', verificationMethod: 'enhanced_kyc' }] }),
    'idTypes[1].verificationMethod',
    onlyMethod,
  ],
  [
    'changes that are a function',
    update(Object.assign(() => undefined, { isDisabled: true })),
    '',
    /^must be an object$/,
  ],
  ['changes that are a list', update(Object.assign([], { isDisabled: true })), '', /^must be an object$/],
  ['changes that are a string', update('disable' as never), '', /^must be an object$/],
  ['no change', update({}), '', /^at least one of "isDisabled" and "idTypes" must be given$/],
  [
    'an id with a slash',
    (client) => client.links.get('a/b'),
    'refId',
    /^must be 1 to 128 letters, digits, "_" or "-"$/,
  ],
  ['an id that is no string', (client) => client.links.get(5 as never), 'refId', /^must be a (?:text|string)$/],
  [
    'a limit of half a link',
    (client) => client.links.list().toArray({ limit: 0.5 }),
    'limit',
    /^must be an? .* of 0 or more, or Infinity$/,
  ],
  ['a limit below 0', (client) => client.links.list().toArray({ limit: -1 }), 'limit', /of 0 or more, or Infinity$/],
  ['no limit', (client) => client.links.list().toArray(undefined as never), 'limit', /of 0 or more, or Infinity$/],
])('%s is refused with what would be right', async (_what, call, path, message) => {
  const { client, sent } = clientOf({});

  const error = await rejection(call(client), HostedValidationError);

  expect(error).toMatchObject({ issues: [{ path, message: expect.stringMatching(message) }] });
  const { message: whole, issues } = error;
  expect(whole).toMatch(new RegExp(`^Cannot [a-z ]+: ${path === '' ? '' : '"'}`));
  expect(whole.endsWith(issues[0]?.message ?? 'no issue')).toBe(true);
  expect(error.operation).toMatch(/^links\./);
  expect(sent).toEqual([]);
});

const url = 'https://links.hosted.test/1';
test('a list whose signal is none rejects every iteration, and names it', async () => {
  const { client, sent } = clientOf({});
  const links = client.links.list({ signal: {} as never });

  for (let iteration = 0; iteration < 2; iteration++) {
    const error = await rejection(links[Symbol.asyncIterator]().next(), HostedValidationError);
    expect(error).toMatchObject({ issues: [{ path: 'signal' }] });
  }

  expect(Object.prototype.toString.call(links)).toBe('[object LinkList]');
  expect(sent).toEqual([]);
});

test('of a page no link is read beyond the 20th problem', () => {
  const unread = {
    get link_url(): string {
      throw new Error('was read');
    },
  };
  const wrong = Array.from({ length: 20 }, () => ({ link_url: url }));
  const page = { links: [...wrong, unread], meta: { currentPage: 1, limit: 20, totalCount: 2, totalPages: 1 } };

  const issues: Issue[] = [];

  listLinks.decode(page as never, {} as never, { report: collectIn(issues, maxIssues) } as never);

  expect(issues).toHaveLength(20);
});

test('of ID types none is read beyond the 20th problem', async () => {
  let reads = 0;
  const unread = {
    get country(): string {
      reads += 1;
      return 'NG';
    },
  };
  const wrong = Array.from({ length: 20 }, () => ({ ...bvn, country: 'N1' }));

  const error = await rejection(create({ idTypes: [...wrong, unread] })(clientOf({}).client));

  expect((error as HostedValidationError).issues).toHaveLength(20);
  expect(reads).toBe(0);
});

test('a body has no property for what was not given', () => {
  const { body } = createLink.encode({ ...newLink, name: undefined, callbackUrl: null }, {} as never);

  expect(Object.keys(body).sort()).toEqual(['company_name', 'data_privacy_policy_url']);
});
