/** The mock service written down and read back. */

import { HostedValidationError } from 'hosted-client';
import { createMockService, type MockService, type MockServiceOptions } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { writeSaved } from '../../src/testing/saved-text.js';
import { newLink, partnerOf, stillClock, wireJob } from './partner.js';

const create = (options: MockServiceOptions = {}) => createMockService({ clock: stillClock, ...options });

/** A service with a link, a job that is under review, one that is complete, and a fault to come. */
async function fill(service: MockService) {
  const created = await partnerOf(service).create({ ...newLink, name: 'Onboarding' });
  const linkRefId: string = created.body.ref_id;
  const complete = service.sandbox.jobs.start({ linkRefId });
  service.sandbox.jobs.report(complete, { resultCode: '1012', resultText: 'Read', resultType: 'ID Verification' });
  service.sandbox.jobs.complete(complete, 'approved');
  const pending = service.sandbox.jobs.start({ userId: 'user-1' });
  service.sandbox.jobs.report(pending, { resultCode: '0814', resultText: 'Under review' });
  service.sandbox.failNext('links.get', { kind: 'status', status: 503, retryAfter: '1' }, 2);
  service.production.links.seed(1);
  return { linkRefId, complete, pending };
}

test('service.restore() puts links, jobs and faults back into another service', async () => {
  const before = create();
  const { linkRefId, complete, pending } = await fill(before);
  const after = create();

  after.restore(before.save());

  expect(after.sandbox.links.all()).toEqual(before.sandbox.links.all());
  expect(after.production.links.all()).toEqual(before.production.links.all());
  const [was, is] = [partnerOf(before), partnerOf(after)];
  for (const job of [complete, pending]) {
    const query = { ...wireJob(job), history: true };
    expect((await is.status(query)).body).toEqual((await was.status(query)).body);
  }
  const gets = [await is.get(linkRefId), await is.get(linkRefId), await is.get(linkRefId)];
  expect(gets.map(({ status }) => status)).toEqual([503, 503, 200]);
});

test('a restored service makes the ids that the saved one would have made', async () => {
  const before = create({ spelling: 'random', seed: 7 });
  await fill(before);
  const after = create({ spelling: 'random', seed: 7 });

  after.restore(before.save());

  const [next, expected] = [await partnerOf(after).create(), await partnerOf(before).create()];
  expect(next.body).toEqual(expected.body);
  expect(after.sandbox.jobs.start()).toEqual(before.sandbox.jobs.start());
  expect((await partnerOf(after).list()).body).toEqual((await partnerOf(before).list()).body);
});

test('a callback that was made before is the same after', async () => {
  const before = create();
  const { complete } = await fill(before);
  const first = await (await before.sandbox.jobs.callback(complete)).json();
  const after = create();

  after.restore(before.save());

  expect(await (await after.sandbox.jobs.callback(complete)).json()).toEqual(first);
  const next = await (await after.sandbox.jobs.callback(complete, { entry: 0 })).json();
  expect(next.timestamp > first.timestamp).toBe(true);
});

test('what is saved is JSON that says nothing of keys, and restoring it forgets what was there', async () => {
  const empty = create().save();
  const service = create({ apiKeys: { sandbox: 'a key of my own' } });
  await fill(service);

  expect(service.save()).not.toContain('key');
  expect(JSON.parse(service.save())).toBeTypeOf('object');
  service.restore(empty);

  expect(service.sandbox.links.all()).toEqual([]);
});

test('links of a restored service lead to its own URLs', async () => {
  const before = create({ linkBaseUrl: 'http://127.0.0.1:1/links' });
  const { linkRefId } = await fill(before);
  const after = create({ linkBaseUrl: 'http://127.0.0.1:2/links' });

  after.restore(before.save());

  expect(after.sandbox.links.all()).toMatchObject([{ link_url: `http://127.0.0.1:2/links/${linkRefId}` }]);
});

test('service.restore() reads what a state does not have as null, and an environment without a state as empty', async () => {
  const before = create();
  await fill(before);
  const { of, state } = JSON.parse(before.save());
  const sandbox = JSON.parse(JSON.stringify(state.sandbox), (_name, value) => value ?? undefined);
  const after = create();
  after.production.links.seed(1);

  after.restore(writeSaved(of, { sandbox }));

  const empty = JSON.parse(create().save()).state;
  expect(JSON.parse(after.save()).state).toEqual({ ...empty, sandbox: state.sandbox });
});

const saved = create().save();

test.each([
  ['no JSON', 'no JSON'],
  ['a list', '[]'],
  ['half of it', saved.slice(0, -20)],
  ['a state that was changed', saved.replace('"requestCount":0', '"requestCount":1')],
  ['another version', saved.replace('"version":1', '"version":2')],
  ['the state of something else', saved.replace('"of":"mock service"', '"of":"sandbox"')],
])('service.restore() refuses %s with one message, and keeps what it has', (_what, state) => {
  const service = create();
  service.sandbox.links.seed(1);

  const restore = () => service.restore(state);

  expect(restore).toThrow(HostedValidationError);
  expect(restore).toThrow(
    'Cannot restore the mock service: "state" must be a string that save() of this version wrote, unchanged',
  );
  expect(service.sandbox.links.all()).toHaveLength(1);
});

test('service.restore() reads a state that was indented', () => {
  const before = create();
  before.sandbox.links.seed(1);
  const after = create();

  after.restore(JSON.stringify(JSON.parse(before.save()), null, 2));

  expect(after.sandbox.links.all()).toHaveLength(1);
});
