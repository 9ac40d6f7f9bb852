/** What is kept of bodies: how much, and never a key or signature. */

import { expect, test } from 'vitest';
import { createKeptBodies, maskSecrets, readBody } from '../../src/sandbox/kept-bodies.js';

/** What is kept of a body, if these keys and signatures are known. */
function keep(text: string, known: readonly string[] = []): string {
  const body = readBody(text);
  return maskSecrets(body.text, [...known, ...body.secrets]);
}

test('the oldest bodies are removed once there are too many bytes, whatever they belong to', () => {
  const kept = createKeptBodies(10);
  kept.put('request 1', { sent: '1234', response: '56' });
  kept.put('callback 1', { sent: '789' });

  kept.put('request 2', { sent: 'äö' });

  expect(kept.get('request 1')).toBeNull();
  expect([kept.get('callback 1'), kept.get('request 2')]).toEqual([{ sent: '789' }, { sent: 'äö' }]);
});

test('a body that is larger than the limit is not kept, and nothing is left of it', () => {
  const kept = createKeptBodies(10);
  kept.put('request 1', { sent: '12345678901' });
  kept.put('request 2', { sent: '1234567890' });

  expect([kept.get('request 1'), kept.get('request 2')]).toEqual([null, { sent: '1234567890' }]);
});

test('texts that are put later are kept with the earlier ones, and counted', () => {
  const kept = createKeptBodies(10);
  kept.put('callback 1', { sent: '12345' });
  kept.put('callback 1', { 'response 0': '12345' });
  const both = kept.get('callback 1');
  kept.put('callback 1', { 'response 1': '1' });

  expect([both, kept.get('callback 1')]).toEqual([{ sent: '12345', 'response 0': '12345' }, null]);
});

const key = 'planted-api-key';
const signature = 'cGxhbnRlZC1zaWduYXR1cmU+';

test.each([
  ['by their names', JSON.stringify({ signature, deep: [{ API_KEY: key }], name: 'A' })],
  ['where they are in another string', JSON.stringify({ name: `A ${key}`, note: [encodeURIComponent(signature)] })],
  ['as the name of a property', JSON.stringify({ [signature]: 1 })],
  ['in a form', `partner_id=085&signature=${encodeURIComponent(signature)}&api_key=${key}`],
  ['in broken JSON', `{"signature":"${signature}","secret_key": '${key}', "name":`],
  ['in a header', `Authorization: ${key}\nx-signature: ${signature}`],
])('keys and signatures are left out %s', (_where, text) => {
  const left = keep(text, [key, signature]);
  const named = keep(text.replaceAll(key, 'unknown-key'), [signature]);

  expect(left).not.toContain(key);
  expect(left).not.toContain(signature);
  expect(left).not.toContain(encodeURIComponent(signature));
  expect(left).toContain('(left out)');
  if (/API_KEY"|api_key=|secret_key"|Auth/.test(text)) expect(named).not.toContain('unknown-key');
});

test('user names and passwords are left out of URLs, and nothing else', () => {
  const text = JSON.stringify({
    callback_url: 'http://user:p@ss@127.0.0.1:9/a?b=c@d',
    logo_url: 'https://a.example/@b',
  });

  expect(JSON.parse(keep(text))).toEqual({
    callback_url: 'http://127.0.0.1:9/a?b=c@d',
    logo_url: 'https://a.example/@b',
  });
});

test('a key that is no text of Unicode is left out, too', () => {
  expect(keep('{"api_key":"\\ud800abcdef","name":"\\ud800abcdef!"}')).toBe(
    '{"api_key":"(left out)","name":"(left out)!"}',
  );
});

test('a long text that is not JSON is read in one pass', () => {
  const text = 'sig'.repeat(2_000);
  const startedAt = performance.now();

  expect(keep(`${text} ${text}=secret-value`)).toBe(`${text} ${text}=(left out)`);
  // One pass takes less than a millisecond; one from each character takes a minute.
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});

test('a body with more than 500 keys is left out whole', () => {
  const withKeys = (count: number) =>
    JSON.stringify(Array.from({ length: count }, (_, id) => ({ id, key: `key-${id}` })));

  expect(JSON.parse(keep(withKeys(500)))[499]).toEqual({ id: 499, key: '(left out)' });
  expect(readBody(`{"list":${withKeys(501)}}`)).toEqual({ object: {}, text: '(left out)', secrets: [] });
});
