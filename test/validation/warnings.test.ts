// What works and is probably a mistake: one line when a client is made, and one for each kind of mistake in its links.

import { HostedClient, type HostedClientOptions, hmacSha256, type NewLink } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { clientOf, newLink, now } from '../support/fake-fetch.js';
import { created } from './expect-refusal.js';

const remote = 'https://sandbox.hosted.example';
const good = { partnerId: '085', apiKey: 'planted-key-0a1b2c3d', baseUrls: { sandbox: remote } };
const kitKeys = Object.values(createMockService()).flatMap((each) => {
  const options = (each as { clientOptions?: { apiKey?: string } }).clientOptions;
  return options?.apiKey === undefined ? [] : [options.apiKey];
});

function warningsOf(options: Partial<HostedClientOptions>): readonly string[] {
  const lines: string[] = [];
  const quiet = () => undefined;
  const logger = { debug: quiet, info: quiet, error: quiet, warn: (line: string) => void lines.push(line) };
  new HostedClient({ ...good, logger, ...options } as HostedClientOptions);
  return lines;
}

const kit = '"apiKey" is a key of the testing kit: use the key that the service gave you';
const short = '"apiKey" has fewer than 16 characters, so others may guess it: check that it is whole';
const quoted = '"apiKey" is in quotation marks, which count as part of the key: remove them';
const typographic = '"apiKey" contains typographic quotation marks: copy it as plain text';
const escaped = '"apiKey" contains "\\n" as two characters, which count as part of the key: remove them';
const blank = '"apiKey" contains a blank: copy it again';
const local =
  'leads to this machine or a private network, where the service cannot deliver callbacks: use a public URL';
const plain = 'is plain http, so others can read what the service posts: use https';

test('the kit has a key for each environment', () => {
  expect(kitKeys).toHaveLength(2);
});

test.each<[string, Partial<HostedClientOptions>, string]>([
  ...kitKeys.map((apiKey): [string, Partial<HostedClientOptions>, string] => ['a key of the kit', { apiKey }, kit]),
  ['a key of 15 characters', { apiKey: 'planted-key-0a1' }, short],
  [
    'a short key among several',
    { apiKey: undefined as never, signer: hmacSha256({ apiKey: [good.apiKey, 'old', 'older'] }) },
    short,
  ],
  ['a key in quotation marks', { apiKey: `"${good.apiKey}"` }, quoted],
  [
    'a key in quotation marks for a service on this machine',
    { apiKey: `"${good.apiKey}"`, baseUrls: { sandbox: 'http://localhost:3000' } },
    quoted,
  ],
  ['a key in typographic quotation marks', { apiKey: `“${good.apiKey}”` }, typographic],
  ['a line end that was written as two characters', { apiKey: `${good.apiKey}\\n` }, escaped],
  ['a key with a blank at its end', { apiKey: `${good.apiKey} ` }, blank],
  [
    'a callback URL on this machine',
    { defaultCallbackUrl: 'http://localhost:3000/planted' },
    `"defaultCallbackUrl" ${local}`,
  ],
  [
    'a callback URL of plain http',
    { defaultCallbackUrl: 'http://partner.example/planted' },
    `"defaultCallbackUrl" ${plain}`,
  ],
])('a client has one line about %s', (_what, options, line) => {
  expect(warningsOf(options)).toEqual([`hosted-client: ${line}`]);
});

test('a client with several mistakes has one line, and no part of a key or a URL in it', () => {
  const lines = warningsOf({ apiKey: '"planted"', defaultCallbackUrl: 'http://planted.local/' });

  expect(lines).toEqual([`hosted-client: ${quoted}; ${short}; "defaultCallbackUrl" ${local}`]);
});

test.each<[string, Partial<HostedClientOptions>]>([
  ['a right client', { defaultCallbackUrl: 'https://partner.example/callbacks' }],
  ['the kit with its own keys', createMockService().sandbox.clientOptions],
  [
    'a sandbox on this machine, with a short key and a callback URL there',
    {
      apiKey: 'short',
      baseUrls: { sandbox: 'http://127.0.0.1:4085/sandbox' },
      defaultCallbackUrl: 'http://localhost:3000',
    },
  ],
  [
    'a service of the same private network',
    { baseUrls: { sandbox: 'https://10.1.2.3' }, defaultCallbackUrl: 'http://10.1.2.4' },
  ],
  [
    'a signer of the caller',
    { apiKey: undefined as never, signer: { name: 'x', sign: () => 'x', verify: () => true } },
  ],
])('%s has no line', (_what, options) => {
  expect(warningsOf(options)).toEqual([]);
});

test.each([
  ...['http://localhost/', 'http://app:3000/', 'https://0.0.0.0/', 'https://127.1.2.3/', 'https://2130706433/'],
  ...[
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://172.31.255.255/',
    'https://192.168.1.1/',
    'https://169.254.1.1/',
  ],
  ...[
    'https://100.64.0.1/',
    'https://100.127.0.1/',
    'https://[::1]/',
    'https://[::]/',
    'https://[fd00::1]/',
    'https://[fe80::1]/',
  ],
  ...[
    'https://[::ffff:10.0.0.1]/',
    'https://nas.local/',
    'https://api.internal/',
    'https://partner.test/',
    'https://a.localhost/',
    'https://localhost./',
  ],
])('a service elsewhere cannot reach %s', (defaultCallbackUrl) => {
  expect(warningsOf({ defaultCallbackUrl })).toEqual([`hosted-client: "defaultCallbackUrl" ${local}`]);
});

test.each([
  ...[
    'https://partner.example/',
    'https://10.example.com/',
    'https://11.0.0.1/',
    'https://172.15.0.1/',
    'https://172.32.0.1/',
  ],
  ...[
    'https://192.169.1.1/',
    'https://100.63.0.1/',
    'https://100.128.0.1/',
    'https://[2001:db8::1]/',
    'https://local.example/',
  ],
])('a service elsewhere may reach %s', (defaultCallbackUrl) => {
  expect(warningsOf({ defaultCallbackUrl })).toEqual([]);
});

// Links -----------------------------------------------------------------------

const past = 'the expiresAt of a link is in the past, so the link cannot be used';

test.each<[string, Partial<NewLink>, string | null]>([
  [
    'a callback URL on this machine',
    { callbackUrl: 'http://localhost:3000/planted' },
    `the callbackUrl of a link ${local}`,
  ],
  [
    'a callback URL of plain http',
    { callbackUrl: new URL('http://partner.example/planted') },
    `the callbackUrl of a link ${plain}`,
  ],
  ['an end in the past', { expiresAt: new Date(now - 1) }, past],
  ['an end in the past as text', { expiresAt: '2026-01-02T04:04:05+01:00' }, past],
  ['a callback URL that is no URL', { callbackUrl: '/callbacks' }, null],
  ['an end in the future', { expiresAt: new Date(now + 1_000) }, null],
  ['a public callback URL', { callbackUrl: 'https://partner.example/callbacks' }, null],
])('the first of several links with %s has a line', async (_what, wrong, line) => {
  const lines: string[] = [];
  const quiet = () => undefined;
  const logger = { debug: quiet, info: quiet, error: quiet, warn: (text: string) => void lines.push(text) };
  const { client } = clientOf(created, { ...good, logger });
  const link = { ...newLink, callbackUrl: 'https://partner.example/', ...wrong };

  await client.links.create(link).catch(() => undefined);
  await client.links.create(link).catch(() => undefined);

  expect(lines).toEqual(line === null ? [] : [`hosted-client: ${line}`]);
});
