/** A sandbox from start to stop, and the calls of a client in between. */

import { networkInterfaces } from 'node:os';
import { HostedClient, HostedConfigError } from 'hosted-client';
import { type SandboxOptions, type SandboxRequest, startSandbox } from 'hosted-client/sandbox';
import { expect, test } from 'vitest';
import { newLink, receiving, running, runningLink, spyOnWarnings, submit, write } from './running.js';

test('the environments are on one port, and know nothing of each other', async () => {
  const { sandbox, client } = await running();
  const production = new HostedClient(sandbox.clientOptions('production'));
  const link = await client.links.create(newLink);

  await expect(production.links.get(link.refId)).rejects.toMatchObject({ code: 'not_found' });
  expect(sandbox.baseUrls).toEqual({
    sandbox: `${sandbox.origin}/sandbox`,
    production: `${sandbox.origin}/production`,
  });
});

test('the controls of the testing kit act on the same links and jobs', async () => {
  const { sandbox, client, link } = await runningLink();
  const job = sandbox.service.sandbox.jobs.start({ linkRefId: link.refId });
  sandbox.service.sandbox.failNext('jobs.status', { kind: 'status', status: 503 });

  const completed = client.jobs.status(job);
  sandbox.service.sandbox.jobs.complete(job, 'rejected');

  expect((await completed).state).toBe('failed');
  expect(sandbox.requests.map(({ status }) => status)).toEqual([200, 503, 200]);
});

test('every request is remembered, with its verdict and no secret', async () => {
  const seen: SandboxRequest[] = [];
  const { sandbox, client } = await running({ onRequest: (request) => seen.push(request) });
  const wrong = client.withOptions({ apiKey: `"${client.environment}-test-key"`, maxRetries: 0 });

  await client.links.list({ page: 1 });
  await expect(wrong.links.get('ref-1')).rejects.toMatchObject({ code: 'authentication' });
  await fetch(`${sandbox.baseUrls.sandbox}/v1/elsewhere`);

  expect(sandbox.requests).toMatchObject([
    { id: 1, environment: 'sandbox', operation: 'links.list', status: 200, signature: { problem: null } },
    { id: 2, operation: 'links.get', path: '/v1/hosted_links/ref-1', status: 400 },
    { id: 3, operation: null, method: 'GET', status: 404, signature: { problem: null } },
  ]);
  expect(sandbox.requests[1]?.signature).toEqual({
    problem: 'key_whitespace',
    message: 'Remove blanks, line ends and quotation marks around the key in the code that reads it',
  });
  expect(sandbox.requests[0]?.at).toBeInstanceOf(Date);
  expect(seen).toEqual(sandbox.requests);
  expect(JSON.stringify(seen)).not.toContain('test-key');
});

test.each([
  () => {
    throw new Error('theirs');
  },
  () => Promise.reject(new Error('theirs')),
])('onRequest may throw or reject, and the request gets a response', async (onRequest) => {
  const { client } = await running({ onRequest });

  expect((await client.links.list()).links).toEqual([]);
});

test('requests and callbacks are remembered as many as keepRequests says', async () => {
  const { sandbox, client } = await running({ keepRequests: 2, defaultCallbackUrl: 'http://127.0.0.1:9/' });
  const link = await client.links.create(newLink);

  for (let count = 0; count < 3; count++) await sandbox.play(link.refId, 'approved');
  await client.links.list();
  await client.links.list();
  await sandbox.idle();

  expect(sandbox.requests.map(({ id }) => id)).toEqual([2, 3]);
  expect(sandbox.callbacks.map(({ id }) => id)).toEqual([2, 3]);
});

test.each([
  ['network', 'connection'],
  ['truncate', 'connection'],
  ['html', 'response'],
] as const)('the fault "%s" of the testing kit reaches a client as %s', async (kind, code) => {
  const { sandbox, client } = await running();
  sandbox.service.sandbox.failNext('links.create', { kind });

  await expect(client.links.create(newLink)).rejects.toMatchObject({ code });
});

test('failureRate has its share of requests that get 503, the same for the same seed', async () => {
  const failures = async (seed: number) => {
    const { sandbox, client } = await running({ failureRate: 0.5, seed });
    const patient = client.withOptions({ maxRetries: 0 });
    for (let count = 0; count < 40; count++) await patient.links.get('none').catch(() => null);
    return sandbox.requests.map(({ status }) => status);
  };

  const first = await failures(1);

  expect(first.filter((status) => status === 503).length).toBeGreaterThan(10);
  expect(first.filter((status) => status === 503).length).toBeLessThan(30);
  expect(await failures(1)).toEqual(first);
  expect(await failures(2)).not.toEqual(first);
});

test('the same seed and the same requests give the same ids and results', async () => {
  const story = async () => {
    const { sandbox, client, link } = await runningLink({}, { seed: 5 });
    const job = await sandbox.play(link.refId, 'review_rejected');
    await sandbox.idle();
    const { hostedJobId, state } = await client.jobs.status({ ...job, history: true }).then((status) => ({
      hostedJobId: status.result?.hostedJobId,
      state: status.state,
    }));
    return { refId: link.refId, job, hostedJobId, state };
  };

  expect(await story()).toEqual(await story());
});

test('a port in use rejects with HostedConfigError, and names it', async () => {
  const { port } = await receiving();

  const error = await startSandbox({ port }).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(HostedConfigError);
  expect(error).toMatchObject({ issues: [{ path: 'port', message: expect.stringContaining(`${port} on 127.0.0.1`) }] });
});

test('every wrong option is named at once', async () => {
  const options = {
    port: 70_000,
    seed: 'one',
    failureRate: 2,
    reviewMs: -1,
    callbackRetriesMs: [1, 'soon'],
    defaultCallbackUrl: 'ftp://partner.example',
    pageSize: 0,
    keepRequests: 1.5,
    onRequest: 'log',
    colour: 'blue',
  } as unknown as SandboxOptions;

  const error = await startSandbox(options).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(HostedConfigError);
  const paths = (error as HostedConfigError).issues.map(({ path }) => path);
  expect(paths.sort()).toEqual([
    'callbackRetriesMs[1]',
    'colour',
    'defaultCallbackUrl',
    'failureRate',
    'keepRequests',
    'onRequest',
    'pageSize',
    'port',
    'reviewMs',
    'seed',
  ]);
});

test('listening for others is a choice that warns, and loopback does not', async () => {
  const warn = spyOnWarnings();

  await running();
  expect(warn).not.toHaveBeenCalled();
  const { sandbox } = await running({ host: '0.0.0.0' });

  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('0.0.0.0'), 'HostedSandboxWarning');
  expect(sandbox.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
});

test('on all addresses, links lead to an address of the network, and that address is a name of the sandbox', async () => {
  spyOnWarnings();
  const { client, port } = await running({ host: '0.0.0.0' });
  const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);

  const { url } = await client.links.create(newLink);

  expect(addresses.map(({ address }) => address)).toContain(new URL(url).hostname);
  expect((await fetch(url)).status).toBe(200);
  expect((await submit(url, { consent: 'yes', outcome: 'approved' })).status).toBe(303);
  // This address is the machine's, but the request was not sent to it.
  expect((await write(port, { headers: { host: `127.0.0.2:${port}` } })).status).toBe(421);
});

test.each([
  ['::1', '[::1]'],
  ['[::1]', '[::1]'],
  ['0:0:0:0:0:0:0:1', '[::1]'],
  ['127.1', '127.0.0.1'],
])('a sandbox at %s has the name %s, for clients, end users and callbacks', async (host, name) => {
  const warn = spyOnWarnings();
  const { sandbox, client, port } = await running({ host });
  const link = await client.links.create({ ...newLink, callbackUrl: `http://${name}:${port}/` });

  expect((await submit(link.url, { consent: 'yes', outcome: 'approved' })).status).toBe(303);
  await sandbox.idle();

  expect(sandbox.origin).toBe(`http://${name}:${port}`);
  expect(warn).not.toHaveBeenCalled();
  expect(sandbox.callbacks).toMatchObject([{ state: 'not_allowed' }]);
});

test('an address that this machine does not have is refused, and no warning repeats it', async () => {
  const warn = spyOnWarnings();

  // RFC 5737 reserves this address for documentation.
  const error = await startSandbox({ port: 0, host: '192.0.2.1' }).catch((reason) => reason);

  expect(error.issues).toEqual([{ path: 'host', message: 'must be an address of this machine (EADDRNOTAVAIL)' }]);
  expect(warn).not.toHaveBeenCalled();
});

test('a sandbox of Ed25519 keys serves a client of them', async () => {
  const { client } = await running({ scheme: 'ed25519' });

  expect((await client.links.list()).links).toEqual([]);
});

test('addresses of a proxy are handed out where they are given, and the sandbox serves its own', async () => {
  const baseUrls = { sandbox: 'https://proxy.example/hosted', production: 'https://proxy.example/live' };
  const { sandbox } = await running({ baseUrls, linkBaseUrl: 'https://proxy.example/links' });
  const own = { sandbox: `${sandbox.origin}/sandbox`, production: `${sandbox.origin}/production` };
  const client = new HostedClient({ ...sandbox.clientOptions(), baseUrls: own });

  const link = await client.links.create(newLink);

  expect(link.url).toBe(`https://proxy.example/links/${link.refId}`);
  expect(sandbox.baseUrls).toEqual(baseUrls);
  const { sandbox: half } = await running({ baseUrls: { sandbox: baseUrls.sandbox } });
  expect(half.baseUrls).toEqual({ sandbox: baseUrls.sandbox, production: `${half.origin}/production` });
  expect(sandbox.clientOptions().baseUrls).toEqual(baseUrls);
  expect((await fetch(`${sandbox.origin}/links/${link.refId}`)).status).toBe(200);
});

test.each([
  ['refId', ['none', 'approved']],
  ['refId', [5, 'approved']],
  ['outcome', [null, 'approve']],
  ['idType', [null, 'approved', { idType: 'BVN' }]],
  ['idType', [null, 'approved', { idType: { country: 'NG', idType: 'BVN' } }]],
  ['environment', [null, 'approved', { environment: 'test' }]],
])('play() names a wrong %s', async (path, [refId, ...rest]) => {
  const { sandbox, link } = await runningLink();
  const play = sandbox.play as (...given: unknown[]) => Promise<unknown>;

  await expect(play(refId ?? link.refId, ...rest)).rejects.toMatchObject({ code: 'validation', issues: [{ path }] });
  expect(sandbox.service.sandbox.links.all()).toMatchObject([{ total_jobs: 0 }]);
});

test('a path that leads out of its environment is none of the service', async () => {
  const { sandbox, port } = await running();

  const answer = await write(port, { method: 'POST', path: '/sandbox/../control/reset', body: '{}' });

  expect(answer.status).toBe(404);
  expect(sandbox.requests).toMatchObject([{ operation: null, path: '/' }]);
});

test('what the testing kit has deleted while its callback waited is given up', async () => {
  const { sandbox, client } = await running({ callbackRetriesMs: [20], defaultCallbackUrl: 'http://127.0.0.1:9/' });
  const link = await client.links.create(newLink);
  await sandbox.play(link.refId, 'review_approved');

  sandbox.service.reset();
  await sandbox.idle();

  expect(sandbox.callbacks).toMatchObject([{ state: 'gave_up' }]);
});

test('reset() forgets all, and ids go on', async () => {
  const { sandbox, client } = await running();
  const first = await client.links.create(newLink);
  await sandbox.play(first.refId, 'review_approved');

  await sandbox.reset();

  expect(sandbox.requests).toEqual([]);
  expect(sandbox.callbacks).toEqual([]);
  expect(sandbox.service.sandbox.links.all()).toEqual([]);
  expect((await client.links.create(newLink)).refId).not.toBe(first.refId);
});

test('stop() leaves neither timer nor socket, whatever is under way', async () => {
  const count = (kind: string) => process.getActiveResourcesInfo().filter((each) => each.startsWith(kind)).length;
  const timersBefore = count('Timeout');
  const sandbox = await startSandbox({ port: 0, reviewMs: 60_000, defaultCallbackUrl: 'http://127.0.0.1:9/' });
  const client = new HostedClient({ ...sandbox.clientOptions(), maxRetries: 0 });
  const link = await client.links.create(newLink);
  await sandbox.play(link.refId, 'review_approved');
  sandbox.service.sandbox.failNext('links.list', { kind: 'stall' });
  const stalled = client.links.list().then(
    () => 'answered',
    (error: { code: string }) => error.code,
  );
  await expect.poll(() => sandbox.service.sandbox.requests.length).toBe(2);

  await sandbox.stop();

  expect(await stalled).toBe('connection');
  await expect.poll(() => [count('TCP'), count('Timeout') <= timersBefore]).toEqual([0, true]);
  await expect(fetch(sandbox.origin)).rejects.toThrow();
});

test.each([
  'http://partner.example:3000/',
  'partner.example:3000',
  'partner.example/',
  'a@partner.example',
  '256.0.0.1',
  ' ',
])('the callback host %j is named, as no URL would ever have it', async (host) => {
  const error = await startSandbox({ port: 0, callbackHosts: ['partner.example', host] }).catch((reason) => reason);

  expect(error).toBeInstanceOf(HostedConfigError);
  expect(error.issues).toEqual([
    { path: 'callbackHosts[1]', message: 'must be a host name or an IP address, without scheme, port and path' },
  ]);
});

test('a URL in place of an allowed host is named', async () => {
  const error = await startSandbox({ port: 0, allowedHosts: ['http://sandbox.internal'] }).catch((reason) => reason);

  expect(error).toMatchObject({ issues: [{ path: 'allowedHosts[0]' }] });
});
