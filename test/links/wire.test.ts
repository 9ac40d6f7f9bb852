/** Quick checks of links and ID types of a page: what they accept, the schemas accept as it stands; what is wrong, these refuse. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as z from 'zod/mini';
import { isOrdinaryLink, linkFields, wireLinkPage } from '../../src/links/wire.js';
import { wireString } from '../../src/protocol/scalars.js';
import { check, checkJson } from '../../src/validation/check.js';
import { list, record } from '../../src/validation/structure.js';
import { linkInSampleSpelling, linkInTableSpelling } from '../fixtures/records.js';

const meta = { currentPage: 1, limit: 20, totalCount: 3, totalPages: 1 };
const pageOf = (...links: readonly unknown[]) => ({ links, meta });

/** A page whose second link has other values for some members. */
const pageWith = (members: object) =>
  pageOf(linkInTableSpelling, { ...linkInTableSpelling, ...members }, linkInTableSpelling);

/** A link and its ID types by their schemas alone. */
const link = record({
  ...linkFields,
  id_types: z.nullish(list(record({ country: wireString, id_type: wireString, verification_method: wireString }))),
});

/** What a page reads as, after a look at whether each of its links reads as the schema of a link reads it. */
function readPage(page: { readonly links: readonly unknown[] }) {
  const read = check(wireLinkPage, page);
  const alone = page.links.map((given) => check(link, given));
  const issues = alone.flatMap((read, at) =>
    read.issues.map(({ path, message }) => ({ path: path === '' ? `links[${at}]` : `links[${at}].${path}`, message })),
  );

  expect(read.issues.filter(({ path }) => path.startsWith('links['))).toEqual(issues);
  if (read.data) expect(read.data.links).toEqual(alone.map(({ data }) => data));
  return read;
}

// What is ordinary

const texts = ['link', 'link_url', 'name', 'company_name'];
const codes = ['link_id', 'ref_id', 'user_id', 'partner_id'];
const counts = ['total_jobs', 'failed_jobs', 'successful_jobs'];
const addresses = ['callback_url', 'data_privacy_policy_url', 'logo_url'];
const times = ['created_at', 'updated_at', 'expires_at', 'disabled_at'];
const idType = { country: 'NG', id_type: 'BVN', verification_method: 'biometric_kyc' };
const idTypeMembers = Object.keys(idType);

test.each<[readonly string[], readonly unknown[]]>([
  [
    [...texts, ...codes],
    ['085', '', null, undefined],
  ],
  [codes, [0, 85, -1, Number.MAX_SAFE_INTEGER]],
  [counts, [0, 3, Number.MAX_SAFE_INTEGER, '0', '3', '3.0', '9007199254740991', null, undefined]],
  [['is_single_use'], [true, false, 'true', 'True', 'FALSE', null, undefined]],
  [['user_ids'], [[], ['u1', '', null, 4711], 'u1', '', null, undefined]],
  [['id_types'], [[], [idType, {}], null, undefined]],
  [
    [...addresses, ...times, 'flow'],
    ['x', '', 5, true, [], {}, null, undefined],
  ],
])('an ordinary link is taken as it is, without a copy, and as its schema takes it: %s', (members, values) => {
  for (const member of members) {
    for (const value of values) {
      const page = pageWith({ [member]: value });

      const read = readPage(page);

      expect(read).toEqual({ data: page, issues: [] });
      for (const [at, link] of page.links.entries()) expect(read.data?.links[at]).toBe(link);
    }
  }
});

test.each(idTypeMembers)('a link with an ID type of any text, or none, for "%s" is ordinary', (member) => {
  for (const value of ['', 'XK', null, undefined]) {
    const page = pageWith({ id_types: [idType, { ...idType, [member]: value }] });

    const read = readPage(page);

    expect(read).toEqual({ data: page, issues: [] });
    expect(read.data?.links[1]).toBe(page.links[1]);
  }
});

test('pages without links, and with members that nobody named, are read as they are', () => {
  for (const page of [pageOf(), { ...pageOf({}, { flow: 1 }), pages: 'many', meta: { ...meta, more: true } }]) {
    expect(readPage(page)).toEqual({ data: page, issues: [] });
  }
});

test('a link in the sample spelling is ordinary', () => {
  const page = pageOf(linkInSampleSpelling);

  const read = readPage(page);

  expect(read.issues).toEqual([]);
  expect(read.data?.links[0]).toBe(linkInSampleSpelling);
});

test('a link beside one that is not ordinary is taken as it is all the same', () => {
  const page = pageOf(linkInTableSpelling, JSON.parse('{"__proto__":{"name":"x"},"flow":1}'), linkInTableSpelling);

  const read = readPage(page);

  expect(read.issues).toEqual([]);
  expect(read.data?.links[0]).toBe(linkInTableSpelling);
  expect(Object.keys(read.data?.links[1] ?? {})).not.toContain('__proto__');
  expect(read.data?.links[1]).toMatchObject({ flow: 1 });
  expect(read.data?.links[2]).toBe(linkInTableSpelling);
});

test('the quick check of a link is tried with every field', () => {
  const tried = [...texts, ...codes, ...counts, ...addresses, ...times, 'is_single_use', 'user_ids', 'id_types'];

  expect(tried.sort()).toEqual(Object.keys(linkFields).sort());
});

test.each([...Object.keys(linkFields), ...idTypeMembers])(
  'no link of a page reads what it has not, while "%s" is on the prototype of all objects',
  (name) => {
    const page: unknown = JSON.parse(JSON.stringify(pageOf({ flow: 1, id_types: [{}] })));
    Object.defineProperty(Object.prototype, name, { value: 'inherited', configurable: true, writable: true });
    try {
      const { data, issues } = checkJson(wireLinkPage, page);

      expect(issues).toEqual([]);
      const [read] = data?.links ?? [];
      expect(read).toEqual({ flow: 1, id_types: [{}] });
      if (name !== 'id_types') expect(read?.[name]).toBeUndefined();
      expect(read?.id_types?.[0]?.[name]).toBeUndefined();
    } finally {
      Reflect.deleteProperty(Object.prototype, name);
    }
  },
);

// What is wrong

/** The paths at which a page is refused. */
function refusedAt(page: unknown): readonly string[] {
  return check(wireLinkPage, page).issues.map(({ path }) => path);
}

const noText = [5, true, [], {}];
const noCode = [1.5, 2 ** 53, true, [], {}];
const noCount = [-1, 1.5, 2 ** 53, 'three', '', true, [], {}];
const noRecord = [null, 5, 'x', true, []];

test.each<[readonly string[], readonly unknown[]]>([
  [texts, noText],
  [codes, noCode],
  [counts, noCount],
  [['is_single_use'], [0, 1, 'yes', '', [], {}]],
  [
    ['user_ids', 'id_types'],
    [5, true, {}],
  ],
  [['id_types'], ['NG']],
])('a page is refused where a link has another kind of value for %s', (members, values) => {
  for (const member of members) {
    for (const value of values) {
      const wrong = { ...linkInTableSpelling, [member]: value };

      for (const at of [0, 1, 2]) {
        const links = [0, 1, 2].map((place) => (place === at ? wrong : linkInTableSpelling));
        expect(refusedAt(pageOf(...links))).toEqual([`links[${at}].${member}`]);
      }
    }
  }
});

test('a page is refused where an entry of a list in a link is of another kind', () => {
  for (const value of noCode) {
    expect(refusedAt(pageWith({ user_ids: ['u1', value, 'u2'] }))).toEqual(['links[1].user_ids[1]']);
  }
  for (const value of noRecord) {
    expect(refusedAt(pageWith({ id_types: [idType, value, idType] }))).toEqual(['links[1].id_types[1]']);
  }
});

test.each(idTypeMembers)('a page is refused where "%s" of an ID type is no text', (member) => {
  for (const value of noText) {
    const id_types = [idType, { ...idType, [member]: value }, idType];
    expect(refusedAt(pageWith({ id_types }))).toEqual([`links[1].id_types[1].${member}`]);
  }
});

test('a page is refused where a link is no object', () => {
  for (const value of noRecord) {
    expect(refusedAt(pageOf(linkInTableSpelling, value, linkInTableSpelling))).toEqual(['links[1]']);
  }
});

test('a page is refused without a list of links, or without its place', () => {
  for (const value of [undefined, null, 5, 'x', true, {}]) {
    expect(refusedAt({ links: value, meta })).toEqual(['links']);
  }
  for (const value of [undefined, ...noRecord]) {
    expect(refusedAt({ links: [linkInTableSpelling], meta: value })).toEqual(['meta']);
  }
});

test.each(Object.keys(meta))('a page is refused where its meta.%s is no count', (member) => {
  for (const value of [undefined, null, ...noCount]) {
    expect(refusedAt({ links: [], meta: { ...meta, [member]: value } })).toEqual([`meta.${member}`]);
  }
});

test('what is no page at all is refused', () => {
  for (const value of [undefined, ...noRecord]) expect(refusedAt(value)).toEqual(['']);
});

// Any page

const odd = fc.oneof(
  fc.constantFrom<unknown>(...['true', 'FALSE', 'yes', '', '3', 'x', 0, 4711, -1, 1.5, 2 ** 53, true, false, null]),
  fc.constantFrom<unknown>([], {}, [null], [{}], [[]], ['u1', 4711], [{ country: 5 }]),
  fc.jsonValue({ maxDepth: 2 }),
);
/** A value as it is usual, seldom in another spelling, or of another kind. */
const mostly = (usual: fc.Arbitrary<unknown>, spelt: fc.Arbitrary<unknown> = usual) =>
  fc.oneof({ weight: 50, arbitrary: usual }, { weight: 2, arbitrary: spelt }, { weight: 1, arbitrary: odd });
const each = (names: readonly string[], ...kind: Parameters<typeof mostly>) =>
  Object.fromEntries(names.map((name) => [name, mostly(...kind)]));

const textOrNot = fc.option(fc.string());
const codeOrNot = fc.oneof(textOrNot, fc.nat());
const countAsText = fc.tuple(fc.maxSafeNat(), fc.constantFrom('', '.0', '.00')).map((parts) => parts.join(''));
const anyLink = fc.record(
  {
    ...each(texts, textOrNot),
    ...each(codes, textOrNot, codeOrNot),
    ...each(counts, fc.option(fc.maxSafeNat()), countAsText),
    ...each([...addresses, ...times, 'flow'], odd),
    is_single_use: mostly(fc.option(fc.boolean()), fc.constantFrom('true', 'FALSE')),
    user_ids: mostly(fc.option(fc.array(mostly(textOrNot, codeOrNot), { maxLength: 3 })), fc.constantFrom('u1', '')),
    id_types: mostly(
      fc.option(fc.array(mostly(fc.record(each(idTypeMembers, textOrNot), { requiredKeys: [] })), { maxLength: 3 })),
    ),
    // Written as `__proto__` below.
    proto: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: odd }),
  },
  { requiredKeys: [] },
);
const anyPage = fc.record({
  links: mostly(fc.array(mostly(anyLink, fc.constant(linkInSampleSpelling)), { maxLength: 3 })),
  meta: mostly(fc.record(each(Object.keys(meta), fc.maxSafeNat(), countAsText))),
});

test('any page gives the values, or the issues, that the schema of a link gives by itself', () => {
  const ends = { quick: 0, slow: 0, refused: 0 };
  const property = fc.property(anyPage, (generated) => {
    const written = JSON.stringify(generated).replaceAll('"proto":', '"__proto__":');
    const page = JSON.parse(written) as { links: unknown };

    const read = Array.isArray(page.links) ? readPage({ ...page, links: page.links }) : check(wireLinkPage, page);

    const quick = Array.isArray(page.links) && page.links.every(isOrdinaryLink);
    ends[read.data === undefined ? 'refused' : quick ? 'quick' : 'slow'] += 1;
    expect(JSON.stringify(page)).toBe(written);
  });

  fc.assert(property, { seed: 1, numRuns: 2_000 });

  // All three happen often: else this would say nothing.
  expect(Math.min(...Object.values(ends))).toBeGreaterThan(100);
}, 30_000);
