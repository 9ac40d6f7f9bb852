/** Who is let in to a sandbox: by `Host`, by `Origin`, by type, and up to which size. */

import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { control, newLink, running, runningLink, write } from './running.js';

/** The first line that comes back for what is written on a socket. */
async function firstLine(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(text);
  for await (const chunk of socket.setEncoding('utf8')) return String(chunk).split('\r\n')[0] ?? '';
  return '';
}

const json = { 'content-type': 'application/json' };

test.each(['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]'])('a request for the host %s is let in', async (name) => {
  const { port } = await running();

  expect((await write(port, { headers: { host: `${name}:${port}` } })).status).toBe(200);
});

test.each(['evil.example', '127.0.0.1.evil.example', '127.0.0.1', 'localhost.', '127.0.0.1:1', '0.0.0.0'])(
  'a request for the host "%s" gets 421',
  async (name) => {
    const { port } = await running();
    const hosts = [name, `${name}:${port}`].filter((host) => !/^(?:127\.0\.0\.1):\d{4,}$/.test(host));

    for (const host of hosts) {
      const answer = await write(port, { headers: { host } });
      expect([host, answer.status]).toEqual([host, 421]);
      expect(JSON.parse(answer.text).error).toContain(`127.0.0.1:${port}`);
    }
  },
);

test('a request without Host gets 421, as does one with two', async () => {
  const { port } = await running();

  const own = `Host: 127.0.0.1:${port}\r\n`;

  expect((await write(port, { hasHost: false })).status).toBe(421);
  expect(await firstLine(port, `GET /health HTTP/1.1\r\n${own}\r\n`)).toBe('HTTP/1.1 200 OK');
  expect(await firstLine(port, `GET /health HTTP/1.1\r\n${own}${own}\r\n`)).toMatch(/^HTTP\/1\.1 4/);
  expect(await firstLine(port, 'GET /health HTTP/1.0\r\n\r\n')).toMatch(/ 421 /);
});

test('no address is exempt from the host, and nothing is read', async () => {
  const { port, sandbox } = await running();
  const headers = { host: `evil.example:${port}`, ...json, 'content-length': '1000000000' };

  for (const path of ['/', '/sandbox/v1/hosted_links', '/control/reset', '/links/abc', '/assets/style.css']) {
    expect((await write(port, { method: 'POST', path, headers, body: '{}' })).status).toBe(421);
  }
  expect(sandbox.requests).toMatchObject([
    { id: 1, path: '/v1/hosted_links', status: 421, reason: expect.stringContaining(`"Host: 127.0.0.1:${port}"`) },
  ]);
});

test('allowedHosts lets further names in, with a port of their own or without', async () => {
  const { port } = await running({ allowedHosts: ['Sandbox.internal', 'mapped.internal:8080'] });
  const statusOf = async (host: string) => (await write(port, { headers: { host } })).status;

  expect(await statusOf(`sandbox.internal:${port}`)).toBe(200);
  expect(await statusOf('sandbox.internal')).toBe(200);
  expect(await statusOf('mapped.internal:8080')).toBe(200);
  expect(await statusOf('mapped.internal')).toBe(421);
  expect(await statusOf('other.internal')).toBe(421);
});

test.each(['https://evil.example', 'null', 'http://127.0.0.1:1', 'http://127.0.0.1', 'file://'])(
  'a write with the origin %s gets 403, whatever its address',
  async (origin) => {
    const { port, sandbox, client, link } = await runningLink();
    const paths = [
      '/control/reset',
      `/links/${link.refId}`,
      `/console/links/${link.refId}/disable`,
      '/sandbox/v1/job_status',
    ];

    for (const path of paths) {
      const answer = await write(port, { method: 'POST', path, headers: { ...json, origin }, body: '{}' });
      expect([path, answer.status]).toEqual([path, 403]);
    }
    expect((await client.links.get(link.refId)).disabledAt).toBeNull();
    expect(sandbox.service.sandbox.links.all()).toHaveLength(1);
  },
);

test.each([undefined, 'own', 'https://evil.example'])(
  'a write that is cross-site gets 403, and changes nothing, with the origin %s',
  async (origin) => {
    const { port, sandbox, link } = await runningLink();
    const own = origin === 'own' ? sandbox.origin : origin;
    const headers = { ...json, 'sec-fetch-site': 'cross-site', ...(own && { origin: own }) };

    for (const path of ['/control/reset', '/console/faults', `/links/${link.refId}`, '/sandbox/v1/hosted_links']) {
      const answer = await write(port, { method: 'POST', path, headers, body: '{}' });
      expect([path, answer.status]).toEqual([path, 403]);
    }
    expect(sandbox.service.sandbox.links.all()).toHaveLength(1);
  },
);

test.each([
  [421, { host: 'app.test' }],
  [403, { origin: 'http://app.test' }],
])('the response %i names the flag that allows another name', async (status, headers) => {
  const { port } = await running();

  const answer = await write(port, { method: 'POST', path: '/control/reset', headers: { ...json, ...headers } });

  expect([answer.status, answer.text]).toEqual([status, expect.stringContaining('--allow-host NAME')]);
});

test('an end user may come from another site, and an image may not', async () => {
  const { port, link } = await runningLink();
  const open = async (site: string, destination: string) => {
    const headers = { 'sec-fetch-site': site, 'sec-fetch-dest': destination };
    return (await write(port, { path: `/links/${link.refId}`, headers })).status;
  };

  expect(await open('same-site', 'image')).toBe(200);
  expect(await open('cross-site', 'image')).toBe(403);
  expect(await open('cross-site', 'document')).toBe(200);
});

test('a foreign page cannot fill the list of requests, and a program that is rejected is in it', async () => {
  const { port, sandbox } = await running();
  const path = '/sandbox/v1/hosted_links';
  const send = (method: string, headers: Record<string, string>) => write(port, { method, path, headers, body: '{}' });

  const pages = [
    await send('POST', { origin: 'https://evil.example' }),
    await send('POST', { 'sec-fetch-site': 'cross-site' }),
    await send('GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }),
    await send('GET', { host: `evil.example:${port}` }),
    await send('POST', { host: `evil.example:${port}`, origin: `http://evil.example:${port}` }),
  ];
  expect(pages.map(({ status }) => status)).toEqual([403, 403, 403, 421, 421]);
  expect(pages.filter(({ headers }) => 'x-sandbox-hint' in headers)).toEqual([]);
  expect(sandbox.requests).toEqual([]);

  await send('POST', { host: `container.internal:${port}` });
  expect(sandbox.requests).toMatchObject([{ status: 421 }]);
});

test('a callback of another sandbox changes nothing', async () => {
  const { sandbox, client } = await running();
  const other = await running();
  await other.client.links.create(newLink);

  for (const path of ['/control/reset', '/console/faults']) {
    const { refId } = await client.links.create({ ...newLink, callbackUrl: other.sandbox.origin + path });
    await sandbox.play(refId, 'approved');
  }
  await sandbox.idle();

  expect(sandbox.callbacks.map(({ attempts }) => attempts.map(({ status }) => status))).toEqual([
    [403, 403, 403],
    [403, 403, 403],
  ]);
  expect(other.sandbox.service.sandbox.links.all()).toHaveLength(1);
});

test('HEAD is answered as GET, without a body', async () => {
  const { port } = await running();

  for (const path of ['/health', '/', '/assets/style.css']) {
    const { status, text } = await write(port, { method: 'HEAD', path });
    expect([path, status, text]).toEqual([path, 200, '']);
  }
});

test('TRACE gets 405, wherever it is sent', async () => {
  const { port } = await running();

  for (const path of ['/', '/health', '/sandbox/v1/hosted_links']) {
    const { status, headers } = await write(port, { method: 'TRACE', path });
    expect([path, status, headers.allow]).toEqual([path, 405, 'GET, HEAD, OPTIONS, POST, PUT']);
  }
});

test.each([
  ['http://127.0.0.1:PORT/health', 200],
  ['HTTP://LOCALHOST:PORT/health', 200],
  ['https://127.0.0.1:PORT/sandbox/v1/none', 404],
  ['http://127.0.0.1:PORT', 200],
  ['http://127.0.0.1:PORT?after=1', 200],
  ['http://evil.example/health', 421],
  ['http://127.0.0.1:PORT@evil.example/health', 421],
  ['http://evil.example@127.0.0.1:PORT/health', 421],
  ['http://127.0.0.1/health', 421],
  ['ftp://127.0.0.1:PORT/health', 421],
  ['*', 404],
])('a request for %s gets %i', async (target, status) => {
  const { port } = await running();
  const path = target.replace('PORT', String(port));
  const host = `Host: 127.0.0.1:${port}\r\nConnection: close\r\n`;

  const method = target === '*' ? 'OPTIONS' : 'GET';
  expect(await firstLine(port, `${method} ${path} HTTP/1.1\r\n${host}\r\n`)).toContain(` ${status} `);
  expect(await firstLine(port, `${method} ${path} HTTP/1.1\r\nHost: evil.example\r\n\r\n`)).toContain(' 421 ');
});

test('no response tells a page of another origin which server this is', async () => {
  const { port } = await running();

  for (const [method, path, host] of [
    ['GET', '/health', 'localhost'],
    ['GET', '/', 'localhost'],
    ['HEAD', '/', 'localhost'],
    ['GET', '/assets/style.css', 'localhost'],
    ['POST', '/sandbox/v1/job_status', 'localhost'],
    ['TRACE', '/', 'localhost'],
    ['GET', '/', 'evil.example'],
  ] as const) {
    const { headers } = await write(port, { method, path, headers: { host: `${host}:${port}` } });
    expect([method, path, headers['cross-origin-resource-policy']]).toEqual([method, path, 'same-origin']);
  }
});

test('a write with the own origin, or with none, is let in', async () => {
  const { port, sandbox } = await running();

  expect((await control(sandbox.origin, 'reset', {})).status).toBe(204);
  expect((await control(sandbox.origin, 'reset', {}, { origin: sandbox.origin })).status).toBe(204);
  expect((await control(sandbox.origin, 'reset', {}, { origin: `http://localhost:${port}` })).status).toBe(204);
});

test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'text/plain; application/json'])(
  'a control of the type %s gets 415, as does one without a type',
  async (type) => {
    const { port } = await running();
    const statusOf = async (headers: Record<string, string>) =>
      (await write(port, { method: 'POST', path: '/control/reset', headers, body: '{}' })).status;

    expect(await statusOf({ 'content-type': type })).toBe(415);
    expect(await statusOf({})).toBe(415);
    expect(await statusOf({ 'content-type': 'application/json; charset=utf-8' })).toBe(204);
  },
);

test('a body over 1 MB gets 413, whether its length is told before or not', async () => {
  const { port } = await running();
  const body = 'x'.repeat(1_000_001);
  const chunked = { ...json, 'transfer-encoding': 'chunked' };

  for (const path of ['/control/reset', '/sandbox/v1/hosted_links', '/links/abc']) {
    expect((await write(port, { method: 'POST', path, headers: json, body })).status).toBe(413);
    expect((await write(port, { method: 'POST', path, headers: chunked, body })).status).toBe(413);
  }
});

test('every page forbids what is not its own, framing, and telling others where one was', async () => {
  const { sandbox, link } = await runningLink();

  for (const path of [
    '/',
    `/links/${link.refId}`,
    `/console/links/${link.refId}`,
    '/links/none',
    '/nowhere',
    '/health',
  ]) {
    const { headers } = await fetch(sandbox.origin + path);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self'");
    expect(policy).not.toContain('unsafe');
    expect(headers.get('referrer-policy')).toBe('same-origin');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('access-control-allow-origin')).toBeNull();
  }
});
