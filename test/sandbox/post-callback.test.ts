/** Where a callback may go is judged by the address that is connected to. */

import { lookup } from 'node:dns';
import {
  type AddressInfo,
  createServer,
  getDefaultAutoSelectFamily,
  type Socket,
  setDefaultAutoSelectFamily,
} from 'node:net';
import { afterAll, afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { receiving } from './running.js';

vi.mock('node:dns', { spy: true });

// Other files of tests have loaded it with the lookup of the platform.
vi.resetModules();
const { postCallback } = await import('../../src/sandbox/post-callback.js');

afterEach(() => {
  vi.mocked(lookup).mockReset();
});

afterAll(() => vi.resetModules());

/** Has a name mean these addresses, one list after another. */
function resolving(...answers: readonly (readonly string[])[]) {
  const mocked = vi.mocked(lookup);
  for (const addresses of answers) {
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    mocked.mockImplementationOnce(((_name: string, _options: object, callback: (...given: unknown[]) => void) =>
      callback(null, found)) as unknown as typeof lookup);
  }
  return mocked;
}

const post = (url: string, callbackHosts: readonly string[] = []) =>
  postCallback({ url, body: [Buffer.from('{}')], callbackHosts, ownPort: 4085, signal: new AbortController().signal });

test('a name that means another machine is not allowed', async () => {
  resolving(['192.0.2.1']);

  expect(await post('http://partner.example/')).toEqual({
    status: null,
    problem: 'partner.example is not on this machine: allow it with "callbackHosts", or --allow-callbacks',
    isAllowed: false,
  });
});

test('a name that means this machine when it is looked up is not looked up again', async () => {
  const { received, port } = await receiving();
  const lookups = resolving(['127.0.0.1'], ['192.0.2.1']);

  expect(await post(`http://rebound.example:${port}/`)).toMatchObject({ status: 200, isAllowed: true });
  expect(lookups.mock.calls.filter(([name]) => name === 'rebound.example')).toHaveLength(1);
  expect(received).toHaveLength(1);
});

test('of several addresses, this machine’s alone are connected to', async () => {
  const { received, port } = await receiving();
  resolving(['192.0.2.1', '127.0.0.1']);

  expect(await post(`http://mixed.example:${port}/`)).toMatchObject({ status: 200 });
  expect(received).toHaveLength(1);
});

test('a process that connects to one address of a name connects to an allowed one', async () => {
  const before = getDefaultAutoSelectFamily();
  onTestFinished(() => setDefaultAutoSelectFamily(before));
  const { received, port } = await receiving();
  resolving(['192.0.2.1', '127.0.0.1']);
  setDefaultAutoSelectFamily(false);

  expect(await post(`http://mixed.example:${port}/`)).toMatchObject({ status: 200 });
  expect(received).toHaveLength(1);
});

test('callbackHosts allows a name, whatever it means', async () => {
  resolving(['192.0.2.1']);
  const signal = AbortSignal.timeout(50);
  const posted = postCallback({
    url: 'http://partner.example:9/',
    body: [Buffer.from('{}')],
    callbackHosts: ['partner.example'],
    ownPort: 4085,
    signal,
  });

  expect(await posted).toMatchObject({ status: null, isAllowed: true });
});

test('callbackHosts allows an address, whichever name means it', async () => {
  const { received, port } = await receiving();
  resolving(['127.0.0.1']);

  expect(await post(`http://any.example:${port}/`, ['192.0.2.1'])).toMatchObject({ status: 200 });
  expect(received).toHaveLength(1);
});

test('a name that there is not is not this machine’s, and says so where it is allowed', async () => {
  vi.mocked(lookup).mockImplementation(((_name: string, _options: object, callback: (...given: unknown[]) => void) =>
    callback(Object.assign(new Error('not found'), { code: 'ENOTFOUND' }))) as unknown as typeof lookup);

  expect(await post('http://none.example/')).toMatchObject({ isAllowed: false });
  expect(await post('http://none.example/', ['none.example'])).toMatchObject({
    problem: 'no such host (ENOTFOUND)',
    isAllowed: true,
  });
});

/** A server that does as `answer` says with each connection. */
async function answering(answer: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => answer(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('a receiver that wants to switch protocols has failed', async () => {
  const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n';
  const url = await answering((socket) => socket.write(switching));

  expect(await post(url)).toEqual({ status: 101, problem: 'the receiver responded with 101', isAllowed: true });
});

test('the sandbox itself receives no callback, under none of its names', async () => {
  const { received, port } = await receiving();
  resolving(['127.0.0.1'], ['192.0.2.1', '::1']);
  const signal = new AbortController().signal;
  const problem = 'this is the sandbox itself: give the URL of the server that receives callbacks';
  const hosts = ['127.0.0.1', '127.1.2.3', '[::1]', '[::ffff:127.0.0.1]', 'any.example', 'both.example'];

  for (const host of hosts) {
    const url = `http://${host}:${port}/console/callbacks/1/resend`;
    const posted = await postCallback({ url, body: [Buffer.from('{}')], callbackHosts: [], ownPort: port, signal });
    expect({ host, ...posted }).toEqual({ host, status: null, problem, isAllowed: false });
  }
  expect(received).toHaveLength(0);
});

test('the port of the sandbox on another machine is that machine’s', async () => {
  const signal = AbortSignal.timeout(50);
  const posting = {
    url: 'http://192.0.2.1:4085/',
    body: [Buffer.from('{}')],
    callbackHosts: ['192.0.2.1'],
    ownPort: 4085,
    signal,
  };

  expect(await postCallback(posting)).toMatchObject({ isAllowed: true });
});
