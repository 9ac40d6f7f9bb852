/** Lists, records and values of several forms: what they cost is bounded by what is wrong, and nothing inherited counts. */

import { HostedResponseError, HostedValidationError, type NewLink } from 'hosted-client';
import { expect, test } from 'vitest';
import * as z from 'zod/mini';
import { wireHistoryEntry, wireJobStatus } from '../../src/jobs/wire.js';
import { wireLink, wireLinkPage } from '../../src/links/wire.js';
import { check } from '../../src/validation/check.js';
import { list, oneOf, record } from '../../src/validation/structure.js';
import { clientOf, rejection, signed } from '../support/fake-fetch.js';

const many = 100_000;
const entriesOf = (entry: unknown, length = many): unknown[] => Array.from({ length }, () => entry);

/** A list that counts how often one of its entries is read. */
function counted(entries: readonly unknown[]) {
  const reads = { count: 0 };
  const proxy: unknown = new Proxy(entries, {
    get(target, name) {
      if (typeof name === 'string' && /^\d+$/.test(name)) reads.count += 1;
      return Reflect.get(target, name);
    },
  });
  return { proxy, reads };
}

const pathsOf = ({ issues }: { readonly issues: readonly { readonly path: string }[] }) =>
  issues.map(({ path }) => path);

// Lists -----------------------------------------------------------------------

const strings = list(z.string('must be a string'));

test('list() gives a list of what its entries are read as', () => {
  const upper = z.pipe(
    z.string(),
    z.transform((value: string) => value.toUpperCase()),
  );

  expect(check(list(upper), ['a', 'b'])).toEqual({ data: ['A', 'B'], issues: [] });
  expect(check(list(upper), [])).toEqual({ data: [], issues: [] });
});

test.each([[undefined], [null], [5], ['a'], [{}], [{ length: 1 }]])('list() refuses %j, which is no list', (value) => {
  expect(check(strings, value)).toEqual({ issues: [{ path: '', message: 'must be a list' }] });
  expect(check(list(z.string(), { message: 'must be many' }), value).issues).toEqual([
    { path: '', message: 'must be many' },
  ]);
});

test('list() names every entry that is wrong, where there are few', () => {
  const entries = ['a', 5, 'b', null, 'c'];

  expect(check(strings, entries)).toEqual({
    issues: [1, 3].map((at) => ({ path: `[${at}]`, message: 'must be a string' })),
  });
});

test('list() looks at no entry beyond the 20th that is wrong', () => {
  const { proxy, reads } = counted([...entriesOf('a', 10), ...entriesOf(5)]);

  const { issues } = check(strings, proxy);

  expect(pathsOf({ issues })).toEqual(Array.from({ length: 20 }, (_, at) => `[${at + 10}]`));
  expect(reads.count).toBe(30);
});

test('list() stops by the number of issues, of which an entry may have several', () => {
  const pairs = list(record({ a: z.string(), b: z.string() }));
  const { proxy, reads } = counted(entriesOf({}));

  expect(check(pairs, proxy).issues).toHaveLength(20);
  expect(reads.count).toBe(10);
});

test('list() in a list stops both', () => {
  const inner = counted(entriesOf(5));
  const outer = counted(entriesOf(inner.proxy));

  expect(pathsOf(check(list(strings), outer.proxy))).toEqual(Array.from({ length: 20 }, (_, at) => `[0][${at}]`));
  // The first of the inner ones is read by the quick check, too.
  expect([outer.reads.count, inner.reads.count]).toEqual([1, 21]);
});

test('list() refuses more entries than it may have without a look at any', () => {
  const three = list(z.string(), { max: 3 });
  const { proxy, reads } = counted(['a', 'b', 'c', 'd']);

  expect(check(three, proxy)).toEqual({ issues: [{ path: '', message: 'must have at most 3 entries' }] });
  expect(reads.count).toBe(0);
  expect(check(three, ['a', 'b', 'c']).data).toEqual(['a', 'b', 'c']);
});

test('list() neither checks nor copies entries that are ordinary', () => {
  const isOrdinary = (entry: unknown) => typeof entry === 'object';
  const entry = { any: 'thing' };
  const schema = list(z.any().check(z.refine((value) => value === 'checked')), { isOrdinary });

  const { data } = check(schema, [entry, 'checked']);

  expect(data?.[0]).toBe(entry);
  expect(check(schema, [entry, 'wrong']).issues).toMatchObject([{ path: '[1]' }]);
});

test('list() copies no entry that is accepted as it stands, also beside one that is wrong', () => {
  const pairs = list(record({ a: z.string(), b: z.nullish(z.string()) }));
  const entries = entriesOf({ a: 'x' }, 1_000);

  expect(check(pairs, entries).data?.[0]).toBe(entries[0]);
  expect(pathsOf(check(pairs, [...entries, { a: 5 }]))).toEqual(['[1000].a']);
});

// Records ---------------------------------------------------------------------

const person = record({ name: z.string('must be a string'), age: z.nullish(z.number('must be a number')) });

test('record() gives its own fields and any others', () => {
  expect(check(person, { name: 'Ada', other: [1] })).toEqual({ data: { name: 'Ada', other: [1] }, issues: [] });
  expect(check(person, { name: 'Ada', age: null })).toEqual({ data: { name: 'Ada', age: null }, issues: [] });
});

test.each([[undefined], [null], [5], ['a'], [[]], [[{ name: 'Ada' }]]])(
  'record() refuses %j, which is none',
  (value) => {
    expect(check(person, value)).toEqual({ issues: [{ path: '', message: 'must be an object' }] });
  },
);

test('record() names every field that is wrong or missing', () => {
  expect(check(person, { age: 'x' })).toEqual({
    issues: [
      { path: 'name', message: 'must be a string' },
      { path: 'age', message: 'must be a number' },
    ],
  });
});

test('record() changes nothing of what it is given', () => {
  const shout = record({
    name: z.pipe(
      z.string(),
      z.transform((value: string) => value.toUpperCase()),
    ),
  });
  const given = Object.freeze({ name: 'Ada' });

  expect(check(shout, given).data).toEqual({ name: 'ADA' });
  expect(given).toEqual({ name: 'Ada' });
});

test('record() drops a field named __proto__, and takes nothing from it', () => {
  const given: unknown = JSON.parse('{"name":"Ada","__proto__":{"age":5,"other":1}}');

  const { data } = check(person, given);

  expect(data).toEqual({ name: 'Ada' });
  expect(Object.keys(data ?? {})).not.toContain('__proto__');
  expect(Object.getPrototypeOf(data)).toBe(Object.prototype);
});

const inherited: readonly [string, PropertyDescriptor][] = [
  ['a value', { value: 'inherited', writable: true, enumerable: true, configurable: true }],
  ['a value that cannot be written', { value: 'inherited', writable: false, configurable: true }],
  ['an accessor', { get: () => 'inherited', set: () => undefined, configurable: true }],
];

test.each(inherited)('record() takes no field from the prototype of all objects, be it %s', (_what, descriptor) => {
  const found: unknown[] = [];
  for (const name of ['name', 'age']) {
    Object.defineProperty(Object.prototype, name, descriptor);
    try {
      const read = check(person, name === 'name' ? { age: 5 } : { name: 'Ada' });
      found.push(name === 'name' ? read.issues : read.data?.age);
    } finally {
      Reflect.deleteProperty(Object.prototype, name);
    }
  }

  expect(found).toEqual([[{ path: 'name', message: 'must be a string' }], undefined]);
});

// Several forms ---------------------------------------------------------------

const forms = oneOf({ string: z.string(), list: strings, record: person }, 'must be one of three');

test('oneOf() reads each form by its own schema', () => {
  for (const value of ['a', ['a'], { name: 'Ada' }]) expect(check(forms, value)).toEqual({ data: value, issues: [] });
});

test('oneOf() has the issues of the form that came, and of no other', () => {
  expect(check(forms, [5])).toEqual({ issues: [{ path: '[0]', message: 'must be a string' }] });
  expect(check(forms, {})).toEqual({ issues: [{ path: 'name', message: 'must be a string' }] });
});

test('oneOf() refuses what has none of its forms', () => {
  const message = 'must be one of three';

  for (const value of [undefined, null, 5, true])
    expect(check(forms, value)).toEqual({ issues: [{ path: '', message }] });
  for (const value of ['a', [], {}])
    expect(check(oneOf({}, message), value)).toEqual({ issues: [{ path: '', message }] });
});

// The lists of responses ------------------------------------------------------

const link = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };
const meta = { currentPage: 1, limit: 20, totalCount: 1, totalPages: 1 };
const page = (links: unknown) => ({ links, meta });
const status = (members: object) => ({ job_complete: true, ...members });

/** Every list that a response may have: its schema, what is around it, an entry that is wrong, and how many there may be. */
const lists: readonly [string, z.ZodMiniType, (list: unknown) => unknown, unknown, number][] = [
  ['links', wireLinkPage, page, 5, 10_000],
  ['links[0].id_types', wireLinkPage, (entries) => page([{ ...link, id_types: entries }]), 5, 10_000],
  ['links[0].user_ids', wireLinkPage, (entries) => page([{ ...link, user_ids: entries }]), 1.5, 100_000],
  ['id_types', wireLink, (entries) => ({ ...link, id_types: entries }), { country: 5 }, 10_000],
  ['user_ids', wireLink, (entries) => ({ ...link, user_ids: entries }), {}, 100_000],
  ['history', wireJobStatus, (history) => status({ history }), { ResultText: 5 }, 10_000],
];

test.each(lists)(
  'of the list "%s" no more is looked at than it takes to find 20 issues',
  (path, schema, around, entry) => {
    const { proxy, reads } = counted(entriesOf(entry, 5_000));

    const { issues } = check(schema, around(proxy));

    expect(issues).toHaveLength(20);
    for (const [at, issue] of issues.entries()) expect(issue.path.startsWith(`${path}[${at}]`)).toBe(true);
    expect(reads.count).toBeLessThanOrEqual(40);
  },
);

test.each(lists)('the list "%s" is refused unseen where it is too long', (path, schema, around, _entry, most) => {
  const { proxy, reads } = counted(entriesOf(null, most + 1));

  const { issues } = check(schema, around(proxy));

  expect(issues).toEqual([{ path, message: `must have at most ${most} entries` }]);
  expect(reads.count).toBe(0);
});

/** Where a list stands for something else, it is refused by its length. */
const listsInPlaceOf: readonly [string, z.ZodMiniType, (list: unknown) => unknown][] = [
  ['meta', wireLinkPage, (entries) => ({ links: [], meta: entries })],
  ['result', wireJobStatus, (result) => status({ result })],
  ['result.Actions', wireJobStatus, (Actions) => status({ result: { Actions } })],
  ['result.PartnerParams', wireJobStatus, (PartnerParams) => status({ result: { PartnerParams } })],
  ['history[0].Actions', wireJobStatus, (Actions) => status({ history: [{ Actions }] })],
  ['history.PartnerParams', wireJobStatus, (PartnerParams) => status({ history: { PartnerParams } })],
  ['image_links', wireJobStatus, (image_links) => status({ image_links })],
  ['Actions', wireHistoryEntry, (Actions) => ({ Actions })],
  ['PartnerParams', wireHistoryEntry, (PartnerParams) => ({ PartnerParams })],
  ['FullName', wireHistoryEntry, (FullName) => ({ FullName })],
  ['id_types[0].country', wireLink, (country) => ({ ...link, id_types: [{ country }] })],
];

test.each(listsInPlaceOf)('a list for "%s" is refused unseen', (path, schema, around) => {
  const { proxy, reads } = counted(entriesOf('x'));

  expect(pathsOf(check(schema, around(proxy)))).toEqual([path]);
  expect(reads.count).toBe(0);
});

test('links.list() takes 10,000 links and refuses one more, naming the list alone', async () => {
  const links = Array.from({ length: 10_001 }, (_, at) => ({ ...link, ref_id: `ref-${at}` }));
  const { client } = clientOf([page(links.slice(1)), page(links)]);

  const read = await client.links.list();
  const error = await rejection(client.links.list());

  expect(read.links).toHaveLength(10_000);
  expect(error).toBeInstanceOf(HostedResponseError);
  expect(error).toMatchObject({ reason: 'shape', issues: [{ path: 'links' }] });
});

test('links.list() names the first 20 links without an id or a URL, and no more', async () => {
  const { client } = clientOf(page(entriesOf({}, 5_000)));

  const error = (await rejection(client.links.list())) as HostedResponseError;

  expect(error).toMatchObject({ reason: 'shape' });
  expect(pathsOf(error).slice(0, 4)).toEqual([0, 1].flatMap((at) => [`links[${at}].link_url`, `links[${at}].ref_id`]));
  expect(error.issues).toHaveLength(20);
  expect(error.message.length).toBeLessThanOrEqual(2_000);
});

test('jobs.status() refuses a long history of wrong results in few words', async () => {
  const { client } = clientOf(signed(status({ job_success: false, history: entriesOf({ ResultText: 5 }, 10_000) })));

  const error = (await rejection(
    client.jobs.status({ userId: 'u', jobId: 'j', history: true }),
  )) as HostedResponseError;

  expect(error).toMatchObject({ code: 'response', reason: 'shape' });
  expect(pathsOf(error)).toEqual(Array.from({ length: 20 }, (_, at) => `history[${at}].ResultText`));
  expect(error.message.length).toBeLessThanOrEqual(2_000);
});

// The lists of callers --------------------------------------------------------

const newLink: NewLink = {
  companyName: 'Example Ltd',
  dataPrivacyPolicyUrl: 'https://partner.test/privacy',
  callbackUrl: 'https://partner.test/callbacks',
};
const create = async (members: object) =>
  (await rejection(clientOf({}).client.links.create({ ...newLink, ...members } as NewLink))) as HostedValidationError;

function expectBounded(error: unknown): void {
  expect(error).toBeInstanceOf(HostedValidationError);
  const { issues, message } = error as HostedValidationError;
  expect(issues).toHaveLength(20);
  expect(message.length).toBeLessThanOrEqual(2_000);
}

test.each<[string, unknown]>([
  ['that are none', entriesOf(5)],
  ['without properties', entriesOf({})],
  ['of wrong values', entriesOf({ country: 5, idType: 5, verificationMethod: 'x' })],
  ['of a list that is a billion holes', new Array(1_000_000_000)],
  [
    'with two methods each',
    Array.from({ length: many }, (_, at) => ({
      country: 'NG',
      idType: `ID-${at % (many / 2)}`,
      verificationMethod: at < many / 2 ? 'biometric_kyc' : 'doc_verification',
    })),
  ],
])('links.create() refuses 100,000 ID types %s in few words', async (_what, idTypes) => {
  expectBounded(await create({ idTypes }));
});

test('links.create() reads no ID type beyond its first 20 problems', async () => {
  const { proxy, reads } = counted(entriesOf(5));

  const error = await create({ idTypes: proxy });

  expectBounded(error);
  expect(pathsOf(error)).toEqual(Array.from({ length: 20 }, (_, at) => `idTypes[${at}]`));
  expect(reads.count).toBeLessThan(100);
});

test('links.create() names what is wrong beside a long list too', async () => {
  const error = await create({ idTypes: entriesOf(5), companyName: ' ', name: 5 });

  expectBounded(error);
  expect(pathsOf(error)).toContain('companyName');
});
