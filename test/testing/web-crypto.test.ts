// The kit on platforms without Node's crypto module, or with a part of it: by Web Crypto, with the same keys.

import { beforeEach, expect, test, vi } from 'vitest';

const { getBuiltinModule } = process;

beforeEach(() => {
  vi.resetModules();
  return () => {
    process.getBuiltinModule = getBuiltinModule;
    vi.resetModules();
  };
});

const missing = () => {
  throw new Error('this platform lacks it');
};

test.each([
  ['lacks the module', undefined],
  ['has a part of it', {}],
  ['has functions that throw', { hash: missing, createSecretKey: missing, createPrivateKey: missing }],
  ['has a hash that is wrong', { hash: () => new Uint8Array(32) }],
])('on a platform that %s, calls get responses and callbacks delivered, by both schemes', async (_, module) => {
  for (const scheme of ['hmac-sha256', 'ed25519'] as const) {
    vi.resetModules();
    const { HostedClient } = await import('hosted-client');
    process.getBuiltinModule = ((name: string) =>
      name === 'crypto' ? module : getBuiltinModule(name)) as typeof getBuiltinModule;
    const { createMockService } = await import('hosted-client/testing');
    const service = createMockService({ scheme });
    const { jobs, clientOptions } = service.sandbox;
    const job = jobs.start();
    jobs.complete(job, 'approved');
    const client = new HostedClient({ ...clientOptions, fetch: service.fetch });
    const onEvent = vi.fn();
    const to = client.callbacks.handler({ onEvent });

    const status = await client.jobs.status(job);
    const forged = await jobs.deliverCallback(job, { to, variant: 'forged' });
    const delivered = await jobs.deliverCallback(job, { to });
    const repeated = await jobs.deliverCallback(job, { to });

    expect(status.state).toBe('succeeded');
    expect([forged.status, delivered.status, repeated.status]).toEqual([401, 200, 200]);
    expect(onEvent).toHaveBeenCalledTimes(1);
    process.getBuiltinModule = getBuiltinModule;
  }
});

test('the digest is the same by both, and that of FIPS 180-4', async () => {
  // FIPS 180-2, appendix B.2.
  const text = 'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq';
  const expected = '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1';

  const { sha256Hex: byPlatform } = await import('../../src/runtime/sha256.js');
  expect(await byPlatform(text)).toBe(expected);
  process.getBuiltinModule = (() => undefined) as unknown as typeof getBuiltinModule;
  vi.resetModules();
  const { sha256Hex: byWebCrypto } = await import('../../src/runtime/sha256.js');
  expect(await byWebCrypto(new TextEncoder().encode(text))).toBe(expected);
});
