/** The command `listen`. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SandboxOutcome } from 'hosted-client/sandbox';
import { expect, onTestFinished, test } from 'vitest';
import { newLink, receiving, running } from '../sandbox/running.js';
import { command, envOf, start } from './running.js';

/** A sandbox, and a command that receives its callbacks. */
async function listening(...args: readonly string[]) {
  const { sandbox, client } = await running();
  const listening = start(['listen', '--port', '0', '--json', ...args], envOf(sandbox.clientOptions()));
  await expect.poll(() => listening.streams.stdout).toContain('\n');
  const { url } = JSON.parse(listening.streams.stdout) as { url: string };
  const play = async (outcome: SandboxOutcome) => {
    const { refId } = await client.links.create({ ...newLink, callbackUrl: url });
    const job = await sandbox.play(refId, outcome);
    await sandbox.idle();
    return { refId, job };
  };
  const events = () =>
    listening.streams.stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => JSON.parse(line) as unknown);
  return { sandbox, client, url, play, events, ...listening };
}

test('listen --json prints its URL, and of each verified callback ids, state and result code', async () => {
  const { play, events, interrupt } = await listening();

  const { refId, job } = await play('id_verified');

  const each = { ...job, id: expect.stringMatching(/^[0-9a-f]{64}$/), linkId: refId, state: 'succeeded' };
  expect(events()).toEqual([
    { ...each, resultCode: '1012' },
    { ...each, resultCode: '0810' },
  ]);
  expect(await interrupt()).toBe(130);
});

test('listen prints nothing of the person beyond ids', async () => {
  const { client, play, streams } = await listening();

  const { job } = await play('id_verified');

  const history = (await client.jobs.status({ ...job, history: true })).history ?? [];
  const names = history.flatMap(({ identity }) => [identity?.fullName, identity?.idNumber, identity?.dateOfBirth]);
  const personal = names.filter((name): name is string => typeof name === 'string' && name !== '');
  expect(personal.length).toBeGreaterThan(0);
  for (const datum of personal) expect(streams.stdout + streams.stderr).not.toContain(datum);
});

test('listen says what is wrong with a callback, and refuses it', async () => {
  const { sandbox, play, streams, events } = await listening();
  await play('approved');
  const before = events().length;

  const forged = await sandbox.resend(1, { variant: 'forged' });
  const unsigned = await sandbox.resend(1, { variant: 'unsigned' });

  expect([forged, unsigned]).toMatchObject([{ attempts: [{ status: 401 }] }, { attempts: [{ status: 401 }] }]);
  expect(streams.stderr).toMatch(/^\d\d:\d\d:\d\d responded with 401: .*its signature does not match its timestamp/m);
  expect(streams.stderr).toMatch(/^\d\d:\d\d:\d\d responded with 401: .*it is not signed$/m);
  expect(events()).toHaveLength(before);
});

test('listen says that a callback is a repeat', async () => {
  const { sandbox, play, streams, events } = await listening();
  await play('approved');

  const again = await sandbox.resend(1);

  expect(again.state).toBe('delivered');
  expect(streams.stderr).toContain('repeat: this callback was received before');
  expect(events()).toHaveLength(1);
});

test('listen takes callbacks as large as callbacks.handler() does, and says of a larger one that it is too large', async () => {
  const { sandbox, client, url, events, streams } = await listening();
  const { refId } = await client.links.create(newLink);
  const job = await sandbox.play(refId, 'approved');
  const post = async (padBytes: number) => {
    const callback = await sandbox.service.sandbox.jobs.callback(job, { padBytes });
    return (await fetch(url, { method: 'POST', body: await callback.text() })).status;
  };

  expect(await post(8 * 1024 * 1024)).toBe(413);
  expect(streams.stderr).toContain('responded with 413');
  expect(await post(7_000_000)).toBe(200);
  expect(events()).toMatchObject([{ jobId: job.jobId, state: 'succeeded' }]);
});

test('listen on a terminal prints lines', async () => {
  const { sandbox, client } = await running();
  const { streams } = start(['listen', '--port', '0'], envOf(sandbox.clientOptions()));
  await expect.poll(() => streams.stdout).toContain('receives callbacks at');
  const [, callbackUrl = ''] = /at (\S+)/.exec(streams.stdout) ?? [];
  const { refId } = await client.links.create({ ...newLink, callbackUrl });

  const job = await sandbox.play(refId, 'rejected');
  await sandbox.idle();

  const line = `verified: job ${job.jobId} of user ${job.userId}, link ${refId}: result 0811, failed`;
  expect(streams.stdout.split('\n')[1]).toMatch(new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${line}$`));
});

test('listen --forward posts what is verified as it came, and nothing that is not', async () => {
  const bodies: Buffer[] = [];
  const server = createServer(async (message, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
    bodies.push(Buffer.concat(chunks));
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { sandbox, url, streams } = await listening('--forward', `http://127.0.0.1:${port}/hook`);
  const job = sandbox.service.sandbox.jobs.start();
  sandbox.service.sandbox.jobs.complete(job, 'approved');
  const callback = await sandbox.service.sandbox.jobs.callback(job);
  // Blanks that a parser would lose.
  const body = ` ${await callback.text()}\n`;

  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const forged = await fetch(url, { method: 'POST', body: '{"timestamp":"x","signature":"x"}' });

  expect([response.status, forged.status]).toEqual([204, 401]);
  expect(bodies.map(String)).toEqual([body]);
  expect(streams.stderr).toContain(`forwarded to http://127.0.0.1:${port}: 204`);
});

test('listen --forward has a callback sent again until it is taken there', async () => {
  const { received, url } = await receiving(500, 500);
  const { sandbox, play } = await listening('--forward', url);

  await play('approved');

  expect(sandbox.callbacks).toMatchObject([
    { state: 'delivered', attempts: [{ status: 500 }, { status: 500 }, { status: 200 }] },
  ]);
  expect(received).toHaveLength(3);
});

test('listen --forward to where nothing answers says so, and answers 502', async () => {
  const { sandbox, play, streams } = await listening('--forward', 'http://127.0.0.1:9/hook?token=hidden');

  await play('approved');

  expect(sandbox.callbacks[0]?.attempts[0]?.status).toBe(502);
  expect(streams.stderr).toContain('not forwarded: no response from http://127.0.0.1:9\n');
  expect(streams.stderr).not.toContain('token=hidden');
});

test('a port in use exits 1, and names it', async () => {
  const { sandbox } = await running();
  const { port } = await receiving();

  const { code, stderr } = await command(['listen', '--port', String(port)], { env: envOf(sandbox.clientOptions()) });

  expect(code).toBe(1);
  expect(stderr).toBe(`Port ${port} is in use: stop the server that uses it, or choose another port with --port\n`);
});

test.each([
  [['--forward', '/hook'], '--forward must be an absolute http or https URL'],
  [['--forword', 'x'], 'did you mean --forward?'],
])('listen %j is a wrong use, which is named', async (args, message) => {
  const { code, stderr } = await command(['listen', ...args]);

  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

test('listen without a key exits 2, and listens to nothing', async () => {
  expect(await command(['listen', '--port', '0'])).toMatchObject({ code: 2, stdout: '' });
});
