// Objects of callers' own making: of classes with getters, behind proxies, without a prototype, changed afterwards.

import {
  HostedClient,
  type HostedClientOptions,
  HostedValidationError,
  type JobRef,
  type NewLink,
} from 'hosted-client';
import { expect, test } from 'vitest';
import { apiKey, clientOf, newLink, partnerId, rejection, signed } from '../support/fake-fetch.js';

const created = { link: 'https://links.hosted.test/1', ref_id: 'ref-1' };
const link = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };
const linkProperties: NewLink = {
  ...newLink,
  idTypes: [{ country: 'NG', idType: 'BVN', verificationMethod: 'biometric_kyc' }],
};

/** Each way in which an object may hold its properties. */
const forms: readonly [string, <T extends object>(properties: T) => T][] = [
  ['of its own', (properties) => properties],
  ['without a prototype', (properties) => Object.assign(Object.create(null), properties)],
  ['as getters of its class', (properties) => Object.create(gettersOf(properties))],
  ['as getters of the class above', (properties) => Object.create(Object.create(gettersOf(properties)))],
  ['of the object it inherits from', (properties) => Object.create(properties)],
  ['that are not enumerable', (properties) => Object.defineProperties({}, hidden(properties)) as typeof properties],
  ['behind a proxy that answers for all', (properties) => proxyOf(properties)],
  ['behind a proxy that passes on', (properties) => new Proxy(properties, {})],
];

function gettersOf(properties: object): object {
  const getters = Object.entries(properties).map(([name, value]) => [name, { get: () => value, configurable: true }]);
  return Object.create(Object.prototype, Object.fromEntries(getters)) as object;
}

function hidden(properties: object): PropertyDescriptorMap {
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, { value, enumerable: false }]));
}

function proxyOf<T extends object>(properties: T): T {
  const values = { ...properties } as Readonly<Record<PropertyKey, unknown>>;
  return new Proxy({}, { get: (_target, name) => values[name] }) as T;
}

test.each(forms)('links.create() takes properties %s', async (_what, formed) => {
  const { client, sent } = clientOf(created);
  const withDefault = clientOf(created, { defaultCallbackUrl: 'https://partner.test/default' });
  const { callbackUrl: _none, ...withoutCallback } = linkProperties;

  await client.links.create(formed(linkProperties));
  await withDefault.client.links.create(formed(linkProperties));
  await withDefault.client.links.create(formed(withoutCallback));

  const bodies = [...sent, ...withDefault.sent].map(({ body }) => body);
  expect(bodies.map((body) => body.company_name)).toEqual(['Example Ltd', 'Example Ltd', 'Example Ltd']);
  expect(bodies.map((body) => body.callback_url)).toEqual([
    'https://partner.test/callback',
    'https://partner.test/callback',
    'https://partner.test/default',
  ]);
  for (const body of bodies) expect(body.id_types).toHaveLength(1);
});

test.each(forms)('links.list() takes options %s', async (_what, formed) => {
  const page = { links: [], meta: { currentPage: 3, limit: 20, totalCount: 0, totalPages: 3 } };
  const { client, sent } = clientOf(page);

  await client.links.list(formed({ page: 3, headers: { 'x-team': 'one' } }));
  await client.links.list().toArray(formed({ limit: 0 }));

  expect(sent.map(({ body }) => body.page)).toEqual([3]);
  expect(new Headers(sent[0]?.init.headers).get('x-team')).toBe('one');
});

test.each(forms)('jobs take both ids %s', async (_what, formed) => {
  const job = { userId: 'user-1', jobId: 'job-1' };
  const done = signed({ job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1' });
  const { client, sent } = clientOf(done);

  await client.jobs.status(formed<JobRef>(job), formed({ maxRetries: 0 }));
  await client.jobs.waitForCompletion(formed<JobRef>(job), formed({ history: true }));
  for await (const { error } of client.jobs.waitForAll([formed<JobRef>(job)])) expect(error).toBeUndefined();

  expect(sent.map(({ body }) => [body.user_id, body.job_id])).toEqual([
    ['user-1', 'job-1'],
    ['user-1', 'job-1'],
    ['user-1', 'job-1'],
  ]);
});

const clientOptions = (fetch: HostedClientOptions['fetch']) => ({
  partnerId,
  apiKey,
  baseUrls: { sandbox: 'https://sandbox.hosted.test' },
  ...(fetch && { fetch }),
});

test.each(forms)('a client takes options %s, and so does one derived from it', async (_what, formed) => {
  const seen: string[] = [];
  const fetch = (async (url: string) => {
    seen.push(url);
    return Response.json(link);
  }) as typeof globalThis.fetch;
  const given = clientOptions(fetch);

  const client = new HostedClient(formed({ ...given, baseUrls: formed(given.baseUrls), wire: formed({ brand: 'a' }) }));
  await client.links.get('ref-1');
  await client.withOptions(formed({ maxRetries: 0 })).links.get('ref-1');

  expect(seen).toEqual(Array(2).fill('https://sandbox.hosted.test/v1/a_links/ref-1'));
});

test('a property is read once: one that changes its mind is sent as it was checked', async () => {
  let reads = 0;
  const shifty = {
    ...linkProperties,
    get userId() {
      reads += 1;
      return reads === 1 ? 'user-1' : { toString: () => 'user-2' };
    },
  };
  const { client, sent } = clientOf(created);

  await client.links.create(shifty as unknown as NewLink);

  expect(reads).toBe(1);
  expect(sent[0]?.body.user_id).toBe('user-1');
});

/** A Date whose methods say something else with each call, as those of a class above Date may. */
class ShiftyDate extends Date {
  calls = 0;
  override getTime = () => this.#say(Date.parse('2030-01-01T00:00:00Z'), Number.NaN);
  override valueOf = this.getTime;
  override toISOString = () => this.#say('2030-01-01T00:00:00.000Z', 'planted');
  override toString = this.toISOString;
  override toJSON = this.toISOString;
  override [Symbol.toPrimitive] = () => this.getTime() as never;
  #say<T>(first: T, later: T): T {
    this.calls += 1;
    return this.calls === 1 ? first : later;
  }
}

/** A URL of the same kind. */
class ShiftyUrl extends URL {
  override get protocol() {
    return 'https:';
  }
  override get href() {
    return 'javascript:planted';
  }
  override get origin() {
    return 'https://planted.test';
  }
  override toString() {
    return 'javascript:planted';
  }
  override toJSON() {
    return 'javascript:planted';
  }
}

test('a Date and a URL of classes of their own are sent as what they are', async () => {
  const url = new ShiftyUrl('https://partner.test/mine');
  const { client, sent } = clientOf(created, { defaultCallbackUrl: url as never });

  await client.links.create({
    companyName: 'Example Ltd',
    dataPrivacyPolicyUrl: url,
    logoUrl: url,
    expiresAt: new ShiftyDate('2031-05-06T07:08:09Z'),
  });
  await client.links.create({ ...linkProperties, callbackUrl: url });

  expect(sent.map(({ body }) => body)).toMatchObject([
    {
      callback_url: 'https://partner.test/mine',
      data_privacy_policy_url: 'https://partner.test/mine',
      logo_url: 'https://partner.test/mine',
      expires_at: '2031-05-06T07:08:09.000Z',
    },
    { callback_url: 'https://partner.test/mine' },
  ]);
});

const bornOf = <T extends object>(prototype: T): T => Object.create(prototype) as T;
const throwing = new Proxy(new Date(), {
  getPrototypeOf() {
    throw new Error('planted');
  },
});

test.each([
  ['no more than the prototype', bornOf(Date.prototype), bornOf(URL.prototype)],
  ['a proxy', new Proxy(new Date(), {}), new Proxy(new URL('https://partner.test/'), {})],
  ['a proxy that throws', throwing, throwing as never],
])('what has of a Date and a URL %s is refused by name', async (_what, date, url) => {
  const { client, sent } = clientOf(created);

  const ofCreate = await rejection(client.links.create({ ...linkProperties, logoUrl: url, expiresAt: date }));
  const ofFind = await rejection(client.links.find({ name: 'x', createdAfter: date }));

  expect((ofCreate as HostedValidationError).issues.map(({ path }) => path)).toEqual(['logoUrl', 'expiresAt']);
  expect((ofFind as HostedValidationError).issues).toEqual([{ path: 'createdAfter', message: 'must be a valid Date' }]);
  expect(sent).toHaveLength(0);
});

test('links.find() compares with the time of a Date, whatever its class', async () => {
  const at = '2026-01-02T03:04:05.000Z';
  const page = {
    links: [{ ...link, link_id: 'ref-1', name: 'x', created_at: at }],
    meta: { currentPage: 1, limit: 20, totalCount: 1, totalPages: 1 },
  };
  const { client } = clientOf(page);

  expect(await client.links.find({ name: 'x', createdAfter: new ShiftyDate(at) })).toMatchObject({ refId: 'ref-1' });
  expect(await client.links.find({ name: 'x', createdAfter: new ShiftyDate('2026-01-02T03:05:00Z') })).toBeNull();
});

test('headers are read once: what is checked is sent', async () => {
  let reads = 0;
  const headers = new Proxy<Record<string, string>>(
    { 'x-trace': 'one' },
    {
      ownKeys() {
        reads += 1;
        return reads === 1 ? ['x-trace'] : ['host'];
      },
      getOwnPropertyDescriptor: () => ({ value: 'planted', enumerable: true, configurable: true }),
    },
  );
  const { client, sent } = clientOf(created);

  await client.links.create(linkProperties, { headers });

  expect(reads).toBe(1);
  expect(sent[0]?.init.headers).toMatchObject({ 'x-trace': 'one' });
});

test('getters of a row that are not asked for are not read', async () => {
  const row = {
    userId: 'user-1',
    jobId: 'job-1',
    get owner(): string {
      throw new Error('the relation is not loaded');
    },
  };
  const { client, sent } = clientOf(signed({ job_complete: false }));

  await client.jobs.status(row);

  expect(sent).toHaveLength(1);
});

test('an unknown property is refused, also one that is named like one of Object.prototype', async () => {
  const { client } = clientOf(created);

  await rejection(client.links.create({ ...linkProperties, constructor: 'planted' } as NewLink), HostedValidationError);
});

// Derived clients -------------------------------------------------------------

test('what is changed in the options afterwards reaches neither a client nor one derived from it', async () => {
  const seen: { url: string; body: Record<string, unknown> }[] = [];
  const fetch = (async (url: string, init: RequestInit) => {
    seen.push({ url, body: JSON.parse(String(init.body)) as Record<string, unknown> });
    return Response.json(link);
  }) as typeof globalThis.fetch;
  const links = new URL('https://links.hosted.test/api');
  const jobs = new URL('https://jobs.hosted.test/');
  const options = {
    ...clientOptions(fetch),
    baseUrls: { sandbox: links as string | URL },
    jobStatusBaseUrls: { sandbox: jobs as string | URL },
    wire: { brand: 'first', jobSignatureMember: 'signature' as 'signature' | 'sec_key' },
    maxRetries: 0,
  };
  const client = new HostedClient(options);

  links.href = 'https://evil.hosted.test/';
  jobs.href = 'https://evil.hosted.test/';
  options.baseUrls.sandbox = 'https://evil.hosted.test';
  options.jobStatusBaseUrls.sandbox = 'https://evil.hosted.test';
  options.wire.brand = 'second';
  options.wire.jobSignatureMember = 'sec_key';
  const derived = [client, client.withOptions({}), client.withOptions({ timeoutMs: 5 }).withOptions({})];
  for (const each of derived) {
    await each.links.get('ref-1');
    await rejection(each.jobs.status({ userId: 'user-1', jobId: 'job-1' }));
  }

  expect([...new Set(seen.map(({ url }) => url))]).toEqual([
    'https://links.hosted.test/api/v1/first_links/ref-1',
    'https://jobs.hosted.test/v1/job_status',
  ]);
  expect(seen.map(({ body }) => 'signature' in body)).toEqual(Array(6).fill(true));
});
