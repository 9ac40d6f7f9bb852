// What the sandbox notes of a request that it accepts.

import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { newLink, running } from './running.js';

const idType = (country: string, name: string) => ({
  country,
  idType: name,
  verificationMethod: 'enhanced_kyc' as const,
});

test.each([
  ['nothing of ID types, known or not', [idType('NG', 'BVN'), idType('XK', 'NIN'), idType('KE', '')], []],
  [
    'countries that there are not',
    [idType('QX', 'BVN'), idType('UK', 'PASSPORT'), idType('NG', 'PASSPORT'), idType('QX', 'NIN')],
    ['"id_types" has codes of no country: QX, UK'],
  ],
  [
    'three of many',
    ['QR', 'QS', 'QV', 'QX'].map((country) => idType(country, 'BVN')),
    ['"id_types" has codes of no country: QR, QS, QV'],
  ],
])('a new link and a changed link are accepted, and of them is noted: %s', async (_, idTypes, notes) => {
  const { sandbox, client } = await running();

  const { refId } = await client.links.create({ ...newLink, idTypes });
  await client.links.update(refId, { idTypes });

  expect(sandbox.requests.map((request) => [request.status, request.notes])).toEqual([
    [200, notes],
    [200, notes],
  ]);
  expect((await client.links.get(refId)).idTypes).toHaveLength(idTypes.length);
});

test.each([
  ['2020-01-01T00:00:00Z', ['"expires_at" is in the past, so the link has already expired']],
  ['2999-01-01T00:00:00Z', []],
])('a link that expires at %s is accepted, with the notes %j', async (expiresAt, notes) => {
  const { sandbox, client } = await running();

  await client.links.create({ ...newLink, expiresAt });

  expect(sandbox.requests).toMatchObject([{ status: 200, notes }]);
});

const otherUser =
  '"user_id" without "is_single_use": the results come under other user ids, one for each job; "link_id" names the link';

test.each([
  ['a user id without isSingleUse', { userId: 'user-1' }, [otherUser]],
  ['a user id with isSingleUse false', { userId: 'user-1', isSingleUse: false }, [otherUser]],
  ['a user id with isSingleUse', { userId: 'user-1', isSingleUse: true }, []],
  ['no user id', { isSingleUse: false }, []],
])('a link is created, and of it is noted: %s', async (_, fields, notes) => {
  const { sandbox, client } = await running();

  await client.links.create({ ...newLink, ...fields });

  expect(sandbox.requests).toMatchObject([{ status: 200, notes }]);
});

/** Sends these fields in place of those that the client would send. */
const sending = (fields: object) => (url: string, init: RequestInit) =>
  fetch(url, { ...init, body: JSON.stringify({ ...JSON.parse(String(init.body)), ...fields }) });

test.each([
  [{ toString: 1, valueOf: 1 }, 'BVN'],
  ['QX', { toString: 1, valueOf: 1 }],
  ['qx', 'NIN'],
])('a request that is refused has no notes: %j, %j', async (country, name) => {
  const { sandbox, client } = await running();
  const id_types = [{ country, id_type: name, verification_method: 'enhanced_kyc' }];

  const error = await rejection(client.withOptions({ fetch: sending({ id_types }) }).links.create(newLink));

  expect(error).toMatchObject({ code: 'api', status: 400 });
  expect(sandbox.requests).toMatchObject([{ status: 400, notes: [] }]);
});

test('a request whose refusal an injected page hides has no notes of what is no code', async () => {
  const { sandbox, client } = await running();
  sandbox.service.sandbox.failNext('links.create', { kind: 'html' });
  const id_types = [{ country: { toString: 1, valueOf: 1 }, id_type: 'BVN', verification_method: 'enhanced_kyc' }];

  await rejection(client.withOptions({ fetch: sending({ id_types }) }).links.create(newLink));

  expect(sandbox.requests).toMatchObject([{ status: 200, notes: [] }]);
});

test('the console shows the notes of a request', async () => {
  const { sandbox, client } = await running();

  await client.links.create({ ...newLink, idTypes: [idType('QX', 'NIN')] });

  expect(await (await fetch(sandbox.origin)).text()).toContain('has codes of no country: QX');
});
