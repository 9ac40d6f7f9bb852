/** Links of the mock service: what it remembers, and how it says so. */

import { createMockService, type MockServiceOptions } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { newLink, nowText, partnerOf, send, signedBy, stillClock, wireJob } from './partner.js';

function start(options: MockServiceOptions = {}) {
  const service = createMockService({ clock: stillClock, ...options });
  return { service, sandbox: service.sandbox, partner: partnerOf(service) };
}

const bvn = { country: 'NG', id_type: 'BVN', verification_method: 'enhanced_kyc' };
const passport = { country: 'KE', id_type: 'PASSPORT', verification_method: 'doc_verification' };

test('mock.links.create() responds with link and ref_id, and mock.links.get() the record', async () => {
  const { partner } = start();

  const created = await partner.create({
    ...newLink,
    name: 'Onboarding',
    id_types: [{ ...bvn, note: 'not kept' }],
    is_single_use: true,
  });
  const { status, body } = await partner.get(created.body.ref_id);

  expect(created.status).toBe(200);
  expect(created.body).toEqual({ link: expect.stringMatching(/^https:\/\//), ref_id: expect.any(String) });
  expect(status).toBe(200);
  expect(body).toEqual({
    link_url: created.body.link,
    link_id: created.body.ref_id,
    ref_id: created.body.ref_id,
    name: 'Onboarding',
    id_types: [bvn],
    is_single_use: true,
    callback_url: newLink.callback_url,
    data_privacy_policy_url: newLink.data_privacy_policy_url,
    logo_url: null,
    user_id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
    total_jobs: 0,
    failed_jobs: 0,
    successful_jobs: 0,
    company_name: newLink.company_name,
    partner_id: '085',
    created_at: nowText,
    disabled_at: null,
    expires_at: null,
    updated_at: nowText,
  });
});

test('mock.links.create() keeps the user id and the expiry it is given', async () => {
  const { partner } = start();

  const created = await partner.create({ ...newLink, user_id: 'user-1', expires_at: '2026-03-01T12:00:00+02:00' });
  const { body } = await partner.get(created.body.ref_id);

  expect(body).toMatchObject({ user_id: 'user-1', expires_at: '2026-03-01T12:00:00+02:00' });
});

test('mock.links.update() replaces the whole list of ID types', async () => {
  const { partner } = start();
  const created = await partner.create({ ...newLink, id_types: [bvn] });
  const { ref_id: refId, link } = created.body;

  const updated = await partner.update(refId, { id_types: [passport] });
  const emptied = await partner.update(refId, { id_types: [] });

  expect(updated.body).toEqual({ disabled_at: null, id_types: [passport], link_url: link, ref_id: refId });
  expect(emptied.body.id_types).toEqual([]);
  expect((await partner.get(refId)).body.id_types).toEqual([]);
});

test('mock.links.update() disables a link, and is_disabled false leaves it so', async () => {
  const { partner } = start();
  const created = await partner.create();

  const disabled = await partner.update(created.body.ref_id, { is_disabled: true });
  const still = await partner.update(created.body.ref_id, { is_disabled: false });

  expect(disabled.body.disabled_at).toBe(nowText);
  expect(still.body.disabled_at).toBe(nowText);
  expect((await partner.get(created.body.ref_id)).body.disabled_at).toBe(nowText);
});

test('mock.links.update() without a change responds with the link as it is', async () => {
  const { partner } = start();
  const created = await partner.create({ ...newLink, id_types: [bvn] });

  const { status, body } = await partner.update(created.body.ref_id, { is_disabled: false });

  expect(status).toBe(200);
  expect(body).toMatchObject({ disabled_at: null, id_types: [bvn] });
});

test('mock.links.list() pages from 1 by default, first page when none is asked for', async () => {
  const { sandbox, partner } = start();
  sandbox.links.seed(45);

  const pages = [await partner.list(), await partner.list({ page: 2 }), await partner.list({ page: 3 })];

  expect(pages.map(({ body }) => body.links.length)).toEqual([20, 20, 5]);
  expect(pages.map(({ body }) => body.meta.currentPage)).toEqual([1, 2, 3]);
  expect(pages[0]?.body.meta).toEqual({ currentPage: 1, limit: 20, totalCount: 45, totalPages: 3 });
  expect(pages.flatMap(({ body }) => body.links)).toEqual(sandbox.links.all());
});

test.each([
  ['the firstPage option', { firstPage: 0 }],
  ['wire.firstPage', { wire: { firstPage: 0 } }],
  ['the firstPage option over wire.firstPage', { firstPage: 0, wire: { firstPage: 1 } }],
] as const)('mock.links.list() pages from 0 by %s', async (_what, options) => {
  const { sandbox, partner } = start({ ...options, pageSize: 2 });
  sandbox.links.seed(3);

  const first = await partner.list();
  const zeroth = await partner.list({ page: 0 });
  const last = await partner.list({ page: 1 });

  expect(first.body.meta).toEqual({ currentPage: 0, limit: 2, totalCount: 3, totalPages: 2 });
  expect(zeroth.body).toEqual(first.body);
  expect(last.body.links).toHaveLength(1);
});

test('mock.links.list() responds with a page beyond the last with no links', async () => {
  const { sandbox, partner } = start({ pageSize: 2 });
  sandbox.links.seed(3);

  const { status, body } = await partner.list({ page: 9 });

  expect(status).toBe(200);
  expect(body).toEqual({ links: [], meta: { currentPage: 9, limit: 2, totalCount: 3, totalPages: 2 } });
});

test('mock.links.list() without links responds with no pages', async () => {
  const { partner } = start();

  const { body } = await partner.list();

  expect(body).toEqual({ links: [], meta: { currentPage: 1, limit: 20, totalCount: 0, totalPages: 0 } });
});

test('mock links count their jobs', async () => {
  const { sandbox, partner } = start();
  const { ref_id: linkRefId } = (await partner.create()).body;
  const jobs = [1, 2, 3, 4].map(() => sandbox.jobs.start({ linkRefId }));
  const [approved, rejected, reviewed] = jobs;
  if (!approved || !rejected || !reviewed) throw new Error('four jobs were started');

  sandbox.jobs.complete(approved, 'approved');
  sandbox.jobs.complete(rejected, 'rejected');
  sandbox.jobs.report(reviewed, { resultCode: '0814', resultText: 'Provisional - Under Review' });

  const { body } = await partner.get(linkRefId);
  expect(body).toMatchObject({ total_jobs: 4, failed_jobs: 1, successful_jobs: 1 });
});

test('mock.jobs.start() takes the user of a single-use link', async () => {
  const { sandbox, partner } = start();
  const single = await partner.create({ ...newLink, is_single_use: true, user_id: 'user-1' });
  const many = await partner.create({ ...newLink, user_id: 'user-1' });

  const ofSingle = sandbox.jobs.start({ linkRefId: single.body.ref_id });
  const ofMany = sandbox.jobs.start({ linkRefId: many.body.ref_id });

  expect(ofSingle.userId).toBe('user-1');
  expect(ofMany.userId).not.toBe('user-1');
  expect((await partner.status(wireJob(ofSingle))).status).toBe(200);
});

test('mock.links.seed() adds links that a partner could have created', async () => {
  const { sandbox, partner } = start();
  sandbox.links.seed(1);

  const given = Object.entries(sandbox.links.all()[0] ?? {}).filter(([, value]) => value !== null);
  const { status } = await partner.create(Object.fromEntries(given.filter(([name]) => name !== 'partner_id')));

  expect(status).toBe(200);
});

test("mock spelling 'sample' differs from 'table' in the users of a link alone", async () => {
  const spelled = async (spelling: 'table' | 'sample') => {
    const { sandbox, partner } = start({ spelling });
    sandbox.links.seed(1);
    const { links, meta } = (await partner.list()).body;
    return { links, meta, updated: (await partner.update(links[0].ref_id, { is_disabled: false })).body };
  };
  const [table, sample] = [await spelled('table'), await spelled('sample')];
  const [{ user_id, ...inTable }] = table.links;
  const [{ user_ids, ...inSample }] = sample.links;

  expect(inSample).toEqual(inTable);
  expect(sample.updated).toEqual(table.updated);
  expect(user_ids).toEqual([user_id]);
  expect(user_id).toMatch(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(sample.meta).toEqual(table.meta);
});

test("mock spelling 'random' mixes both dialects, one way for one seed", async () => {
  const listOf = async (seed: number) => {
    const { sandbox, partner } = start({ spelling: 'random', seed, pageSize: 50 });
    sandbox.links.seed(50);
    return JSON.stringify((await partner.list()).body.links);
  };

  const text = await listOf(7);

  expect(text).toContain('"user_id":');
  expect(text).toContain('"user_ids":');
  expect(text).toContain('"total_jobs":0');
  expect(text).toContain('"total_jobs":"0"');
  expect(text).toContain('"is_single_use":"FALSE"');
  const leftOut = JSON.parse(text).filter((link: object) => !('logo_url' in link));
  expect(leftOut.length).toBeGreaterThan(5);
  expect(await listOf(7)).toBe(text);
  expect(await listOf(8)).not.toBe(text);
});

test('mock wire options name brand and list marker', async () => {
  const { service, sandbox } = start({ wire: { brand: 'acme', listMarker: 'all' } });
  sandbox.links.seed(1);
  const body = signedBy(sandbox);

  const listed = await send(service, 'POST', `${sandbox.baseUrl}/v1/acme_links/all`, body);
  const asLink = await send(service, 'POST', `${sandbox.baseUrl}/v1/acme_links/list`, body);
  const otherBrand = await send(service, 'POST', `${sandbox.baseUrl}/v1/hosted_links/all`, body);

  expect((await listed.json()).links).toHaveLength(1);
  expect(asLink.status).toBe(404);
  expect((await asLink.json()).code).toBe('2215');
  expect(otherBrand.status).toBe(404);
});

test.each([
  ['epoch-ms', '1767323045000'],
  ['epoch-s', '1767323045'],
] as const)('mock link operations take %s timestamps as text alone', async (timestampFormat, timestamp) => {
  const { sandbox, partner } = start({ wire: { timestampFormat } });

  const asText = await partner.list(signedBy(sandbox, timestamp));
  const asNumber = await partner.list({ ...signedBy(sandbox, timestamp), timestamp: Number(timestamp) });
  const asIso = await partner.list();

  expect([asText.status, asNumber.status, asIso.status]).toEqual([200, 400, 400]);
});
