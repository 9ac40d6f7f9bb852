/** Which arithmetic signs and verifies: the platform's where it is right, and the portable one elsewhere. */

import crypto from 'node:crypto';
import { afterEach, expect, test, vi } from 'vitest';
import { platformCrypto } from '../../src/runtime/node-crypto.js';

afterEach(() => {
  vi.restoreAllMocks();
  vi.doUnmock('tweetnacl');
  vi.resetModules();
});

/** The signers of a process whose platform has this for a crypto module. */
async function signersOn(platform: object | undefined) {
  vi.resetModules();
  const { getBuiltinModule } = process;
  vi.spyOn(process, 'getBuiltinModule').mockImplementation(((name: string) =>
    name === 'crypto' ? platform : getBuiltinModule(name)) as typeof getBuiltinModule);
  return await import('hosted-client');
}

// The key pair of RFC 8032 §7.1, test 3; the signature is the one of node:crypto.
const seed = Buffer.from('c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7', 'hex');
const publicKey = Buffer.from('fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025', 'hex');
const input = { timestamp: '2026-01-02T03:04:05.678Z', partnerId: '085' };
const message = Buffer.from('2026-01-02T03:04:05.678Z085sid_request');
const pkcs8 = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
const expected = crypto
  .sign(null, message, crypto.createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }))
  .toString('base64');

test("ed25519() signs and verifies by the platform's arithmetic where it has it", async () => {
  const platform = { ...crypto, sign: vi.fn(crypto.sign), verify: vi.fn(crypto.verify) };
  const { ed25519 } = await signersOn(platform);
  const signer = ed25519({ secretKey: seed, servicePublicKey: publicKey });

  expect(await signer.sign(input)).toBe(expected);
  expect(await signer.verify(expected, input)).toBe(true);

  // To decide, a good and a bad one; then to do it.
  expect(platform.sign).toHaveBeenCalledTimes(2);
  expect(platform.verify).toHaveBeenCalledTimes(3);
});

/** The platform, but for what its public keys say of themselves; it trusts everything. */
const exporting = (jwk: object) => ({
  ...crypto,
  createPublicKey: (given: { key: Uint8Array }) =>
    'key' in given ? crypto.createPublicKey(given as never) : { export: () => jwk },
  verify: () => true,
});

const isFirstTried = (_algorithm: null, data: Uint8Array) => data.length === 1 && data[0] === 0x72;

test.each<[string, object | undefined]>([
  ['has no crypto module', undefined],
  [
    'does not know the curve',
    {
      ...crypto,
      createPrivateKey: () => {
        throw new Error('unsupported');
      },
    },
  ],
  ['signs wrongly', { ...crypto, sign: () => Buffer.alloc(64, 1) }],
  ['signs wrongly and trusts it', { ...crypto, sign: () => Buffer.alloc(64, 1), verify: () => true }],
  // It takes the first of the two messages that are tried for a good one, and the second for none.
  ['signs in a way of its own', { ...crypto, sign: () => Buffer.alloc(64, 1), verify: isFirstTried }],
  [
    'derives another public key, and verifies by it',
    { ...exporting({ x: publicKey.toString('base64url') }), verify: isFirstTried },
  ],
  ['derives another public key', exporting({ x: publicKey.toString('base64url') })],
  ['does not show its public keys', exporting({})],
  ['verifies nothing', { ...crypto, verify: () => false }],
  ['verifies everything', { ...crypto, verify: () => true }],
  ['has only a part of it', { createHmac: crypto.createHmac, createSecretKey: crypto.createSecretKey }],
])('ed25519() does without a platform that %s', async (_, platform) => {
  const { ed25519 } = await signersOn(platform);
  const signer = ed25519({ secretKey: seed, servicePublicKey: publicKey });

  expect(await signer.sign(input)).toBe(expected);
  expect(await signer.verify(expected, input)).toBe(true);
  expect(await signer.verify(expected, { ...input, partnerId: '086' })).toBe(false);
});

// The public key's base64 begins with "/", which a platform writes as "_".
test.each<[string, object | undefined]>([
  ['the platform', crypto],
  ['tweetnacl', undefined],
])('ed25519() signs by %s with the 64 bytes of seed and public key', async (_, platform) => {
  const { ed25519 } = await signersOn(platform);
  const signer = ed25519({ secretKey: Buffer.concat([seed, publicKey]), servicePublicKey: publicKey });

  const signature = await signer.sign(input);

  expect(signature).toBe(expected);
});

test('a call that cannot load the portable arithmetic names the error', async () => {
  vi.doMock('tweetnacl', () => {
    throw new Error('Loading chunk 7 failed');
  });
  const { ed25519, HostedClient } = await signersOn(undefined);
  const signer = ed25519({ secretKey: seed, servicePublicKey: publicKey });
  const client = new HostedClient({ partnerId: '085', signer, baseUrls: { sandbox: 'https://hosted.test' } });

  await expect(client.links.list()).rejects.toMatchObject({
    code: 'config',
    message: expect.stringContaining('"signer" needs the package tweetnacl, which could not be loaded'),
  });
});

test('ed25519() verifies as false what the platform throws at', async () => {
  let decided = false;
  const refuses = {
    ...crypto,
    createPublicKey: (given: never) => {
      if (decided) throw new Error('no point of the curve');
      return crypto.createPublicKey(given);
    },
  };
  const { ed25519 } = await signersOn(refuses);
  const signer = ed25519({ secretKey: seed, servicePublicKey: publicKey });
  await signer.sign(input);
  decided = true;

  expect(await signer.verify(expected, input)).toBe(false);
});

test.each<[string, object | undefined, boolean]>([
  ['the platform', crypto, true],
  ['Web Crypto', undefined, false],
])('hmacSha256() by %s signs and verifies keys and texts of any length', async (_, platform, atOnce) => {
  const { hmacSha256 } = await signersOn(platform);
  for (const keyLength of [9, 65]) {
    // Three bytes a character, and a surrogate that has no other half.
    for (const timestamp of ['x', '\ud800', '\u20ac'.repeat(100_000)]) {
      const apiKey = 'k'.repeat(keyLength);
      const signer = hmacSha256({ apiKey, context: '' });
      const expected = crypto.createHmac('sha256', apiKey).update(timestamp, 'utf8').digest('base64');

      const signature = signer.sign({ timestamp, partnerId: '' });
      const verified = signer.verify(expected, { timestamp, partnerId: '' });

      expect(await signature).toBe(expected);
      expect(await verified).toBe(true);
      expect([typeof signature, typeof verified]).toEqual(atOnce ? ['string', 'boolean'] : ['object', 'object']);
    }
  }
});

const throws = () => {
  throw new Error('not supported in this runtime');
};

test.each<[string, object]>([
  ['has an empty module', {}],
  ['throws when it takes a key', { ...crypto, createSecretKey: throws }],
  ['throws when it signs', { ...crypto, createHmac: throws }],
  ['signs otherwise', { ...crypto, createHmac: (_: string, key: string) => crypto.createHmac('sha512', key) }],
])('hmacSha256() does without a platform that %s', async (_, platform) => {
  const { hmacSha256 } = await signersOn(platform);
  const signer = hmacSha256({ apiKey: 'test-key' });

  expect(await signer.sign(input)).toBe('7wAMvfVaJgf4DVuRXk7tljdk6TMLTbpX9iqn+D+O8a8=');
  expect(await signer.verify('7wAMvfVaJgf4DVuRXk7tljdk6TMLTbpX9iqn+D+O8a8=', input)).toBe(true);
});

test('hmacSha256() gives Web Crypto a key that nobody can take out again', async () => {
  const importKey = vi.spyOn(globalThis.crypto.subtle, 'importKey');
  const { hmacSha256 } = await signersOn(undefined);

  await hmacSha256({ apiKey: 'test-key' }).sign(input);

  const [imported] = importKey.mock.results;
  expect(await imported?.value).toMatchObject({ extractable: false });
});

test.each<[string, Parameters<typeof platformCrypto>[0]]>([
  ['has no process', {}],
  ['stands in for process with an object of its own', { process: {} }],
  ['knows no such module', { process: { getBuiltinModule: () => undefined } }],
  ['has only functions that throw', { process: { getBuiltinModule: throws } }],
])('platformCrypto() is null where the platform %s', (_, platform) => {
  expect(platformCrypto(platform)).toBeNull();
});
