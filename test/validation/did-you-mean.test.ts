// What a caller may have meant by a name that is not known.

import { HostedClient, type HostedConfigError, type HostedValidationError } from 'hosted-client';
import { expect, test } from 'vitest';
import { findSimilarName } from '../../src/validation/did-you-mean.js';
import { clientOf, newLink, optionsOf, rejection, serviceOf, thrownBy } from '../support/fake-fetch.js';
import { created } from './expect-refusal.js';

const known = ['partnerId', 'apiKey', 'baseUrls', 'timeoutMs', 'maxRetries', 'callbackUrl', 'fetch', 'name'];

test.each([
  ['callback_url', 'callbackUrl'],
  ['callbackURL', 'callbackUrl'],
  ['apikey', 'apiKey'],
  ['api_key', 'apiKey'],
  ['max_re_tries', 'maxRetries'],
  ['APIKEY', 'apiKey'],
  ['partnerID', 'partnerId'],
  ['parnterId', 'partnerId'],
  ['baseUrl', 'baseUrls'],
  ['timeout', 'timeoutMs'],
  ['retries', 'maxRetries'],
  ['time', 'timeoutMs'],
  ['key', null],
  ['fecth', 'fetch'],
  ['ftch', 'fetch'],
  ['nam', 'name'],
  ['nane', 'name'],
  ['na', null],
  ['x', null],
  ['', null],
  ['somethingElse', null],
  ['secret', null],
])('%s: %s', (name, expected) => {
  expect(findSimilarName(name, known)).toBe(expected);
});

test.each([
  ['keyboard', 'key'],
  ['eve', 'eveve'],
])('%s is no %s, though one contains the other', (name, other) => {
  expect(findSimilarName(name, [other])).toBeNull();
});

test('nothing is like a name where none is known', () => {
  expect(findSimilarName('name', [])).toBeNull();
});

const unknown = (similar: string) => `is not a known property; did you mean "${similar}"?`;

test('an option, an input, and what stands inside of them say what was meant', async () => {
  const options = optionsOf(serviceOf(created));
  const { client } = clientOf(created);
  const config = thrownBy(() => new HostedClient({ ...options, wire: { firstpage: 1 } } as never));
  const misspelt = thrownBy(() => new HostedClient({ ...options, timeOut: 1 } as never));
  const input = await rejection(client.links.create({ ...newLink, callback_url: null } as never));
  const inside = await rejection(client.links.create({ ...newLink, idTypes: [{ countri: 'NG' }] } as never));
  const call = await rejection(client.links.get('ref-1', { retries: 1 } as never));

  expect((config as HostedConfigError).issues).toEqual([{ path: 'wire.firstpage', message: unknown('firstPage') }]);
  expect((misspelt as HostedConfigError).issues).toEqual([{ path: 'timeOut', message: unknown('timeoutMs') }]);
  expect((input as HostedValidationError).issues).toEqual([{ path: 'callback_url', message: unknown('callbackUrl') }]);
  expect((inside as HostedValidationError).issues).toContainEqual({
    path: 'idTypes[0].countri',
    message: unknown('country'),
  });
  expect((call as HostedValidationError).issues).toEqual([{ path: 'retries', message: unknown('maxRetries') }]);
});

test('a name that may be data is neither shown nor compared', async () => {
  const { client } = clientOf(created);

  const error = await rejection(client.links.create({ ...newLink, 'call back url': null } as never));

  expect((error as HostedValidationError).issues).toEqual([
    { path: '(a property)', message: 'is not a known property' },
  ]);
});
