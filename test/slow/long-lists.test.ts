/** Long lists in responses and in callers' input: no more of them is read than it takes to find 20 issues. */

import { HostedResponseError, HostedValidationError, type NewLink } from 'hosted-client';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { DecodeContext } from '../../src/call/operation.js';
import { type Issue, maxIssues } from '../../src/errors/hosted-error.js';
import { decodeHistoryEntry, decodeStatus } from '../../src/jobs/decode.js';
import { decodeLink, decodePage } from '../../src/links/decode.js';
import { collectIn } from '../../src/protocol/scalars.js';
import { clientOf, newLink, rejection, signed } from '../support/fake-fetch.js';

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

// Responses that would take seconds to parse ------------------------------------

const eightMiB = 8 * 1024 * 1024;
const filled = (before: string, repeated: string, after = '') =>
  `${before}${repeated.repeat(Math.floor((eightMiB - before.length - after.length) / repeated.length))}${after}`;

/** A body that arrives in chunks of 1 MiB. */
function chunksOf(text: string): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + 1024 * 1024));
      at += 1024 * 1024;
    },
  });
}

test.each([
  ['lists that nothing closes', filled('', '[')],
  ['lists in lists', filled('', '[', ']'.repeat(eightMiB / 2))],
  ['objects in objects', filled('', '{"a":')],
  ['lists beside each other', filled('{"links":[', '[],', '[]]}')],
  ['objects beside each other', filled('[', '{},', '{}]')],
  ['more than 8 MiB', `${filled('', '[')}]`],
])('a response of 8 MiB of %s is rejected before it is parsed', async (_what, text) => {
  const parse = vi.spyOn(JSON, 'parse');
  onTestFinished(() => parse.mockRestore());
  const { client } = clientOf(() => new Response(chunksOf(text)));
  const calls = [() => client.links.list(), () => client.jobs.status({ userId: 'u', jobId: 'j' })];

  for (const call of calls) {
    const error = await rejection(call() as Promise<unknown>);
    expect(error).toMatchObject({ code: 'response', reason: text.length > eightMiB ? 'too_large' : 'malformed' });
    expect((error as HostedResponseError).rawBody().slice(0, 100)).toBe(text.slice(0, 100));
  }
  for (const [given] of parse.mock.calls) expect(given.length).toBeLessThan(1_000);
});

test.each([
  [250_000, 'shape'],
  [250_001, 'malformed'],
])('a response with %d opening brackets is parsed up to a quarter of a million: %s', async (brackets, reason) => {
  const text = `{"links":[{"name":"[{"}${',{}'.repeat(brackets - 5)}]}`;
  const { client } = clientOf(new Response(text));

  expect(text.match(/[[{]/g)).toHaveLength(brackets);
  expect(await rejection(client.links.list())).toMatchObject({ code: 'response', reason });
});

// The lists of responses ------------------------------------------------------

const link = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };
const meta = { currentPage: 1, limit: 20, totalCount: 1, totalPages: 1 };
const page = (links: unknown) => ({ links, meta });
const status = (members: object) => ({ job_complete: true, job_success: false, ...members });

type Decode = (response: never, context: DecodeContext) => unknown;

const aPage: Decode = decodePage;
const aLink: Decode = (response, context) => decodeLink(response, link.ref_id, context);
const aStatus: Decode = (response, context) => decodeStatus(response, { userId: 'u', jobId: 'j' }, context);
const anEntry: Decode = (response, { report }) => decodeHistoryEntry(response, 'hosted', report);

const contextOf = (issues: Issue[]): DecodeContext => ({
  wire: { brand: 'hosted', namesJob: true } as DecodeContext['wire'],
  now: 0,
  signedAt: null,
  report: collectIn(issues, maxIssues),
  reportMismatch: collectIn([], maxIssues),
});

/** The issues of the shape of a response. */
function issuesOf(decode: Decode, response: unknown): readonly Issue[] {
  const issues: Issue[] = [];
  decode(response as never, contextOf(issues));
  return issues;
}

/** Every list that decides over its response: how it is read, what is around it, an entry that is wrong, and how many there may be. */
const lists: readonly [string, Decode, (list: unknown) => unknown, unknown, number][] = [
  ['links', aPage, page, 5, 10_000],
  ['links[0].user_ids', aPage, (entries) => page([{ ...link, user_ids: entries }]), 1.5, 100_000],
  ['user_ids', aLink, (entries) => ({ ...link, user_ids: entries }), {}, 100_000],
];

test.each(lists)(
  'of the list "%s" no more is looked at than it takes to find 20 issues',
  (path, decode, around, entry) => {
    const { proxy, reads } = counted(entriesOf(entry, 5_000));

    const issues = issuesOf(decode, around(proxy));

    expect(issues).toHaveLength(20);
    for (const [at, issue] of issues.entries()) expect(issue.path.startsWith(`${path}[${at}]`)).toBe(true);
    expect(reads.count).toBeLessThanOrEqual(40);
  },
);

test.each(lists)('the list "%s" is refused unseen where it is too long', (path, decode, around, _entry, most) => {
  const { proxy, reads } = counted(entriesOf(null, most + 1));

  const issues = issuesOf(decode, around(proxy));

  expect(issues).toEqual([{ path, message: `must have at most ${most} entries` }]);
  expect(reads.count).toBe(0);
});

test('a list that is too long, and decides nothing, is read as nothing', () => {
  const { proxy, reads } = counted(entriesOf({}, 10_001));
  const idTypes = entriesOf({ country: 5 }, 10_001);

  expect(aStatus(status({ history: proxy }) as never, contextOf([]))).toMatchObject({ history: null });
  expect(reads.count).toBe(0);
  expect(aLink({ ...link, id_types: idTypes } as never, contextOf([]))).toMatchObject({
    idTypes: [],
    extra: { id_types: idTypes },
  });
});

test('ID types that cannot be read are copied once', () => {
  const { proxy, reads } = counted(entriesOf({ country: 5 }, 1_000));

  expect(aLink({ ...link, id_types: proxy } as never, contextOf([]))).toMatchObject({ extra: { id_types: proxy } });

  expect(reads.count).toBeLessThan(10_000);
});

/** Where a list stands for something else, it is refused, or read as nothing, by its length. */
const listsInPlaceOf: readonly [string, Decode, (list: unknown) => unknown, 'refused' | 'nothing'][] = [
  ['meta', aPage, (entries) => ({ links: [], meta: entries }), 'refused'],
  ['result', aStatus, (result) => status({ result }), 'nothing'],
  ['result.PartnerParams', aStatus, (PartnerParams) => status({ result: { PartnerParams } }), 'refused'],
  ['history.PartnerParams', aStatus, (PartnerParams) => status({ history: { PartnerParams } }), 'refused'],
  ['image_links', aStatus, (image_links) => status({ image_links }), 'nothing'],
  ['PartnerParams', anEntry, (PartnerParams) => ({ PartnerParams }), 'refused'],
];

test.each(listsInPlaceOf)('no entry of a list for "%s" is read', (path, decode, around, end) => {
  const { proxy, reads } = counted(entriesOf('x'));

  expect(pathsOf({ issues: issuesOf(decode, around(proxy)) })).toEqual(end === 'refused' ? [path] : []);
  expect(reads.count).toBe(0);
});

test('links.list() takes 10,000 links and refuses one more, naming the list alone', async () => {
  const links = Array.from({ length: 10_001 }, (_, at) => ({ ...link, ref_id: `ref-${at}` }));
  const { client } = clientOf([page(links.slice(1)), page(links)]);

  const read = await client.links.list();
  const error = await rejection(client.links.list(), HostedResponseError);

  expect(read.links).toHaveLength(10_000);
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
  const { client } = clientOf(signed(status({ job_success: false, history: entriesOf({ PartnerParams: 5 }, 10_000) })));

  const error = (await rejection(
    client.jobs.status({ userId: 'u', jobId: 'j', history: true }),
  )) as HostedResponseError;

  expect(error).toMatchObject({ code: 'response', reason: 'shape' });
  expect(pathsOf(error)).toEqual(Array.from({ length: 20 }, (_, at) => `history[${at}].PartnerParams`));
  expect(error.message.length).toBeLessThanOrEqual(2_000);
});

// The lists of callers --------------------------------------------------------

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
