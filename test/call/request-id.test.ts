/** The id that a response gives its request is shown in errors, events and logs: it never carries a signature of ours. */

import { inspect } from 'node:util';
import type { HostedEvent, Signer } from 'hosted-client';
import { expect, test } from 'vitest';
import { requestIdIn } from '../../src/call/error-from-response.js';
import { clientOf, operations, type Reply, rejection, sign } from '../support/fake-fetch.js';

const [, , get] = operations;
const signature = sign('2026-01-02T03:04:05.678Z');
/** An attempt that sent this signature, and these fields. */
const sending = (text: string | null, encoded: object = { body: {} }) => {
  const signed = text === null ? null : { signature: text, timestamp: '2026-01-02T03:04:05.678Z', agoMs: 0 };
  return { call: { encoded }, signed } as Parameters<typeof requestIdIn>[1];
};
const idOf = (value: string, sent: string = signature, encoded?: object) =>
  requestIdIn(new Headers({ 'x-request-id': value }), sending(sent, encoded));

test.each<[string, string]>([
  ['as it is', signature],
  ['between blanks', ` ${signature}\t`],
  ['without its padding', signature.slice(0, -1)],
  ['after a prefix', `req-1.${signature}`],
  ['before a suffix', `${signature}:req-1`],
  ['in the middle', `req-1=${signature}=1`],
  ['twice', signature + signature],
  ['without its second half', signature.slice(0, 22)],
  ['in quotes', `"${signature}"`],
  ['percent-encoded', encodeURIComponent(signature)],
  ['percent-encoded in its middle alone', encodeURIComponent(signature).replace('%3D', '')],
])('a request id that is our signature %s is dropped', (_how, value) => {
  expect(idOf(value)).toBeNull();
});

test.each([
  'req-1',
  'f47ac10b-58cc-4372-a567-0e02b2c3d479',
  'Root=1-67891233-abcdef012345678912345678',
  `req-${signature.slice(0, 15)}`,
])('a request id without the first 16 characters of our signature is shown: %s', (value) => {
  expect(idOf(value)).toBe(value);
});

test('a short signature, which a signer may make, drops every id that has it', () => {
  expect(idOf('abc', 'abc')).toBeNull();
  expect(idOf('req-abc-1', 'abc')).toBeNull();
  expect(idOf('ab', 'abc')).toBe('ab');
});

test('a request id is shown where nothing was signed', () => {
  expect(requestIdIn(new Headers({ 'x-request-id': 'req-1' }), sending(null))).toBe('req-1');
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

const ids = {
  linkId: 'link-77',
  body: { user_id: '85001015009087', job_id: 'ab', name: '', image_links: true, history: null },
};

test.each<[string, boolean]>([
  ['req-85001015009087-1', false],
  ['85001015009087', false],
  ['get:link-77', false],
  ['status/ab/1', false],
  ['ab', false],
  ['req-cabin', true],
  ['req-true-null-', true],
  ['-req-', true],
  ['f47ac10b-58cc-4372-a567-0e02b2c3d479', true],
])('the request id %s is shown, if it repeats no id of the call: %s', (id, isShown) => {
  expect(idOf(id, signature, ids)).toBe(isShown ? id : null);
});

test('the next header with an id is taken where the first one carries our signature', () => {
  const headers = new Headers({ 'x-request-id': signature, 'x-correlation-id': 'req-1' });

  expect(requestIdIn(headers, sending(signature))).toBe('req-1');
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
    for (const { body } of sent) expect(shown).not.toContain(String(body.signature).slice(0, 16));
  },
);
