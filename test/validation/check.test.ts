/** However much is wrong, an error has at most 20 issues and a message of at most 2,000 characters. */

import { HostedClient, HostedConfigError, HostedValidationError, hmacSha256, type NewLink } from 'hosted-client';
import { expect, test } from 'vitest';
import { listIssues } from '../../src/errors/reasons.js';
import { clientOf, newLink, rejection, thrownBy } from '../support/fake-fetch.js';

const many = 10_000;
const baseUrls = { sandbox: 'https://sandbox.hosted.test' };

/** An object of many properties, each with a name of its own. */
const wideObject = (count = many) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`unknown${nameOf(at)}`, at]));

/** The digits of a number as letters, so that the name is one that is shown. */
function nameOf(number: number): string {
  return [...String(number)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
}

function expectBounded(error: unknown): void {
  const { issues, message } = error as HostedValidationError;
  expect(issues).toHaveLength(20);
  expect(message.length).toBeLessThanOrEqual(2_000);
  expect(JSON.stringify(error).length).toBeLessThan(10_000);
}

const call = (act: (client: HostedClient) => Promise<unknown>) => rejection(act(clientOf({}).client));
const create = (members: object) => call((client) => client.links.create({ ...newLink, ...members } as NewLink));

test.each<[string, () => Promise<unknown>]>([
  ['a link with an unknown property 10,000 times', () => create(wideObject())],
  ['an ID type with 10,000 unknown properties', () => create({ idTypes: [wideObject()] })],
  ['call options with 10,000 unknown properties', () => call((client) => client.links.get('ref-1', wideObject()))],
  ['list options with 10,000 unknown properties', () => call(async (client) => client.links.list(wideObject()))],
  [
    'wait options with 10,000 unknown properties',
    () => call((client) => client.jobs.waitForCompletion({ userId: 'u', jobId: 'j' }, wideObject())),
  ],
  [
    'callback options with 10,000 unknown properties',
    () => call((client) => client.callbacks.receive('{}', wideObject())),
  ],
])('input of any size is refused in few words: %s', async (_what, act) => {
  const error = await act();

  expect(error).toBeInstanceOf(HostedValidationError);
  expectBounded(error);
});

test.each<[string, () => unknown]>([
  ['client options', () => new HostedClient({ partnerId: '085', apiKey: 'k', baseUrls, ...wideObject() })],
  ['wire options', () => new HostedClient({ partnerId: '085', apiKey: 'k', baseUrls, wire: wideObject() })],
  ['keys', () => hmacSha256({ apiKey: Array.from({ length: many }, () => ' ') })],
])('%s of any size are refused in few words', (_what, act) => {
  const error = thrownBy(act, HostedConfigError);

  expectBounded(error);
});

// The message ----------------------------------------------------------------

const issue = (path: string) => ({ path, message: 'must be right' });

test('listIssues() names every issue where there are few', () => {
  expect(listIssues([issue('page'), issue(''), issue('limit')])).toBe(
    '"page" must be right; must be right; "limit" must be right',
  );
});

test('listIssues() names as many issues as fit, and counts the rest', () => {
  const issues = Array.from({ length: 1_000 }, (_, at) => issue(`entries[${at}]`));

  const text = listIssues(issues);

  const named = text.split('; ').slice(0, -1);
  expect(named).toEqual(issues.slice(0, named.length).map(({ path }) => `"${path}" must be right`));
  expect(named.length).toBeGreaterThan(30);
  expect(text).toMatch(new RegExp(`; and ${1_000 - named.length} more$`));
  expect(text.length).toBeLessThanOrEqual(1_600);
});

test('a message that is cut still says what may have happened all the same', async () => {
  const link = { link: 'https://links.hosted.test/1', ref_id: 'ref-1' };
  const wrong = Object.fromEntries(['link', 'link_url', 'ref_id', 'link_id'].map((name) => [name, 5.5]));

  const error = await rejection(clientOf({ ...link, ...wrong }).client.links.create(newLink));

  expect(error).toMatchObject({ code: 'response', message: expect.stringMatching(/the link may exist/) });
});
