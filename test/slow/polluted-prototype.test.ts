// With other code's properties on `Object.prototype`, nothing that is trusted or sent changes.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HostedClient } from 'hosted-client';
import { expect, onTestFinished, test } from 'vitest';
import { apiKey, partnerId } from '../support/fake-fetch.js';
import { breakRequests, type Deed, deeds, deedsWithRequests, names, seenOf, values } from './polluting.js';

const rows = Object.entries({ ...deeds, ...deedsWithRequests }).map(([what, deed]) => ({ what, deed }));

/** What is seen of each while nothing is polluted. */
const expected = new Map<Deed, string>();
for (const { deed } of rows) expected.set(deed, await seenOf(deed));

function namesFor(deed: Deed): readonly string[] {
  return Object.values(deeds).includes(deed) ? names : names.filter((name) => !breakRequests.has(name));
}

test('the names of options, inputs and responses are known', () => {
  expect(names).toEqual(
    expect.arrayContaining([
      ...['apiKey', 'sandbox', 'headers', 'deadlineMs', 'companyName', 'country', 'userId', 'replayGuard', 'context'],
      ...['job_complete', 'sec_key', 'timestamp', 'PartnerParams', 'ref_id', 'currentPage', 'error', 'linkRefId'],
    ]),
  );
});

test.each(Object.entries(deedsWithRequests).filter(([, deed]) => deed.replies))(
  'what is compared sends its request, and reads the response: %s',
  async (what, deed) => {
    const { sent, end } = JSON.parse(await seenOf(deed)) as { sent: unknown[]; end: { error?: { code: string } } };

    expect(sent.length).toBeGreaterThan(0);
    expect(end.error?.code === 'connection').toBe(what === 'have no connection');
  },
);

test.each(rows)('the same is sent and returned each time: $what', async ({ deed }) => {
  expect(await seenOf(deed)).toBe(expected.get(deed));
  expect(Object.keys(Object.prototype)).toEqual([]);
});

// Each name with a third of them, which are others for each.
test.each(rows.map((row, at) => ({ ...row, at })))('no name changes what is sent or returned: $what', async (row) => {
  const changed: string[] = [];
  const ofThis = namesFor(row.deed).filter((_name, index) => index % 3 === row.at % 3);

  for (const [index, name] of ofThis.entries()) {
    const before = index % 2 === 0 ? 'client' : 'call';
    const enumerable = index % 4 < 2;
    const seen = await seenOf(row.deed, { name, value: values[index % values.length], enumerable, before });
    if (seen !== expected.get(row.deed)) changed.push(name);
  }

  expect(ofThis.length).toBeGreaterThan(50);
  expect(changed).toEqual([]);
});

test.each(['credentials', 'duplex', 'priority'])(
  'what stands on the prototype is no option of the platform’s fetch: %s',
  async (name) => {
    const body = '{"link":"https://links.hosted.test/1","ref_id":"ref-1"}';
    const server = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const sandbox = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new HostedClient({ partnerId, apiKey, baseUrls: { sandbox }, maxRetries: 0 });

    Reflect.set(Object.prototype, name, 'x');
    onTestFinished(() => void Reflect.deleteProperty(Object.prototype, name));

    expect((await client.links.get('ref-1')).refId).toBe('ref-1');
  },
);
