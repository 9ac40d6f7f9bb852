/** Planted faults: the console names the cause on its first page, or on the page of the first failure. */

import { createHash, createHmac } from 'node:crypto';
import { HostedClient, type HostedClientOptions } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import type { MockFault } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { listening, newLink, rowsOf, running, write } from './running.js';

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

/** A receiver with the client's own handler, which has this key. */
function handlerOf(apiKey: string) {
  return async ({ sandbox, client }: Started) => {
    const silent = { debug() {}, info() {}, warn() {}, error() {} };
    const receiver = new HostedClient({ ...sandbox.clientOptions(), apiKey, logger: silent } as HostedClientOptions);
    await play({ sandbox, client }, await listening(nodeHandler(receiver.callbacks.handler({ onEvent: () => {} }))));
  };
}

const faults: readonly [string, (started: Started) => Promise<unknown>, string][] = [
  ['no signature', send({ body: { signature: undefined } }), 'Send "signature": it is missing'],
  ['another partner', send({ body: { partner_id: '086' } }), 'the sandbox knows no other partner'],
  [
    'leading zeros lost',
    send({ text: (time) => `${time}85sid_request` }),
    'Sign the partner id with its leading zeros',
  ],
  ['an old timestamp', send({ offsetMs: -2_400_000 }), "40 min behind this machine's clock"],
  ['a time zone', send({ offsetMs: 7_200_000 }), "Write the timestamp in UTC: it is 2 h ahead of this machine's clock"],
  [
    'another spelling of the time',
    send({ text: (time) => `${time.slice(0, 19)}Z085sid_request` }),
    'has the time in another form',
  ],
  ['the key of production', send({ key: 'production-test-key' }), 'made with the key of another environment'],
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
    'or start the sandbox with --allow-host NAME',
  ],
  [
    'no callback URL',
    async ({ sandbox, client }) => {
      const { refId } = await client.links.create(newLink);
      await sandbox.play(refId, 'approved');
    },
    'Not sent: the link has no callback URL',
  ],
  [
    'an empty list, because the links are elsewhere',
    async ({ sandbox, client }) => {
      await client.links.create(newLink);
      await new HostedClient(sandbox.clientOptions('production')).links.list();
    },
    'links.list · production 0 links, and 1 in sandbox',
  ],
  [
    'a job of another environment',
    async ({ sandbox, client }) => {
      const job = sandbox.service.production.jobs.start();
      await client.jobs.status(job).catch(() => null);
    },
    'Job not found: the job is in production, and the request went to sandbox',
  ],
  [
    'a link of another environment',
    async ({ sandbox, client }) => {
      const { refId } = await client.links.create(newLink);
      await new HostedClient(sandbox.clientOptions('production')).links.get(refId).catch(() => null);
    },
    'Link not found: the link is in sandbox, and the request went to production',
  ],
  [
    'a job of another user',
    async ({ sandbox, client }) => {
      const { jobId } = sandbox.service.sandbox.jobs.start();
      await client.jobs.status({ userId: 'another', jobId }).catch(() => null);
    },
    'Job not found: the job is of another user',
  ],
  [
    'no environment in the path',
    ({ port }) => write(port, { path: '/v1/hosted_links', method: 'POST', body: '{}' }),
    'No environment has this path: begin the path with "/sandbox" or "/production"',
  ],
  [
    'a person who left',
    async ({ sandbox, client }) => {
      const { refId } = await client.links.create(newLink);
      await sandbox.play(refId, 'never');
    },
    'left before the end, so no result comes',
  ],
  ['an onEvent that throws', callback(500, 'handler'), 'the receiver responded with 500 (handler)'],
  ['a handler’s 401', handlerOf('another-key'), 'the receiver responded with 401'],
  [
    'a user id without single use',
    ({ client }) => client.links.create({ ...newLink, userId: 'user-1' }),
    '"user_id" without "is_single_use"',
  ],
  ['a redelivery', callback(200, 'known'), 'known · POST http://127.0.0.1'],
  [
    'a restart',
    async ({ client }) => client.links.get('of-an-earlier-sandbox').catch(() => null),
    'Link not found: after a restart without a folder, earlier links and jobs are gone',
  ],
  [
    'a link that is disabled',
    async ({ sandbox, client }) => {
      const { refId } = await client.links.create(newLink);
      await client.links.disable(refId);
      await fetch(`${sandbox.origin}/links/${refId}`);
    },
    '<dt>Disabled</dt>',
  ],
];

test.each(faults)('the console names the cause of %s', async (_what, plant, cause) => {
  const started = await running({ callbackRetriesMs: [], callbackBytes: 200_000 });
  await plant(started);
  const { origin } = started.sandbox;
  const read = async (path: string) =>
    (await (await fetch(origin + path)).text()).replaceAll('&quot;', '"').replaceAll('&#39;', "'");
  const first = await read('/');
  const rows = rowsOf(first);
  const { row } = rows.find((each) => each.row.includes('class="failed"')) ?? rows[0] ?? { row: '' };
  // The row leads to its own page, and to the pages of its ids.
  const next = await Promise.all([...row.matchAll(/href="(\/console\/[^"]+)"/g)].map(([, path = '/']) => read(path)));

  expect(rows.map(({ what, why }) => `${what} ${why}`).join('\n') + first + next.join('')).toContain(cause);
});
