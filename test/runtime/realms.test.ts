/** Values of another realm, as test runners give them, and of other libraries, are taken for what they are. */

import { runInNewContext } from 'node:vm';
import { ed25519, HostedClient } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { clientOf, newLink, operations, rejection } from '../support/fake-fetch.js';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

const time = Date.parse('2030-01-31T12:00:00Z');
const foreignDate = runInNewContext(`new Date(${time})`) as Date;
const foreignBytes = (bytes: Uint8Array) =>
  runInNewContext('Uint8Array.from(given)', { given: [...bytes] }) as Uint8Array;

test('a date of another realm is a date', async () => {
  const { client, sent } = clientOf(operations[0].answer());

  await client.links.create({ ...newLink, expiresAt: foreignDate });

  expect(foreignDate).not.toBeInstanceOf(Date);
  expect(sent[0]?.body).toMatchObject({ expires_at: '2030-01-31T12:00:00.000Z' });
});

test.each<[string, unknown]>([
  ['an invalid date of another realm', runInNewContext('new Date(NaN)')],
  ['an object that claims to be a date', { [Symbol.toStringTag]: 'Date', getTime: () => time, valueOf: () => time }],
  ['a proxy of a date', new Proxy(new Date(time), {})],
])('%s is no date', async (_what, expiresAt) => {
  const { client } = clientOf(operations[0].answer());

  const error = await rejection(client.links.create({ ...newLink, expiresAt: expiresAt as Date }));

  expect(error).toMatchObject({ code: 'validation', issues: [{ path: 'expiresAt' }] });
});

test('a callback is received as bytes of another realm', async () => {
  const { fetch, sandbox } = createMockService();
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  const bytes = new Uint8Array(await (await sandbox.jobs.callback(job)).arrayBuffer());

  expect(await client.callbacks.receive(foreignBytes(bytes))).toMatchObject(job);
});

test('keys of Ed25519 may be bytes of another realm', async () => {
  // RFC 8032 §7.1, test 1.
  const secretKey = foreignBytes(
    Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex'),
  );
  const servicePublicKey = foreignBytes(
    Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex'),
  );
  const signer = ed25519({ secretKey, servicePublicKey });
  const input = { partnerId: '085', timestamp: '2026-01-02T03:04:05.678Z' };

  expect(await signer.verify(await signer.sign(input), input)).toBe(true);
});

test('a signal without removeEventListener ends neither a call nor a wait', async () => {
  const clock = createTestClock();
  const { fetch, sandbox } = createMockService({ clock });
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  const signal = { aborted: false, addEventListener() {}, throwIfAborted() {} } as unknown as AbortSignal;

  expect(await client.links.create(newLink, { signal })).toHaveProperty('refId');
  expect(await client.jobs.waitForCompletion(job, { signal })).toHaveProperty('state', 'succeeded');
  for await (const { status } of client.jobs.waitForAll([job], { signal })) expect(status?.state).toBe('succeeded');
});

test('calls work where the global Promise is another library’s, whose class cannot be extended', async () => {
  // As Bluebird's: a subclass is refused, and the promises of async functions are no instances of it.
  class Foreign<T> extends Promise<T> {
    constructor(run: ConstructorParameters<typeof Promise<T>>[0]) {
      if (new.target !== Foreign) throw new TypeError('the promise constructor cannot be invoked directly');
      super(run);
    }
  }
  vi.stubGlobal('Promise', Foreign);
  vi.resetModules();
  const { HostedClient: Client } = await import('hosted-client');
  const { fetch, sandbox } = createMockService();
  const client = new Client({ ...sandbox.clientOptions, fetch });
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');

  const { refId } = await client.links.create(newLink);

  expect(await client.links.get(refId).withResponse()).toHaveProperty('data.refId', refId);
  expect((await client.links.list()).links).toHaveLength(1);
  expect(await client.jobs.waitForCompletion(job)).toHaveProperty('state', 'succeeded');
  await expect(client.links.get('no-such-link')).rejects.toHaveProperty('code', 'not_found');
});
