/**
 * The guard in front of Ed25519 (RFC 8032 §5.1.7): what libraries and platforms disagree about is
 * refused before any of them is asked. Accepted are 64-byte signatures with S < L, a canonical
 * public key, and neither key nor R of small order.
 *
 * @module
 */

/** The order of the base point, L = 2^252 + 27742317777372353535851937790883648493 (RFC 8032 §5.1). */
const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n;
/** The prime of the field, p = 2^255 - 19 (RFC 8032 §5.1). */
const fieldPrime = 2n ** 255n - 19n;

/** A y coordinate of the points of order 8: four times such a point is (0, -1). The other one is its negative. */
const orderEightY = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;

/**
 * The y coordinates of the eight points of small order, with the spellings over p that a lenient
 * decoder takes for them: order 1, 2, 4 and 8.
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

/** Whether these 32 bytes are a public key to verify with: canonical, and not of small order. */
export function isStrictPublicKey(publicKey: Uint8Array): boolean {
  const y = yOf(publicKey);
  // Stryker disable next-line EqualityOperator: the prime itself is in the list of small order
  return publicKey.length === 32 && y < fieldPrime && !smallOrderY.has(y);
}

/** Whether these bytes have the form of a signature that arithmetic may be asked about. */
export function isStrictSignature(signature: Uint8Array): boolean {
  if (signature.length !== 64) return false;
  return littleEndian(signature.subarray(32)) < groupOrder && !smallOrderY.has(yOf(signature.subarray(0, 32)));
}

function yOf(point: Uint8Array): bigint {
  return littleEndian(point) & (2n ** 255n - 1n);
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => (number << 8n) | BigInt(byte), 0n);
}
