/** How a signature of ours is known again, and how long it is remembered. */

import { expect, test } from 'vitest';
import { createSentSignatures, findSentFor, rememberSent, wasSent } from '../../src/call/sign-request.js';

function sentOf(...signatures: readonly string[]) {
  const sent = createSentSignatures(false);
  for (const [at, signature] of signatures.entries()) rememberSent(sent, signature, { signedFor: at, now: at });
  return sent;
}

test('a signature is known again with every character, and by the time that it covers', () => {
  const sent = sentOf('Quxxabcd', 'Zuxxabcd');

  expect(['Quxxabcd', 'Zuxxabcd', 'quxxabcd', 5, null].map((signature) => wasSent(sent, signature))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect([new Date(0), new Date(1), new Date(2), null].map((time) => findSentFor(sent, time))).toEqual([
    'Quxxabcd',
    'Zuxxabcd',
    undefined,
    undefined,
  ]);
});

test('nothing was sent before the first request', () => {
  expect(wasSent(sentOf(), 'Quxxabcd')).toBe(false);
  expect(findSentFor(sentOf(), new Date(0))).toBeUndefined();
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
