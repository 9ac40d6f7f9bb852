/**
 * The checks before Ed25519 verification (RFC 8032 §5.1.7). If libraries or platforms disagree about a signature or a
 * key, the checks reject it. They accept a signature only if it has 64 bytes, S < L, and R is not of small order. They
 * accept a public key only if it is canonical and not of small order.
 *
 * @module
 */

// Shifts, because a transpiler for old browsers makes `Math.pow` of `**`, which takes no bigint.

/** The order of the base point, L = 2^252 + 27742317777372353535851937790883648493 (RFC 8032 §5.1). */
const groupOrder = (1n << 252n) + 27742317777372353535851937790883648493n;
/** The prime of the field, p = 2^255 - 19 (RFC 8032 §5.1). */
const fieldPrime = (1n << 255n) - 19n;

/**
 * One of the two y coordinates of the points of order 8. Multiplied by four, such a point gives (0, -1). The other y
 * coordinate is the negative of this one.
 */
const orderEightY = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;

/**
 * The y coordinates of the eight points of small order (1, 2, 4 and 8). The last two values are p and p + 1. A lenient
 * decoder reads them as 0 and 1.
 */
const smallOrderY: ReadonlySet<bigint> = new Set([
  1n,
  fieldPrime - 1n,
  0n,
  orderEightY,
  fieldPrime - orderEightY,
  fieldPrime,
  fieldPrime + 1n,
]);

/** Whether a public key is canonical, and not of small order. */
export function isStrictPublicKey(publicKey: Uint8Array): boolean {
  const y = yOf(publicKey);
  return publicKey.length === 32 && y < fieldPrime && !smallOrderY.has(y);
}

/** Whether a signature has 64 bytes, S < L, and an R that is not of small order. */
export function isStrictSignature(signature: Uint8Array): boolean {
  if (signature.length !== 64) return false;
  return toLittleEndianNumber(signature.subarray(32)) < groupOrder && !smallOrderY.has(yOf(signature.subarray(0, 32)));
}

function yOf(point: Uint8Array): bigint {
  return toLittleEndianNumber(point) & ((1n << 255n) - 1n);
}

function toLittleEndianNumber(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
}
