/**
 * The guard in front of Ed25519, by itself: no arithmetic behind it refuses in its place. The numbers
 * are those of RFC 8032 §5.1, and the points of small order are computed from them.
 */

import crypto from 'node:crypto';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { isStrictPublicKey, isStrictSignature } from '../../src/signing/strict-ed25519.js';

// The curve -----------------------------------------------------------------

const p = 2n ** 255n - 19n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;

type Point = readonly [x: bigint, y: bigint];
const neutral: Point = [0n, 1n];

const mod = (number: bigint) => ((number % p) + p) % p;

function power(base: bigint, exponent: bigint): bigint {
  if (exponent === 0n) return 1n;
  const half = power(mod(base * base), exponent / 2n);
  return exponent % 2n === 1n ? mod(half * base) : half;
}

const inverse = (number: bigint) => power(number, p - 2n);
const d = mod(-121665n * inverse(121666n));

/** The sum of two points of -x² + y² = 1 + dx²y² (RFC 8032 §5.1.4). */
function sum([x1, y1]: Point, [x2, y2]: Point): Point {
  const k = mod(d * x1 * x2 * y1 * y2);
  return [mod((x1 * y2 + x2 * y1) * inverse(1n + k)), mod((y1 * y2 + x1 * x2) * inverse(1n - k))];
}

function times(factor: bigint, point: Point): Point {
  if (factor === 0n) return neutral;
  const half = times(factor / 2n, sum(point, point));
  return factor % 2n === 1n ? sum(half, point) : half;
}

/** A point with this y, which must have one: x is a root of (y² - 1)/(dy² + 1) (RFC 8032 §5.1.3). */
function pointOf(y: bigint): Point {
  const square = mod((y * y - 1n) * inverse(d * y * y + 1n));
  const root = power(square, (p + 3n) / 8n);
  return [mod(root * root) === square ? root : mod(root * power(2n, (p - 1n) / 4n)), y];
}

const basePoint = pointOf(mod(4n * inverse(5n)));
// The whole group has 8L points: L times one of it is of an order that divides 8, and of 8 itself for this one.
const ofOrder8 = times(L, pointOf(3n));
const eight = Array.from({ length: 8 }, (_, factor) => times(BigInt(factor), ofOrder8));

test('the numbers are those of the curve: L times the base point is the neutral one, and the eight are eight', () => {
  expect(times(L, basePoint)).toEqual(neutral);
  expect(new Set(eight.map(String)).size).toBe(8);
  expect(times(8n, ofOrder8)).toEqual(neutral);
  for (const [x, y] of [basePoint, ...eight]) expect(mod(y * y - x * x)).toBe(mod(1n + d * x * x * y * y));
});

// Spellings -----------------------------------------------------------------

/** A number in so many bytes, the lowest first. */
const bytesOf = (number: bigint, length = 32) =>
  Uint8Array.from(Buffer.from(number.toString(16).padStart(2 * length, '0'), 'hex').reverse());
const joined = (...parts: readonly Uint8Array[]) => Uint8Array.from(Buffer.concat(parts));
const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

/** A y under both signs of x, in the highest bit. */
const withSigns = (y: bigint) => [bytesOf(y), bytesOf(y + 2n ** 255n)];
const named = (points: readonly Uint8Array[]) => points.map((point) => [hexOf(point), point] as const);

const smallY = [...new Set(eight.map(([, y]) => y))];
/** Also as y + p, where that fits into 255 bits. */
const smallOrder = smallY.flatMap((y) => [y, y + p].filter((spelt) => spelt < 2n ** 255n)).flatMap(withSigns);
/** Every other y from p on that fits into 255 bits. */
const notCanonical = Array.from({ length: 17 }, (_, over) => p + 2n + BigInt(over)).flatMap(withSigns);

/** Next to what is refused, and the keys of RFC 8032 §7.1 test 1 and of the base point. */
const neighbours = smallY.flatMap((y) => [y - 1n, y + 1n]).filter((y) => y > 0n && y < p && !smallY.includes(y));
const testKey = Uint8Array.from(Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex'));
const strictPoints = [...[...neighbours, basePoint[1], L, p - 2n].flatMap(withSigns), testKey];

const R = bytesOf(basePoint[1]);
const good = joined(R, bytesOf(1n));

const strictS: readonly [string, bigint][] = [
  ['0', 0n],
  ['1', 1n],
  ['2^252', 2n ** 252n],
  ['L - 1', L - 1n],
];
const refusedS: readonly [string, bigint][] = [
  ['L', L],
  ['L + 1', L + 1n],
  ['2L', 2n * L],
  ['2^253', 2n ** 253n],
  ['1 with the highest bit set', 1n + 2n ** 255n],
  ['2^256 - 1', 2n ** 256n - 1n],
];

const wrongKeys: readonly (readonly [string, Uint8Array])[] = [
  ...named([...smallOrder, ...notCanonical]),
  ['no bytes', new Uint8Array()],
  ['31 bytes', R.subarray(0, 31)],
  ['33 bytes', joined(R, new Uint8Array(1))],
  ['64 bytes', joined(R, new Uint8Array(32))],
];

const wrongSignatures: readonly (readonly [string, Uint8Array])[] = [
  ...smallOrder.map((point) => [`R of ${hexOf(point)}`, joined(point, bytesOf(1n))] as const),
  ...refusedS.map(([name, S]) => [`S of ${name}`, joined(R, bytesOf(S))] as const),
  ['no bytes', new Uint8Array()],
  ['R alone', R],
  ['63 bytes', good.subarray(0, 63)],
  ['65 bytes', joined(good, new Uint8Array(1))],
  ['128 bytes', joined(good, new Uint8Array(64))],
];

const strictSignatures: readonly (readonly [string, Uint8Array])[] = [
  ...strictPoints.map((point) => [`R of ${hexOf(point)}`, joined(point, bytesOf(1n))] as const),
  ...strictS.map(([name, S]) => [`S of ${name}`, joined(R, bytesOf(S))] as const),
];

// The guard -----------------------------------------------------------------

test('there are fourteen spellings of the eight points: five y, two of them also over p, under two signs', () => {
  expect(new Set(smallOrder.map(hexOf)).size).toBe(14);
});

test.each(wrongKeys)('isStrictPublicKey() refuses %s', (_name, key) => {
  expect(isStrictPublicKey(key)).toBe(false);
});

test.each(named(strictPoints))('isStrictPublicKey() accepts %s', (_name, key) => {
  expect(isStrictPublicKey(key)).toBe(true);
});

test.each(wrongSignatures)('isStrictSignature() refuses %s', (_name, signature) => {
  expect(isStrictSignature(signature)).toBe(false);
});

test.each(strictSignatures)('isStrictSignature() accepts %s', (_name, signature) => {
  expect(isStrictSignature(signature)).toBe(true);
});

// The guard alone, before an arithmetic that says yes to everything ----------

// It says no to the one signature by which it is tried, or it would not be used.
const saysYes = (_algorithm: null, message: Uint8Array) => message[0] !== 0x73 || message.length !== 1;
const verify = vi.fn(saysYes);
const { getBuiltinModule } = process;
const platform = {
  ...crypto,
  // Nor does it look whether a key is a point of the curve.
  createPublicKey: (given: crypto.KeyObject | { key: Uint8Array }) =>
    'key' in given ? given : crypto.createPublicKey(given),
  verify,
};

// Which arithmetic a process uses is decided once.
beforeAll(() => {
  vi.resetModules();
  process.getBuiltinModule = ((name: string) =>
    name === 'crypto' ? platform : getBuiltinModule(name)) as typeof getBuiltinModule;
});

afterAll(() => {
  process.getBuiltinModule = getBuiltinModule;
  vi.resetModules();
});

const input = { timestamp: '2026-01-02T03:04:05.678Z', partnerId: '085' };

/** A signer over this service key whose arithmetic is decided, and has not been asked about anything else. */
async function signerOver(...servicePublicKey: readonly Uint8Array[]) {
  const { ed25519 } = await import('hosted-client');
  const signer = ed25519({ secretKey: new Uint8Array(32).fill(7), servicePublicKey });
  await signer.sign(input);
  verify.mockReset().mockImplementation(saysYes);
  return signer;
}

test.each(named(strictPoints))('ed25519() asks the arithmetic about the service key %s', async (_name, key) => {
  const signer = await signerOver(key);

  expect(await signer.verify(base64(good), input)).toBe(true);
  expect(verify).toHaveBeenCalledOnce();
});

test.each(named([...smallOrder, ...notCanonical]))(
  'ed25519() asks no arithmetic about the service key %s, and does about the one beside it',
  async (_name, key) => {
    const weak = await signerOver(key);
    expect(await weak.verify(base64(good), input)).toBe(false);
    expect(verify).not.toHaveBeenCalled();

    const beside = await signerOver(key, testKey);
    expect(await beside.verify(base64(good), input)).toBe(true);
    expect(verify).toHaveBeenCalledOnce();
  },
);

test.each(strictSignatures)('ed25519() asks the arithmetic about a signature with %s', async (_name, signature) => {
  const signer = await signerOver(testKey);

  expect(await signer.verify(base64(signature), input)).toBe(true);
});

test.each(wrongSignatures)('ed25519() asks no arithmetic about a signature with %s', async (_name, signature) => {
  const signer = await signerOver(testKey);

  expect(await signer.verify(base64(signature), input)).toBe(false);
  expect(verify).not.toHaveBeenCalled();
});
