/** The command `listen`. */

import { expect, test } from 'vitest';
import { newLink, receiving, running } from '../sandbox/running.js';
import { listening } from './listening.js';
import { command, envOf, start } from './running.js';

test('listen --json prints its URL, and of each verified callback ids, state and result code', async () => {
  const { play, events, interrupt } = await listening();

  const { refId, job } = await play('id_verified');

  const each = { ...job, linkId: refId, state: 'succeeded', resultCode: '0810' };
  expect(events()).toEqual([each, each]);
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

test('listen says one line of a callback that could not be confirmed', async () => {
  const { sandbox, client, url, streams } = await listening();
  const { refId } = await client.links.create(newLink);
  const job = await sandbox.play(refId, 'approved');
  sandbox.service.sandbox.failNext('jobs.status', { kind: 'status', status: 500 }, 3);

  const response = await sandbox.service.sandbox.jobs.deliverCallback(job, {
    to: async (request) => fetch(url, { method: 'POST', body: await request.text() }),
  });

  expect(response.status).toBe(503);
  expect(streams.stderr).toMatch(/^\d\d:\d\d:\d\d responded with 503: Cannot get the status of a job: [^\n]+\n$/);
});

test('listen refuses what is no POST, and says so', async () => {
  const { url, streams } = await listening();

  expect((await fetch(url)).status).toBe(405);
  expect(streams.stderr).toMatch(/ responded with 405: callbacks are sent with POST\n$/);
});

test('listen takes callbacks as large as those of the service, and says of a larger one that it is too large', async () => {
  const { sandbox, client, url, events, streams } = await listening();
  const { refId } = await client.links.create(newLink);
  const job = await sandbox.play(refId, 'approved');
  const post = async (padBytes: number) => {
    const callback = await sandbox.service.sandbox.jobs.callback(job, { padBytes });
    return (await fetch(url, { method: 'POST', body: await callback.text() })).status;
  };

  expect(await post(2 * 1024 * 1024)).toBe(413);
  expect(streams.stderr).toContain('responded with 413');
  expect(await post(1_500_000)).toBe(200);
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

test('a port in use exits 1, and names it', async () => {
  const { sandbox } = await running();
  const { port } = await receiving();

  const { code, stderr } = await command(['listen', '--port', String(port)], { env: envOf(sandbox.clientOptions()) });

  expect(code).toBe(1);
  expect(stderr).toBe(`Port ${port} is in use: stop the server that uses it, or choose another port with --port\n`);
});

test('listen without a key exits 2, and listens to nothing', async () => {
  expect(await command(['listen', '--port', '0'])).toMatchObject({ code: 2, stdout: '' });
});
