/** A receiver, or a tracker, that keeps running while the sandbox restarts or is reset: every result is new to it. */

import { copyFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import { type Sandbox, type SandboxOptions, startSandbox } from 'hosted-client/sandbox';
import { createTestClock, createTestTracker } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { folderOfTest, listening, newLink } from './running.js';

/** Keeps no connection open, because a restart would break it in the middle of the next request. */
const fetchOnce = (url: string, init: RequestInit) => {
  const headers = new Headers(init.headers);
  headers.set('connection', 'close');
  return fetch(url, { ...init, headers });
};

/** Starts a sandbox whose callbacks a receiver hears, which goes on when the sandbox ends. */
async function startBesideReceiver(options: SandboxOptions, isTracker = false) {
  const heard: string[] = [];
  let receive: RequestListener = () => {};
  const callbackUrl = await listening((message, response) => receive(message, response));
  const first = await startSandbox({ ...options, port: 0, callbackBytes: 0 });
  const port = Number(new URL(first.origin).port);
  const client = new HostedClient({ ...first.clientOptions(), fetch: fetchOnce });
  const tracker = createTestTracker({ client, clock: createTestClock(Date.now()), unknownJobs: 'track' });
  await tracker.onCompletion(({ job }) => void heard.push(job?.jobId ?? ''));
  const handler = client.callbacks.handler({ onEvent: ({ jobId }) => void heard.push(jobId) });
  receive = nodeHandler(isTracker ? tracker.handler() : handler);
  return {
    first,
    heard,
    restart: () => startSandbox({ ...options, port, callbackBytes: 0 }),
    async play(sandbox: Sandbox) {
      const { refId } = await client.links.create({ ...newLink, callbackUrl });
      const { jobId } = await sandbox.play(refId, 'approved');
      await sandbox.idle();
      await tracker.drain();
      return jobId;
    },
  };
}

test('a receiver that kept running hears the first result after reset()', async () => {
  const { first, heard, play } = await startBesideReceiver({ seed: 7 });
  const before = await play(first);

  await first.reset();
  const after = await play(first);
  await first.stop();

  expect(heard).toEqual([before, after]);
});

test.each([
  ['without a folder', () => ({})],
  ['with a folder', () => ({ folder: folderOfTest() })],
  ['with a folder and a seed', () => ({ folder: folderOfTest(), seed: 7 })],
])('a receiver that kept running hears the first result of a restarted sandbox %s', async (_, optionsOf) => {
  const { first, heard, restart, play } = await startBesideReceiver(optionsOf());
  const before = await play(first);
  await first.stop();

  const second = await restart();
  const after = await play(second);
  await second.stop();

  expect(heard).toEqual([before, after]);
});

test('a tracker that kept running hands over every result, after a restart and after reset()', async () => {
  const { first, heard, restart, play } = await startBesideReceiver({}, true);
  const played = [await play(first)];
  await first.stop();

  const second = await restart();
  played.push(await play(second));
  await second.reset();
  played.push(await play(second));
  await second.stop();

  expect(heard).toEqual(played);
});

test('a receiver that kept running hears the first result after a kill that lost the latest ids', async () => {
  const folder = folderOfTest();
  const [file, older] = [join(folder, 'sandbox.json'), join(folder, 'older.json')];
  const { first, heard, restart, play } = await startBesideReceiver({ folder });
  await first.stop();
  copyFileSync(file, older);
  const second = await restart();
  const before = await play(second);
  await second.stop();
  copyFileSync(older, file);

  const third = await restart();
  const after = await play(third);
  await third.stop();

  expect(heard).toEqual([before, after]);
});
