/** The id that a response gives its request is shown in errors, events and logs: it never carries a signature of ours. */

import { inspect } from 'node:util';
import type { HostedEvent, Signer } from 'hosted-client';
import { expect, test } from 'vitest';
import { requestIdIn } from '../../src/call/error-from-response.js';
import { clientOf, operations, type Reply, rejection, sign } from '../support/fake-fetch.js';

const [, , get] = operations;
const signature = sign('2026-01-02T03:04:05.678Z');
const urlSafe = signature.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
const idOf = (value: string, signatures: readonly string[] = [signature]) =>
  requestIdIn(new Headers({ 'x-request-id': value }), signatures);

test('the signature under test has what other spellings of base64 write differently', () => {
  expect(signature).toHaveLength(44);
  expect(signature).toMatch(/[+/].*=$/);
});

test.each<[string, string]>([
  ['as it is', signature],
  ['between blanks', ` ${signature}\t`],
  ['without its padding', signature.slice(0, -1)],
  ['in the alphabet of URLs', urlSafe],
  ['after a prefix', `req-1.${signature}`],
  ['before a suffix', `${signature}:req-1`],
  ['in the middle', `req-1=${urlSafe}=1`],
  ['twice', signature + signature],
  ['without its first half', signature.slice(22)],
  ['without its second half', signature.slice(0, 22)],
  ['in quotes', `"${signature}"`],
  ['percent-encoded', encodeURIComponent(signature)],
  ['percent-encoded in its middle alone', encodeURIComponent(signature).replace('%3D', '')],
])('a request id that is our signature %s is dropped', (_how, value) => {
  expect(idOf(value)).toBeNull();
});

test('no 15 characters in a row of a signature are shown', () => {
  for (let from = 0; from + 15 <= signature.length; from++) expect(idOf(signature.slice(from, from + 15))).toBeNull();
});

test.each([
  'req-1',
  'f47ac10b-58cc-4372-a567-0e02b2c3d479',
  'Root=1-67891233-abcdef012345678912345678',
  `req-${signature.slice(3, 10)}`,
])('a request id that shares no more than a few characters with our signature is shown: %s', (value) => {
  expect(idOf(value)).toBe(value);
});

test('a request id is held against every signature that was sent', () => {
  const other = sign('2026-01-02T03:04:05.679Z');

  for (const sent of [
    [signature, other],
    [other, signature],
  ]) {
    expect(idOf(signature, sent)).toBeNull();
    expect(idOf(other, sent)).toBeNull();
  }
  expect(idOf(other, [signature])).toBe(other);
  expect(idOf('req-1', [])).toBe('req-1');
});

test('a signature of a few characters, which a signer may make, drops an id that equals it and no other', () => {
  expect(idOf('abc', ['abc'])).toBeNull();
  expect(idOf('abcd', ['abc'])).toBe('abcd');
  expect(idOf('req-1', [''])).toBe('req-1');
});

test.each(['ab+cdefg', 'ab/cdefg'])('%s, which is all of a signature, is found in the alphabet of URLs', (short) => {
  expect(idOf(`req.${short.replace('+', '-').replace('/', '_')}`, [short])).toBeNull();
});

test.each(['two words', '"req-1"', 'req-1"', '<req-1', 'req-1\u00e9', '', 'a'.repeat(129)])(
  'a request id of other characters, or of more than 128, is dropped: %s',
  (value) => {
    expect(idOf(value)).toBeNull();
  },
);

test('a request id of 128 characters is shown', () => {
  expect(idOf('a'.repeat(128))).toBe('a'.repeat(128));
});

test('a signature of eight characters drops every id that has it', () => {
  expect(idOf('abcdefgh', ['abcdefgh'])).toBeNull();
  expect(idOf('req-abcdefgh-1', ['abcdefgh'])).toBeNull();
  expect(idOf('abcdefg', ['abcdefgh'])).toBe('abcdefg');
});

test('the next header with an id is taken where the first one carries our signature', () => {
  const headers = new Headers({ 'x-request-id': signature, 'x-correlation-id': 'req-1' });

  expect(requestIdIn(headers, [signature])).toBe('req-1');
});

const echoes: readonly [string, (signature: string) => string][] = [
  ['its value', (sent) => sent],
  ['a part of its value', (sent) => `req-${sent.slice(0, 30)}`],
];

test.each(echoes)(
  'a service that hands our signature back as %s of the request id shows it nowhere',
  async (_what, id) => {
    const answered =
      (status: number, body: object): Reply =>
      ({ body: { signature: sent } }) =>
        Response.json(body, { status, headers: { 'x-request-id': id(String(sent)) } });
    const signer: Signer = { name: 'mine', sign: ({ timestamp }) => sign(timestamp), verify: () => false };
    const events: HostedEvent[] = [];
    const lines: unknown[] = [];
    const log = (...line: unknown[]) => void lines.push(line);
    const { client, sent } = clientOf(
      [
        answered(200, get.answer()),
        answered(400, { code: '2215' }),
        answered(408, {}),
        answered(200, { ref_id: 'ref-1' }),
        answered(200, { ...get.answer(), signature: 'forged', timestamp: '2026-01-02T03:04:05Z' }),
      ],
      {
        signer,
        maxRetries: 0,
        onEvent: (event) => events.push(event),
        logger: { debug: log, info: log, warn: log, error: log },
      },
    );

    const { response } = await client.links.get('ref-1').withResponse();
    const errors: unknown[] = [];
    for (let call = 0; call < 4; call++) errors.push(await rejection(client.links.get('ref-1')));

    expect(response.requestId).toBeNull();
    expect(errors).toMatchObject([
      { code: 'api', requestId: null },
      { code: 'timeout', requestId: null },
      { code: 'response', requestId: null },
      { code: 'signature', requestId: null },
    ]);
    const responses = events.filter(({ type }) => type === 'response');
    expect(responses).toHaveLength(5);
    for (const event of responses) expect(event).toMatchObject({ requestId: null });
    const shown = [...errors, ...events, ...lines]
      .map((each) => inspect(each, { depth: 9 }) + JSON.stringify(each))
      .join();
    for (const { body } of sent) expect(shown).not.toContain(String(body.signature).slice(0, 15));
  },
);
