// The signers: known answers of outside sources, node:crypto as the second implementation, and what verification refuses.

import { createHash, createHmac, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { ed25519, HostedConfigError, hmacSha256, type Signer } from 'hosted-client';
import { expect, test } from 'vitest';
import { clientOf, now, rejection, signed, thrownBy } from '../support/fake-fetch.js';

const job = { userId: 'user-1', jobId: 'job-1' };

const hex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'));
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const joined = (...parts: readonly Uint8Array[]) => Uint8Array.from(Buffer.concat(parts));

// HMAC-SHA256 ---------------------------------------------------------------

test.each([
  ['apikey', 'partner', '2023-03-09T21:35:00.279Z', '+S/hVtmFwynoroXQQbjOQ3/l+a5zshNldrQh/iBdxRQ='],
  ['test-key', '085', '2026-01-02T03:04:05.678Z', '7wAMvfVaJgf4DVuRXk7tljdk6TMLTbpX9iqn+D+O8a8='],
])('hmacSha256() signs with %s as published clients do', async (apiKey, partnerId, timestamp, expected) => {
  const signer = hmacSha256({ apiKey });

  const signature = await signer.sign({ partnerId, timestamp });

  expect(signature).toBe(expected);
  expect(await signer.verify(expected, { partnerId, timestamp })).toBe(true);
});

// Of RFC 4231 only case 2 can be written as texts: the keys of 3, 6 and 7 (0xaa) and the data of 4 (0xcd) are no
// UTF-8, the key of 4 has line ends in it, and those of 1 (0x0b) and 5 (0x0c) are nothing but blanks.
test('hmacSha256() gives the known answer of RFC 4231 case 2', async () => {
  const signer = hmacSha256({ apiKey: 'Jefe', context: 'nothing?' });

  const signature = await signer.sign({ timestamp: 'what do ya ', partnerId: 'want for ' });

  expect(signature).toBe(base64(hex('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843')));
});

test.each([
  ['larger than a block', 'k'.repeat(131), 'data'],
  ['outside ASCII', 'ключ-😀', 'zażółć'],
  ['with blanks around it', ' key ', 'data'],
])('hmacSha256() agrees with node:crypto for a key %s', async (_what, apiKey, context) => {
  const signer = hmacSha256({ apiKey, context });
  const input = { partnerId: '007', timestamp: '1678216434434' };
  const expected = createHmac('sha256', Buffer.from(apiKey, 'utf8'))
    .update(`1678216434434007${context}`)
    .digest('base64');

  const signature = await signer.sign(input);

  expect(signature).toBe(expected);
  expect(await signer.verify(expected, input)).toBe(true);
});

const input = { partnerId: '085', timestamp: '2026-01-02T03:04:05.678Z' };
const goodMac = '7wAMvfVaJgf4DVuRXk7tljdk6TMLTbpX9iqn+D+O8a8=';

test.each<[string, unknown]>([
  ['an empty text', ''],
  ['the signature without padding', goodMac.slice(0, -1)],
  ['the signature with stray bits', goodMac.replace('8=', '9=')],
  ['the signature with a line end', `${goodMac}\n`],
  ['the signature after a blank', ` ${goodMac}`],
  ['the signature in the URL alphabet', goodMac.replaceAll('+', '-').replaceAll('/', '_')],
  ['the signature in hex', Buffer.from(goodMac, 'base64').toString('hex')],
  ['the signature cut short', goodMac.slice(0, 40)],
  ['the signature twice', goodMac + goodMac],
  ['one bit changed', `8${goodMac.slice(1)}`],
  ['a very long text', 'A'.repeat(1_000_000)],
  ['no text but a number', 7],
  ['nothing', undefined],
  ['null', null],
  ['a list of the signature', [goodMac]],
])('hmacSha256() verifies %s as false', async (_what, signature) => {
  const signer = hmacSha256({ apiKey: 'test-key' });

  const trusted = await signer.verify(signature as string, input);

  expect(trusted).toBe(false);
});

test('hmacSha256() with several keys signs with the first and verifies with all', async () => {
  const rotating = hmacSha256({ apiKey: ['new-key', 'test-key'] });
  const mac = (key: string) =>
    createHmac('sha256', key).update(`${input.timestamp}${input.partnerId}sid_request`).digest('base64');

  const signature = await rotating.sign(input);

  expect(signature).toBe(mac('new-key'));
  expect(await rotating.verify(mac('new-key'), input)).toBe(true);
  expect(await rotating.verify(mac('test-key'), input)).toBe(true);
  expect(await rotating.verify(mac('third-key'), input)).toBe(false);
});

test('hmacSha256() keeps the keys it was made with', async () => {
  const keys = ['test-key'];
  const signer = hmacSha256({ apiKey: keys });

  keys[0] = 'another-key';

  expect(await signer.sign(input)).toBe(goodMac);
});

test.each<[string, unknown, string]>([
  ['an empty text', '', 'must not be blank'],
  ['blanks', ' \t ', 'must not be blank'],
  ['a line end after it', 'planted-key\n', 'must not contain a line end'],
  ['a line end of Windows after it', 'planted-key\r\n', 'must not contain a line end'],
  ['a line end within it', 'planted\nkey', 'must not contain a line end'],
  ['a number', 123456789, 'must be a string'],
  ['nothing', undefined, 'must be a string'],
  ['null', null, 'must be a string'],
  ['no key at all', [], 'must be a string'],
  ['an empty one among several', ['planted-key', ''], 'must not be blank'],
  ['a line end in the second', ['planted-key', 'planted-key-2\n'], 'must not contain a line end'],
])('hmacSha256() refuses as key %s, naming the field and not the key', (_what, apiKey, fault) => {
  const error = thrownBy(() => hmacSha256({ apiKey: apiKey as string }), HostedConfigError);

  const { message, issues } = error;
  expect(issues).toEqual([{ path: 'apiKey', message: fault }]);
  expect(message).toBe(`Cannot sign with HMAC-SHA256: "apiKey" ${fault}`);
});

test('hmacSha256() without options misses its key', () => {
  const error = thrownBy(() => hmacSha256(undefined as never), HostedConfigError);

  expect(error).toHaveProperty('message', 'Cannot sign with HMAC-SHA256: "apiKey" must be a string');
});

test('hmacSha256() refuses a context that is no text, and names all that is wrong at once', () => {
  const context = 7 as never;

  const alone = thrownBy(() => hmacSha256({ apiKey: 'planted-key', context }), HostedConfigError);
  const all = thrownBy(() => hmacSha256({ apiKey: ['', 'planted-key\n'], context }));

  expect(alone).toMatchObject({
    message: 'Cannot sign with HMAC-SHA256: "context" must be a string',
    issues: [{ path: 'context', message: 'must be a string' }],
  });
  expect(all).toHaveProperty(
    'message',
    'Cannot sign with HMAC-SHA256: "apiKey" must not be blank; "apiKey" must not contain a line end; "context" must be a string',
  );
});

// Ed25519 -------------------------------------------------------------------

/** RFC 8032 §7.1. */
const test1 = {
  seed: hex('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'),
  publicKey: hex('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'),
  signature: hex(
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ),
};
const test2 = {
  seed: hex('4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb'),
  publicKey: hex('3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c'),
  signature: hex(
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ),
};

// TEST 1 signs nothing, TEST 2 the byte 0x72. Those of TEST 3 (af 82), TEST 1024 and TEST SHA(abc) are no UTF-8.
test.each([
  ['TEST 1', test1, { timestamp: '', partnerId: '', context: '' }],
  ['TEST 2', test2, { timestamp: 'r', partnerId: '', context: '' }],
  ['TEST 2 with its byte in the partner id', test2, { timestamp: '', partnerId: 'r', context: '' }],
  ['TEST 2 with its byte in the context', test2, { timestamp: '', partnerId: '', context: 'r' }],
])('ed25519() gives the known answer of RFC 8032 %s', async (_name, vector, { context, ...signedInput }) => {
  const signer = ed25519({ secretKey: vector.seed, servicePublicKey: vector.publicKey, context });

  const signature = await signer.sign(signedInput);

  expect(signature).toBe(base64(vector.signature));
  expect(await signer.verify(base64(vector.signature), signedInput)).toBe(true);
});

/** A key pair of node:crypto, from a seed of its own number (RFC 8410 §7 for the prefix). */
function keyPair(number: number) {
  const seed = Uint8Array.from(createHash('sha256').update(`seed ${number}`).digest());
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(privateKey);
  const raw = Uint8Array.from(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32));
  return { seed, privateKey, publicKey, raw };
}

test.each([
  [1, '085', '2026-01-02T03:04:05.678Z', undefined],
  [4, 'zażółć', '😀', 'ключ'],
  [5, '085', 'x'.repeat(10_000), ''],
])('ed25519() and node:crypto verify each other (key %i)', async (number, partnerId, timestamp, context) => {
  const ours = keyPair(number);
  const service = keyPair(number + 100);
  const options = {
    secretKey: ours.seed,
    servicePublicKey: service.raw,
    ...(context === undefined ? {} : { context }),
  };
  const message = Buffer.from(`${timestamp}${partnerId}${context ?? 'sid_request'}`, 'utf8');
  const signer = ed25519(options);

  const signature = await signer.sign({ partnerId, timestamp });
  const answer = base64(sign(null, message, service.privateKey));

  expect(signature).toBe(base64(sign(null, message, ours.privateKey)));
  expect(verify(null, message, ours.publicKey, Buffer.from(signature, 'base64'))).toBe(true);
  expect(await signer.verify(answer, { partnerId, timestamp })).toBe(true);
  expect(await signer.verify(signature, { partnerId, timestamp })).toBe(false);
  expect(await signer.verify(answer, { partnerId, timestamp: `${timestamp}0` })).toBe(false);
});

const ours = keyPair(1);
const service = keyPair(2);
const message = Buffer.from(`${input.timestamp}${input.partnerId}sid_request`, 'utf8');
const goodSignature = Uint8Array.from(sign(null, message, service.privateKey));

test.each([
  ['the seed as bytes', ours.seed, service.raw],
  ['the seed as base64', base64(ours.seed), base64(service.raw)],
  ['seed and public key as bytes', joined(ours.seed, ours.raw), service.raw],
  ['seed and public key as base64', base64(joined(ours.seed, ours.raw)), service.raw],
  ['base64 with a line end after it, as it stands in a file', `${base64(ours.seed)}\n`, `${base64(service.raw)}\r\n`],
  ['Buffers', Buffer.from(ours.seed), Buffer.from(service.raw)],
])('ed25519() takes %s', async (_what, secretKey, servicePublicKey) => {
  const signer = ed25519({ secretKey, servicePublicKey });

  const signature = await signer.sign(input);

  expect(verify(null, message, ours.publicKey, Buffer.from(signature, 'base64'))).toBe(true);
  expect(await signer.verify(base64(goodSignature), input)).toBe(true);
});

test.each<[string, (bytes: Uint8Array) => Uint8Array]>([
  ['Uint8Arrays', (bytes) => Uint8Array.from(bytes)],
  ['Buffers', (bytes) => Buffer.from(bytes)],
])('ed25519() keeps the keys it was made with, given as %s', async (_what, copyOf) => {
  const secretKey = copyOf(ours.seed);
  const servicePublicKey = copyOf(service.raw);
  const signer = ed25519({ secretKey, servicePublicKey });

  secretKey.fill(0);
  servicePublicKey.fill(0);

  expect(await signer.sign(input)).toBe(base64(sign(null, message, ours.privateKey)));
  expect(await signer.verify(base64(goodSignature), input)).toBe(true);
});

test('ed25519() verifies with each of several service keys', async () => {
  const next = keyPair(3);
  const signer = ed25519({ secretKey: ours.seed, servicePublicKey: [next.raw, base64(service.raw)] });
  const by = (pair: { privateKey: Parameters<typeof sign>[2] }) => base64(sign(null, message, pair.privateKey));

  const trusted = [
    await signer.verify(by(next), input),
    await signer.verify(by(service), input),
    await signer.verify(by(keyPair(4)), input),
  ];

  expect(trusted).toEqual([true, true, false]);
});

const goodText = base64(goodSignature);

test.each<[string, unknown]>([
  ['an empty signature', ''],
  ['a megabyte', 'A'.repeat(2 ** 20)],
  ['base64 with stray bits', goodText.replace(/.==$/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}==`)],
  ['base64 without padding', goodText.slice(0, -2)],
  ['base64 with half its padding', goodText.slice(0, -1)],
  ['base64 with a line end', `${goodText}\n`],
  ['base64 with a blank within', `${goodText.slice(0, 40)} ${goodText.slice(40)}`],
  ['the URL alphabet', goodText.replaceAll('+', '-').replaceAll('/', '_').replace(/^./, '_')],
  ['hex', Buffer.from(goodSignature).toString('hex')],
  ['no text but bytes', goodSignature],
  ['no text but a number', 1],
  ['null', null],
  ['nothing', undefined],
])('ed25519() verifies %s as false', async (_what, signature) => {
  const signer = ed25519({ secretKey: ours.seed, servicePublicKey: service.raw });

  const trusted = await signer.verify(signature as string, input);

  expect(trusted).toBe(false);
  expect(await signer.verify(goodText, input)).toBe(true);
});

/** What is said of a key. */
const keyFaults = {
  secretKey: 'must be 32 or 64 bytes, or their base64',
  servicePublicKey: 'must be 32 bytes, or their base64',
};

test.each<[string, unknown, unknown, keyof typeof keyFaults]>([
  ['a secret key of 31 bytes', ours.seed.subarray(1), service.raw, 'secretKey'],
  ['a secret key of 33 bytes', joined(ours.seed, new Uint8Array(1)), service.raw, 'secretKey'],
  ['a secret key of 63 bytes', joined(ours.seed, ours.raw).subarray(1), service.raw, 'secretKey'],
  ['an empty secret key', '', service.raw, 'secretKey'],
  ['a secret key in hex', Buffer.from(ours.seed).toString('hex').slice(1), service.raw, 'secretKey'],
  ['a secret key that is no base64', 'planted-key', service.raw, 'secretKey'],
  ['a secret key as a number', 5, service.raw, 'secretKey'],
  ['no secret key', undefined, service.raw, 'secretKey'],
  ['a service key of 31 bytes', ours.seed, service.raw.subarray(1), 'servicePublicKey'],
  ['a service key of 64 bytes', ours.seed, goodSignature, 'servicePublicKey'],
  ['a service key that is no base64', ours.seed, 'planted-key', 'servicePublicKey'],
  ['no service key', ours.seed, undefined, 'servicePublicKey'],
  ['an empty list of service keys', ours.seed, [], 'servicePublicKey'],
  ['a bad service key among good ones', ours.seed, [service.raw, 'planted-key'], 'servicePublicKey'],
])('ed25519() refuses %s, naming the field and not the key', (_what, secretKey, servicePublicKey, field) => {
  const error = thrownBy(
    () => ed25519({ secretKey: secretKey as Uint8Array, servicePublicKey: servicePublicKey as Uint8Array }),
    HostedConfigError,
  );

  const { message, issues } = error;
  expect(issues).toEqual([{ path: field, message: keyFaults[field] }]);
  expect(message).toBe(`Cannot sign with Ed25519: "${field}" ${keyFaults[field]}`);
});

test.each<[string, unknown, string]>([
  ['no options', undefined, `"secretKey" ${keyFaults.secretKey}; "servicePublicKey" ${keyFaults.servicePublicKey}`],
  [
    'a context that is no text',
    { secretKey: test1.seed, servicePublicKey: test1.publicKey, context: 7 },
    '"context" must be a string',
  ],
])('ed25519() refuses %s', (_, options, why) => {
  expect(thrownBy(() => ed25519(options as never))).toMatchObject({
    code: 'config',
    message: `Cannot sign with Ed25519: ${why}`,
  });
});

test("ed25519() refuses to sign with a 64-byte secret key whose public half is not its seed's", async () => {
  const secretKey = joined(ours.seed, service.raw);

  const error = await rejection(
    (async () => ed25519({ secretKey, servicePublicKey: service.raw }).sign(input))(),
    HostedConfigError,
  );

  const fault = 'must be a seed followed by the public key that belongs to it';
  expect(error).toMatchObject({
    message: `Cannot sign with Ed25519: "secretKey" ${fault}`,
    issues: [{ path: 'secretKey', message: fault }],
  });
});

// Answers -------------------------------------------------------------------

const record = { job_complete: true, job_success: true, user_id: job.userId, job_id: job.jobId };
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
const timestamp = '2026-01-02T03:04:01.150Z';
// Of the partner 085 as a number; its zeros in front are part of it.
const digest = digestOf(`85:${timestamp}`);

test.each<[string, 'unkeyed' | 'mismatch', string]>([
  ['the digest', 'unkeyed', digest],
  ['the digest in capitals', 'unkeyed', digest.toUpperCase()],
  ['the digest without its zeros', 'mismatch', digest.replace(/^0+/, '')],
  ['the digest less its last digit', 'mismatch', digest.slice(0, -1)],
  ['the digest and a digit', 'mismatch', `${digest}0`],
  ['the digest after a digit', 'mismatch', `0${digest}`],
  ['the digest and a line end', 'mismatch', `${digest}\n`],
  ['the digest after a legacy signature', 'mismatch', `c2lnbmF0dXJl|${digest}`],
  ['the digest of the partner as written', 'mismatch', digestOf(`085:${timestamp}`)],
  ['the digest of another timestamp', 'mismatch', digestOf(`85:${now}`)],
])('jobs.status() takes %s in the place of a signature for %s', async (_what, reason, signature) => {
  const { client } = clientOf({ ...record, timestamp, signature });

  const error = await rejection(client.jobs.status(job));

  expect(digest).toMatch(/^000/);
  expect(error).toMatchObject({ code: 'signature', reason });
});

// Other signers -------------------------------------------------------------

test('the signers are named after their schemes', () => {
  const names = [hmacSha256({ apiKey: 'key' }), ed25519({ secretKey: ours.seed, servicePublicKey: service.raw })];

  expect(names.map(({ name }) => name)).toEqual(['hmac-sha256', 'ed25519']);
});

/** A signer that takes its time, as one over a key service does. */
function slowSigner(asked: unknown[] = []): Signer {
  const later = () => new Promise((resolve) => setImmediate(resolve));
  return {
    name: 'slow',
    sign: async ({ partnerId, timestamp }) => {
      await later();
      return `slow(${partnerId},${timestamp})`;
    },
    verify: async (signature, signedInput) => {
      await later();
      asked.push([signature, signedInput]);
      return signature === 'by the service';
    },
  };
}

test('a client signs and verifies with an asynchronous signer of the user', async () => {
  const asked: unknown[] = [];
  const timestamp = new Date(now).toISOString();
  const answer = { job_complete: false, timestamp, signature: 'by the service' };
  const { client, sent } = clientOf(answer, { signer: slowSigner(asked) });

  const status = await client.jobs.status(job);

  expect(status.state).toBe('pending');
  expect(sent[0]?.body.sec_key).toBe(`slow(085,${sent[0]?.body.timestamp})`);
  expect(asked).toEqual([['by the service', { partnerId: '085', timestamp }]]);
});

test.each<[string, unknown]>([
  ['1', 1],
  ['a text', 'true'],
  ['an object', {}],
  ['nothing', undefined],
])('a client does not take %s for a signer that verified', async (_what, verdict) => {
  const signer: Signer = { ...slowSigner(), verify: () => verdict as boolean };
  const { client } = clientOf(signed({ job_complete: true, job_success: true }), { signer });

  const error = await rejection(client.jobs.status(job));

  expect(error).toMatchObject({ code: 'signature', reason: 'mismatch' });
});
