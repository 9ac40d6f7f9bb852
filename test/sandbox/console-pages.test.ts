/** The console's pages of requests, callbacks, faults and links, and what is done on them. */

import { createHmac } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import type { SandboxOptions, SandboxRequest } from 'hosted-client/sandbox';
import { createTestClock } from 'hosted-client/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  control,
  linkAndReceiver,
  listening,
  newLink,
  nextMillisecond,
  playAndReceive,
  preOf,
  read,
  receiving,
  responding,
  rowsOf,
  running,
  runningLink,
  runShell,
  submit,
} from './running.js';

const hmacOf = (text: string, key = 'sandbox-test-key') => createHmac('sha256', key).update(text).digest('base64');

test('a request’s page shows what was sent and answered, with long strings shortened', async () => {
  const { sandbox, client } = await running();
  await client.links.create({ ...newLink, name: 'A'.repeat(1_000) });

  const html = await read(`${sandbox.origin}/console/requests/1`);

  expect(preOf(html, 'company_name')).toContain('"company_name": "Example Partner"');
  expect(preOf(html, 'company_name')).toContain(`"name": "${'A'.repeat(300)}… (700 more characters)"`);
  expect(preOf(html, 'ref_id')).toContain(`"ref_id": "${sandbox.requests[0]?.linkRefId}"`);
  expect(html).toContain('The signature is right');
  const whole = await fetch(`${sandbox.origin}/console/requests/1/sent`);
  expect(html).toContain('href="/console/requests/1/sent"');
  expect(whole.headers.get('content-type')).toMatch(/^text\/plain/);
  expect(await whole.json()).toMatchObject({ name: 'A'.repeat(1_000), signature: '(left out)' });
  expect(html).not.toContain('href="/console/requests/1/response"');
});

test('a command that is too long for a request’s page is on a page of its own', async () => {
  const { sandbox, client } = await running();
  await client.links.create({ ...newLink, name: 'A'.repeat(20_000) });

  expect(await read(`${sandbox.origin}/console/requests/1`)).toContain('href="/console/requests/1/curl"');
  await runShell(await read(`${sandbox.origin}/console/requests/1/curl`));

  expect((await client.links.list()).links.map(({ name }) => name?.length)).toEqual([20_000, 20_000]);
});

test('the page of a wrong signature shows what was signed, and what should be signed', async () => {
  const { sandbox } = await running();
  const timestamp = new Date().toISOString();
  const signature = hmacOf(`${timestamp}085sid_request`).slice(0, -1);
  const body = JSON.stringify({ partner_id: '085', timestamp, signature });
  await fetch(`${sandbox.baseUrls.sandbox}/v1/hosted_links/list`, { method: 'POST', body });
  await fetch(`${sandbox.baseUrls.sandbox}/v1/hosted_links/list`, {
    method: 'POST',
    body: JSON.stringify({ partner_id: '085', timestamp, signature: hmacOf(`085${timestamp}sid_request`) }),
  });

  const [encoded, ordered] = [
    await read(`${sandbox.origin}/console/requests/1`),
    await read(`${sandbox.origin}/console/requests/2`),
  ];

  expect(encoded).toContain(`Expected: <code>${timestamp}085sid_request</code>`);
  expect(ordered).toContain(`Signed: <code>085${timestamp}sid_request</code>`);
});

test('the command on a request’s page sends it again, signed from the variable', async () => {
  const { sandbox, client } = await running();
  await client.links.create({ ...newLink, name: `$HOME \`x\` 'a' "b" \\n ü` });
  const job = sandbox.service.production.jobs.start();
  await client.withOptions({ ...sandbox.clientOptions('production') }).jobs.status(job);

  await runShell(preOf(await read(`${sandbox.origin}/console/requests/1`), 'openssl'));
  await runShell(preOf(await read(`${sandbox.origin}/console/requests/2`), 'openssl'), 'production-test-key');

  expect(sandbox.requests.slice(2)).toMatchObject([
    { operation: 'links.create', status: 200, environment: 'sandbox' },
    { operation: 'jobs.status', status: 200, environment: 'production' },
  ]);
  const names = (await client.links.list()).links.map(({ name }) => name);
  expect(names[1]).toBe(names[0]);
});

test('a request is sent again with a fresh signature: from its page, over HTTP and by replay()', async () => {
  const { sandbox, client } = await running();
  await client
    .withOptions({ apiKey: 'wrong-key' })
    .links.create(newLink)
    .catch(() => null);

  const response = await submit(`${sandbox.origin}/console/requests/1/replay`, {});
  const again = await control(sandbox.origin, 'requests/1/replay', {});
  const replayed = await sandbox.replay(1);

  expect(response.headers.get('location')).toBe('/console/requests/2?done=replayed');
  expect([await again.json(), replayed]).toMatchObject([
    { id: 3, status: 200 },
    { id: 4, status: 200, signature: { problem: null } },
  ]);
  expect((await client.links.list()).links).toHaveLength(3);
  expect((await control(sandbox.origin, 'requests/9/replay', {})).status).toBe(404);
});

test.each([
  ['keepBodies is false', { keepBodies: false }],
  ['other machines can use the sandbox', { host: '0.0.0.0' }],
] satisfies [string, SandboxOptions][])('no body is kept if %s, and the page says so', async (_why, options) => {
  // That the sandbox warns is tested with what it listens on.
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  onTestFinished(() => warn.mockRestore());
  const { sandbox, client } = await running(options);
  await client.links.create(newLink);

  expect(await read(`${sandbox.origin}/console/requests/1`)).toContain('The body is not kept');
  await expect(sandbox.replay(1)).rejects.toMatchObject({
    issues: [{ path: 'requestId', message: expect.stringContaining('keepBodies') }],
  });
});

test('bodies are forgotten with their requests, and by a reset', async () => {
  const { sandbox, client } = await running({ keepRequests: 2 });
  for (let i = 0; i < 3; i += 1) await client.links.list();

  expect((await fetch(`${sandbox.origin}/console/requests/1`)).status).toBe(404);
  expect(await read(sandbox.origin)).toContain('1 older entries were forgotten');
  await sandbox.reset();
  expect(sandbox.requests).toEqual([]);
  expect(await read(sandbox.origin)).not.toContain('forgotten');
});

test('a callback’s page shows what was posted, and what the receiver answered', async () => {
  const { sandbox, client } = await running({ callbackRetriesMs: [3_600_000], callbackBytes: 10_000 });
  const url = await responding(500, () => `<b>TypeError: no user</b>${'x'.repeat(4_000)}`);
  const { refId } = await client.links.create({ ...newLink, callbackUrl: url });
  await sandbox.play(refId, 'approved');
  await expect.poll(() => sandbox.callbacks[0]?.attempts.length).toBe(1);

  const html = await read(`${sandbox.origin}/console/callbacks/1`);

  expect(preOf(html, 'ResultCode')).toMatch(/"Photo": "\([\d,]+ characters\)"/);
  expect(preOf(html, 'content-length')).toContain('content-length: 10000');
  expect(preOf(html, 'TypeError')).toBe(`<b>TypeError: no user</b>${'x'.repeat(2_023)}`);
  expect(html).toMatch(/The next attempt: <time[^>]*>in 3[56]\d\d s</);
  for (const text of ['Try now', 'Stop trying', 'the receiver responded with 500']) expect(html).toContain(text);

  const retried = await submit(`${sandbox.origin}/console/callbacks/1/retry`, {});
  expect(retried.headers.get('location')).toBe('/console/callbacks/1?done=retried');
  expect(sandbox.callbacks[0]?.attempts).toHaveLength(2);
});

test('a callback’s page has no box for a response without a body', async () => {
  const { sandbox } = await playAndReceive({ statuses: [200] });

  const html = await read(`${sandbox.origin}/console/callbacks/1`);

  expect(html).toMatch(/<ol class="attempts"><li[^>]*><time[^>]*>[^<]*<\/time> <strong>200<\/strong> [\d.]+ ms <\/li>/);
});

test('a waiting callback is posted and stopped over HTTP', async () => {
  const { sandbox, refId } = await linkAndReceiver({ statuses: [500, 500], callbackRetriesMs: [3_600_000, 3_600_000] });
  await sandbox.play(refId, 'approved');
  await expect.poll(() => sandbox.callbacks[0]?.attempts.length).toBe(1);

  const retried = await control(sandbox.origin, 'callbacks/1/retry', {});
  const stopped = await control(sandbox.origin, 'callbacks/1/stop', {});

  expect(await retried.json()).toMatchObject({ id: 1, state: 'waiting', attempts: [{}, {}] });
  expect(await stopped.json()).toMatchObject({ id: 1, state: 'gave_up', nextAttemptAt: null });
  expect((await control(sandbox.origin, 'callbacks/1/stop', {})).status).toBe(400);
  expect((await control(sandbox.origin, 'callbacks/9/retry', {})).status).toBe(404);
});

test.each([
  ['forged', 401, 'Rejected, as it should be', false],
  ['unsigned', 400, 'Rejected, as it should be', false],
  ['forged', 200, 'that is forged: verify the signature', true],
  ['unsigned', 200, 'that is unsigned: verify the signature', true],
  ['altered', 200, 'that is altered, and never requested the job status', true],
  ['stale', 200, 'that is stale, and never requested the job status', true],
  ['altered', 401, 'Rejected, as it should be', false],
  ['forged', 500, 'Gave up', true],
] as const)('a copy that is %s and gets %i is shown as "%s"', async (variant, status, title, isFailed) => {
  const { sandbox } = await playAndReceive({ statuses: [200, status], callbackRetriesMs: [] });
  await sandbox.resend(1, { variant });

  const html = await read(`${sandbox.origin}/console/callbacks/2`);
  const failed = await read(`${sandbox.origin}/?show=failed`);

  expect(html).toContain(title);
  expect(html).toContain('href="/console/callbacks/1"');
  expect(failed.includes('id="callback-2"')).toBe(isFailed);
});

test('copies that the client’s own handler rejects or confirms are no failures', async () => {
  const { sandbox, client } = await running({ callbackRetriesMs: [] });
  const clock = createTestClock(Date.now());
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const receiver = new HostedClient({ ...sandbox.clientOptions(), clock, logger: silent });
  const handle = nodeHandler(receiver.callbacks.handler({ onEvent: () => {} }));
  const url = await listening((message, response) => void handle(message, response));
  const { refId } = await client.links.create({ ...newLink, callbackUrl: url });
  await sandbox.play(refId, 'rejected');
  await sandbox.idle();
  for (const variant of ['forged', 'unsigned', 'altered', 'stale'] as const) {
    const sent = sandbox.resend(1, { variant });
    // A handler asks about a job at most once a second, and once more after two.
    await vi.waitFor(async () => {
      await clock.advance(1_000);
      expect(sandbox.callbacks.at(-1)?.attempts[0]?.status).toBeTypeOf('number');
    });
    await sent;
  }

  expect(sandbox.callbacks.map(({ attempts }) => attempts[0]?.status)).toEqual([200, 401, 401, 200, 200]);
  expect(await read(`${sandbox.origin}/?show=failed`)).toContain('Nothing to show');
});

test('waiting faults are shown and cancelled: on their page, over HTTP and by cancelFault()', async () => {
  const { sandbox, client } = await running();
  const fields = { environment: 'sandbox', operation: 'links.list', fault: 'status-503' };
  for (let i = 0; i < 4; i += 1) await submit(`${sandbox.origin}/console/faults`, fields);
  const remove = (path: string) => fetch(`${sandbox.origin}/control/faults${path}`, { method: 'DELETE' });

  expect(await read(`${sandbox.origin}/console/faults`)).toContain('links.list of sandbox: responds with 503');
  expect(await (await fetch(`${sandbox.origin}/control/faults`)).json()).toEqual(
    JSON.parse(JSON.stringify(sandbox.faults)),
  );
  await submit(`${sandbox.origin}/console/faults/1/cancel`, {});
  sandbox.cancelFault(2);
  expect((await remove('/3')).status).toBe(204);
  expect(sandbox.faults).toEqual([
    { id: 4, environment: 'sandbox', operation: 'links.list', fault: { kind: 'status', status: 503 }, left: 1 },
  ]);
  expect((await remove('/3')).status).toBe(404);
  expect(() => sandbox.cancelFault(3)).toThrow(/waiting fault/);
  expect((await remove('')).status).toBe(204);
  expect((await client.links.list()).links).toEqual([]);
});

test('a request that stalls is shown while the client waits', async () => {
  const { sandbox, client } = await running();
  sandbox.service.sandbox.failNext('links.list', { kind: 'stall' });
  const leaving = new AbortController();
  const listed = client.links.list({ signal: leaving.signal }).catch(() => null);

  await expect.poll(() => sandbox.requests.length).toBe(1);
  const html = await read(sandbox.origin);

  expect(html).toContain('Injected fault: the service never responds');
  leaving.abort();
  await listed;
  expect(sandbox.requests).toHaveLength(1);
});

test('ids are isolated from the text around them, on every page', async () => {
  const { sandbox, client } = await running();
  const { url } = await receiving();
  const { refId } = await client.links.create({
    ...newLink,
    callbackUrl: url,
    isSingleUse: true,
    userId: 'user-of-link',
  });
  const job = await sandbox.play(refId, 'approved');
  await sandbox.idle();
  await client.jobs.status(job);
  const queries = ['', '?show=jobs', `?q=${refId}`, `?q=${job.userId}`, `?link=${refId}`, `?job=${job.jobId}`];
  const pages = ['links', 'links/gone-link', `links/${refId}`, 'requests/1', 'requests/2', 'callbacks/1'];
  const paths = [...queries.map((query) => `/${query}`), ...pages.map((page) => `/console/${page}`)];

  const bare = paths.map(async (path) => {
    const html = (await read(sandbox.origin + path)).replaceAll(/<(bdi|pre)[ >].*?<\/\1>|<[^>]*>/gs, '');
    return [refId, job.jobId, job.userId, 'gone-link'].flatMap((id) => (html.includes(id) ? [`${path} ${id}`] : []));
  });

  expect((await Promise.all(bare)).flat()).toEqual([]);
});

test('a link is created and an outcome is played on the console', async () => {
  const { sandbox, client } = await running();
  const created = await submit(`${sandbox.origin}/console/links`, { name: 'From here', callback_url: '' });
  const path = new URL(created.headers.get('location') ?? '', sandbox.origin).pathname;
  const played = await submit(`${sandbox.origin}${path}/play`, { outcome: 'id_verified' });
  const wrong = await submit(`${sandbox.origin}/console/links`, { callback_url: 'nowhere' });

  const link = (await client.links.list()).links[0];
  expect(link).toMatchObject({ name: 'From here', callbackUrl: null, companyName: 'Example Partner' });
  expect(played.headers.get('location')).toBe(`/console/links/${link?.refId}?done=played#job-0000000001-sandbox`);
  const reason = await read(new URL(wrong.headers.get('location') ?? '', sandbox.origin).href);
  expect(reason).toContain('callback_url must be an absolute http(s) URL');
});

test('a link’s page says that the link is gone after a reset', async () => {
  const { sandbox, refId } = await runningLink();
  await sandbox.reset();

  const response = await fetch(`${sandbox.origin}/console/links/${refId}`);

  expect([response.status, (await response.text()).includes('This link is gone')]).toEqual([404, true]);
});

test('filters, search and "older" reach every entry that is remembered', async () => {
  const { sandbox, client, refId } = await linkAndReceiver();
  await nextMillisecond();
  const job = await sandbox.play(refId, 'approved');
  await sandbox.idle();
  await nextMillisecond();
  await client.jobs.status(job);
  await client.jobs.status({ userId: 'user-1', jobId: 'job-1' }).catch(() => null);
  for (let i = 0; i < 100; i += 1) await client.links.list();
  const idsOn = (html: string) => [...html.matchAll(/<li id="((?:request|callback|job)-[^"]+)"/g)].map(([, id]) => id);
  const shown = async (query: string) =>
    idsOn((await read(`${sandbox.origin}/?${query}`)).split('id="stream"')[1] ?? '');

  expect(await shown('show=failed')).toEqual(['request-3']);
  expect(await shown('show=jobs')).toEqual(['job-0000000001-sandbox']);
  expect(await shown('show=callbacks')).toEqual(['callback-1']);
  expect(await shown(`link=${refId}`)).toEqual(['callback-1', 'job-0000000001-sandbox', 'request-1']);
  expect(await shown(`job=${job.jobId}`)).toEqual(['request-2', 'callback-1', 'job-0000000001-sandbox']);
  expect(await shown('q=USER-1')).toEqual(['request-3']);
  expect(await shown(`q=${refId.slice(3, 12)}`)).toEqual(['callback-1', 'job-0000000001-sandbox', 'request-1']);
  expect(await shown('q=not found')).toEqual(['request-3']);
  expect(await shown('q=enroll user')).toEqual(['job-0000000001-sandbox']);
  expect(await shown('q=delivered')).toEqual(['callback-1']);
  const all = new Set<string | undefined>();
  for (let query: string | undefined = ''; query !== undefined; ) {
    const html = await read(`${sandbox.origin}/${query}`);
    for (const id of idsOn(html)) all.add(id);
    query = /href="\/(\?before=[^"]+)" rel="next"/.exec(html)?.[1];
  }
  expect(all.size).toBe(105);
});

test('a request’s page leads to the failures before and after it', async () => {
  const { sandbox, client } = await running();
  for (const refId of ['a', 'b', 'c']) {
    await client.links.list();
    await client.links.get(refId).catch(() => null);
    await nextMillisecond();
  }

  const html = await read(`${sandbox.origin}/console/requests/4`);

  expect(html).toContain('<a href="/console/requests/2">Older failure</a>');
  expect(html).toContain('<a href="/console/requests/6">Newer failure</a>');
  expect(await read(`${sandbox.origin}/console/requests/6`)).not.toContain('Newer failure');
});

test('after 5,000 requests, each page has at most 50 KB', async () => {
  const { sandbox, client, job, refId } = await playAndReceive({ keepRequests: 5_000 });
  for (let played = 0; played < 200; played += 1) await sandbox.play(refId, 'id_verified');
  await sandbox.idle();
  await client.links.create({ ...newLink, name: 'Onboarding '.repeat(50_000) });
  await client.jobs.status(job);
  await client.jobs.status({ userId: 'no one', jobId: job.jobId }).catch(() => null);
  const sent = [...sandbox.requests];
  // The list of the sandbox itself: to send so many would take long.
  const requests = sandbox.requests as SandboxRequest[];
  for (let id = sent.length + 1; id <= 5_000; id += 1) {
    const like = sent[id % sent.length];
    if (like !== undefined) requests.push({ ...like, id });
  }
  const lists = ['', 'failed', 'callbacks', 'links', 'jobs'].map((show) => `/?show=${show}`);
  const searches = [`/?link=${refId}`, `/?job=${job.jobId}`, '/?q=links'];
  const pages = ['requests/2', 'requests/3', 'requests/5000', 'callbacks/1', `links/${refId}`, 'faults', 'connect'];

  const sizes = await Promise.all(
    [...lists, ...searches, ...pages.map((page) => `/console/${page}`)].map(async (path) => {
      const { length } = Buffer.from(await read(sandbox.origin + path));
      return length > 50_000 ? `${path}: ${length}` : null;
    }),
  );

  expect(sandbox.requests).toHaveLength(5_000);
  expect(sizes.filter((size) => size !== null)).toEqual([]);
});

test('no key and no signature is in a page, in JSON, in the folder or in a listener', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const apiKeys = { sandbox: 'planted-sandbox-key', production: 'planted-production-key' };
  const heard: unknown[] = [];
  const options = {
    folder,
    apiKeys,
    callbackRetriesMs: [],
    onRequest: heard.push.bind(heard),
    onCallback: heard.push.bind(heard),
  };
  const { sandbox, client } = await running(options);
  const made: string[] = [];
  const url = await responding(401, (body) => {
    made.push(JSON.parse(body).signature);
    return `rejected ${body} with ${apiKeys.sandbox}`;
  });
  const { refId } = await client.links.create({ ...newLink, callbackUrl: url.replace('//', '//user:planted-word@') });
  const other = await client.links.create({ ...newLink, callbackUrl: url });
  for (const id of [refId, other.refId]) await sandbox.play(id, 'approved');
  await sandbox.idle();
  const timestamp = new Date().toISOString();
  const right = hmacOf(`${timestamp}085sid_request`, apiKeys.sandbox);
  const wrong = hmacOf(`${timestamp}085sid_response`, apiKeys.sandbox);
  const bodies = [
    JSON.stringify({ partner_id: '085', timestamp, signature: right, company_name: apiKeys.sandbox }),
    JSON.stringify({ partner_id: '085', timestamp, sec_key: wrong, api_key: apiKeys.production, note: `${wrong}!` }),
    `{"partner_id":"085","signature":"${right}", "sec_key":"${wrong}"`,
    JSON.stringify({ partner_id: wrong, timestamp: wrong, signature: wrong }),
  ];
  for (const body of bodies) {
    const { signature = right } = body.endsWith('}') ? JSON.parse(body) : {};
    await fetch(`${sandbox.baseUrls.sandbox}/v1/hosted_links/${encodeURIComponent(signature)}`, {
      method: 'POST',
      body,
    });
  }
  await client.jobs.status(await sandbox.play(other.refId, 'approved'));
  await sandbox.idle();

  const paths = [
    '/?x=1',
    '/control/requests',
    '/control/callbacks',
    '/?show=links',
    '/?show=jobs',
    `/console/links/${refId}`,
  ];
  for (const { id } of sandbox.requests) paths.push(`/console/requests/${id}`);
  for (const { id } of sandbox.callbacks) paths.push(`/console/callbacks/${id}`);
  const texts = await Promise.all(paths.map((path) => read(sandbox.origin + path)));
  await sandbox.stop();
  // The folder has the links, with their callback URLs.
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'latin1'));
  const secrets = [...Object.values(apiKeys), right, wrong, ...made];

  expect(made.length).toBeGreaterThan(1);
  for (const secret of secrets) {
    for (const text of [...texts, ...files, JSON.stringify(heard)]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(encodeURIComponent(secret));
    }
  }
  for (const text of [...texts, JSON.stringify(heard)]) expect(text).not.toContain('planted-word');
});

test('a callback goes to the whole URL, but the values of its query are shown nowhere', async () => {
  const heard: unknown[] = [];
  const { sandbox, client } = await running({ callbackRetriesMs: [], onCallback: heard.push.bind(heard) });
  const asked: (string | undefined)[] = [];
  const url = await listening(({ url: asks }, response) => {
    asked.push(asks);
    response.writeHead(404).end(`Cannot POST ${asks}`);
  });
  const callbackUrl = `${url}?token=planted-word&planted-name`;
  const { refId } = await client.links.create({ ...newLink, callbackUrl });
  await client.links.list();
  await fetch(`${sandbox.baseUrls.sandbox}/v1/hosted_links`, {
    method: 'POST',
    body: `{"callback_url" : "${callbackUrl}",`,
  });
  await sandbox.play(refId, 'approved');
  await sandbox.idle();
  const { linkRefId } = await sandbox.replay(1);
  await sandbox.play(String(linkRefId), 'approved');
  await sandbox.idle();

  const requests = sandbox.requests.map(({ id }) => `/console/requests/${id}`);
  const paths = ['/', '/control/callbacks', `/console/links/${refId}`, '/console/callbacks/1', ...requests];
  const texts = await Promise.all(paths.map((path) => read(sandbox.origin + path)));

  expect(asked).toEqual(Array(2).fill('/callbacks?token=planted-word&planted-name'));
  expect(sandbox.callbacks[0]?.url).toBe(`${url}?token=(left out)&(left out)`);
  expect([...texts, JSON.stringify(heard)].join('')).not.toMatch(/planted-(?:word|name)/);
  for (const index of [1, 2, 3, 4]) expect(texts[index]).toContain('?token=(left out)');
});

test('a long path is shortened in its row and on its page, and copied as a whole', async () => {
  const { sandbox } = await running();
  const path = `/v1/${'p'.repeat(2_000)}`;
  await fetch(sandbox.baseUrls.sandbox + path, { method: 'POST', body: '{}' });

  const [row] = rowsOf(await read(sandbox.origin));
  const html = await read(`${sandbox.origin}/console/requests/1`);

  expect(row?.what).toBe(`${`POST ${path}`.slice(0, 80)}…`);
  expect(html).toMatch(/<bdi class="id">[^<]{300}…<\/bdi>/);
  expect(html).toContain(`data-copy="POST ${path}"`);
});
