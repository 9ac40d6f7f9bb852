/** In which spellings a signature of ours is known again, and how long it is remembered. */

import { expect, test } from 'vitest';
import { createSentSignatures, rememberSent, wasSent, wasSentRespelled } from '../../src/call/sent-signatures.js';

function sentOf(...signatures: readonly string[]) {
  const sent = createSentSignatures(false);
  for (const [at, signature] of signatures.entries()) rememberSent(sent, signature, { signedFor: at, now: at });
  return sent;
}

// RFC 4648 §4 and §5: padding, blanks and the alphabet do not count, and the case of hexadecimal digits does not.
test.each([
  ['Qux+abcd', 'Qux+abcd'],
  ['Qux+abcd', 'Qux-abcd'],
  ['Qux/abcd', 'Qux_abcd'],
  ['+uxxabcd', '-uxxabcd'],
  ['/uxxabcd', '_uxxabcd'],
  ['Quxxabc=', 'Quxxabc'],
  ['Quxxabcd', ' Quxx\nabcd '],
  ['QUI=', 'QUJ='],
  ['deadbeef', 'DEADBEEF'],
  ['0123abcd', '0123ABCD'],
])('%s is known again as %j', (own, other) => {
  expect(wasSentRespelled(sentOf(own), other)).toBe(true);
  expect(wasSentRespelled(sentOf('Zuxxabcd', own), other)).toBe(true);
});

test.each<[string, unknown]>([
  ['Quxxabcd', 'Quxxabce'],
  ['Quxxabcd', 'Quxxabcd1234'],
  ['QuxxabcX', 'quxxabcx'],
  ['Quxxabcd', 'QuXXabcd'],
  ['Qux+abcd', 'Quxxabcd'],
  ['Qux+abcd', 'Quxabcd'],
  ['Qux/abcd', 'Quxabcd'],
  // No base64: five characters decode to nothing.
  ['Quxxa', 'Quxxb'],
  ['Quxxabcd', 5],
  ['Quxxabcd', null],
  ['Quxxabcd', ['Quxxabcd']],
])('%s is not %j', (own, other) => {
  expect(wasSentRespelled(sentOf(own), other)).toBe(false);
  expect(wasSent(sentOf(own), other)).toBe(false);
});

test('nothing was sent before the first request', () => {
  expect(wasSent(sentOf(), 'Quxxabcd')).toBe(false);
  expect(wasSentRespelled(sentOf(), 'Quxxabcd')).toBe(false);
});

test('a signature is forgotten once no response under it would be fresh', () => {
  const sent = createSentSignatures(1_000);
  for (const at of [0, 400, 1_000]) rememberSent(sent, `at ${at}`, { signedFor: at, now: at });

  expect(sent.signatures).toEqual(['at 0', 'at 400', 'at 1000']);
  rememberSent(sent, 'at 1401', { signedFor: 1_401, now: 1_401 });
  expect(sent.signatures).toEqual(['at 1000', 'at 1401']);
  expect(sent.forgottenUntil).toBe(400);
  rememberSent(sent, 'at 9000', { signedFor: 9_000, now: 9_000 });
  expect(sent.signatures).toEqual(['at 9000']);
  expect(sent.forgottenUntil).toBe(1_401);
});

test('where a response of any age is fresh, no signature is forgotten', () => {
  const sent = sentOf('at 0');
  rememberSent(sent, 'years later', { signedFor: 1e12, now: 1e12 });

  expect(sent.signatures).toEqual(['at 0', 'years later']);
});
