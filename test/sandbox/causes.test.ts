/** Twenty planted faults: the console names the cause on its first page, or on the page of the first failure. */

import { createHash, createHmac } from 'node:crypto';
import type { MockFault } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { listening, newLink, running, write } from './running.js';

type Started = Awaited<ReturnType<typeof running>>;

interface Signed {
  readonly text?: (timestamp: string) => string;
  readonly key?: string;
  readonly sign?: (text: string, key: string) => string;
  readonly body?: object;
  readonly path?: string;
  readonly offsetMs?: number;
}

/** Sends a request that is signed by hand. */
const send = (given: Signed) => async (started: Started) => {
  const timestamp = new Date(Date.now() + (given.offsetMs ?? 0)).toISOString();
  const text = (given.text ?? ((time) => `${time}085sid_request`))(timestamp);
  const key = given.key ?? 'sandbox-test-key';
  const sign = given.sign ?? ((message, withKey) => createHmac('sha256', withKey).update(message).digest('base64'));
  const body = { partner_id: '085', timestamp, signature: sign(text, key), ...given.body };
  const path = `/sandbox/v1/${given.path ?? 'hosted_links/list'}`;
  await write(started.port, { method: 'POST', path, body: JSON.stringify(body) });
};

const fault =
  (injected: MockFault) =>
  async ({ sandbox, client }: Started) => {
    sandbox.service.sandbox.failNext('links.list', injected);
    await client
      .withOptions({ maxRetries: 0 })
      .links.list()
      .catch(() => null);
  };

const callback =
  (status: number, text = '') =>
  async ({ sandbox, client }: Started) => {
    const url = await listening((message, response) => {
      message.resume().on('end', () => response.writeHead(status).end(text));
    });
    await play({ sandbox, client }, url);
  };

async function play({ sandbox, client }: Pick<Started, 'sandbox' | 'client'>, callbackUrl: string) {
  const { refId } = await client.links.create({ ...newLink, callbackUrl });
  await sandbox.play(refId, 'approved');
  await sandbox.idle();
}

const faults: readonly [string, (started: Started) => Promise<unknown>, string][] = [
  ['no signature', send({ body: { signature: undefined } }), 'Send "signature": it is missing'],
  ['another partner', send({ body: { partner_id: '086' } }), 'the sandbox knows no other partner'],
  [
    'leading zeros lost',
    send({ text: (time) => `${time}85sid_request` }),
    'Sign the partner id with its leading zeros',
  ],
  ['an old timestamp', send({ offsetMs: -3_600_000 }), "60 min behind this machine's clock"],
  [
    'another spelling of the time',
    send({ text: (time) => `${time.slice(0, 19)}Z085sid_request` }),
    'has the time in another form',
  ],
  ['the key of production', send({ key: 'production-test-key' }), 'made with the key of the other environment'],
  ['another context', send({ text: (time) => `${time}085sid_response` }), 'End the signed text with "sid_request"'],
  [
    'another order',
    send({ text: (time) => `085${time}sid_request` }),
    'Sign timestamp, partner id and "sid_request" in this order',
  ],
  [
    'hexadecimal',
    send({ sign: (text, key) => createHmac('sha256', key).update(text).digest('hex') }),
    'their encoding is not',
  ],
  ['a line end behind the key', send({ key: 'sandbox-test-key\n' }), 'Remove blanks, line ends and quotation marks'],
  [
    'HMAC-SHA512',
    send({ sign: (text, key) => createHmac('sha512', key).update(text).digest('base64') }),
    'Sign with HMAC-SHA256',
  ],
  [
    'key and text swapped',
    send({ sign: (text, key) => createHmac('sha256', text).update(key).digest('base64') }),
    'Swap the arguments of the HMAC',
  ],
  [
    'a hash without the key',
    send({ sign: (text) => createHash('sha256').update(text).digest('hex') }),
    'anyone can compute without the key',
  ],
  [
    'a missing field',
    send({ path: 'hosted_links', body: { company_name: 'A' } }),
    'Missing required parameter: data_privacy_policy_url',
  ],
  ['an unknown job', send({ path: 'job_status', body: { user_id: 'u', job_id: 'j' } }), 'Job not found'],
  [
    'a callback to a dead port',
    (started) => play(started, 'http://127.0.0.1:9/'),
    'no server listens at the URL (ECONNREFUSED)',
  ],
  ['a receiver that answers 401', callback(401, 'no such signature'), 'no such signature'],
  ['a receiver that answers 413', callback(413), 'raise its limit for bodies'],
  ['a receiver that answers 500', callback(500, 'TypeError: no user'), 'TypeError: no user'],
  ['an injected page', fault({ kind: 'html' }), 'Injected fault: the service responds with an HTML page'],
  ['an injected status', fault({ kind: 'status', status: 503 }), 'Injected fault: the service responds with 503'],
  [
    'a wrong Host',
    ({ port }) => write(port, { path: '/sandbox/v1/hosted_links', method: 'POST', headers: { host: 'app.test' } }),
    'this server accepts only its own names',
  ],
  [
    'a link that is disabled',
    async ({ sandbox, client }) => {
      const { refId } = await client.links.create(newLink);
      await client.links.disable(refId);
      await fetch(`${sandbox.origin}/links/${refId}`);
    },
    'Disabled',
  ],
];

test.each(faults)('the console names the cause of %s', async (_what, plant, cause) => {
  const started = await running({ callbackRetriesMs: [], callbackBytes: 200_000 });
  await plant(started);
  const { origin } = started.sandbox;
  const read = async (path: string) =>
    (await (await fetch(origin + path)).text()).replaceAll('&quot;', '"').replaceAll('&#39;', "'");
  const first = await read('/');
  const failed = first.split('id="failures-title"')[1] ?? first.split('id="stream"')[1];
  // The first row leads to its own page, and to the pages of its ids.
  const [row = ''] = failed?.match(/<li id=.*?<\/li>/s) ?? [];
  const next = await Promise.all([...row.matchAll(/href="(\/console\/[^"]+)"/g)].map(([, path = '/']) => read(path)));

  expect(first + next.join('')).toContain(cause);
});
