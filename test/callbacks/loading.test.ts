// The code that receives callbacks is loaded with the first of them.

import { createMockService } from 'hosted-client/testing';
import { afterEach, expect, test, vi } from 'vitest';

const code = '../../src/callbacks/receiver.js';

afterEach(() => {
  vi.doUnmock(code);
  vi.resetModules();
});

/** A client whose process cannot load the code, with a callback that is good. */
async function createClientWithoutCode() {
  vi.resetModules();
  vi.doMock(code, () => {
    throw new Error('EMFILE');
  });
  const { HostedClient } = await import('hosted-client');
  const { sandbox, fetch } = createMockService();
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  return {
    client: new HostedClient({ ...sandbox.clientOptions, fetch }),
    job,
    write: () => sandbox.jobs.callback(job),
  };
}

test('receive() rejects when its code cannot be loaded, and loads it anew with the next callback', async () => {
  const { client, job, write } = await createClientWithoutCode();
  const body = await (await write()).text();

  const error = await client.callbacks.receive(body).catch((caught: unknown) => caught);
  vi.doUnmock(code);

  expect(error).toMatchObject({ name: 'HostedConnectionError', code: 'connection', retryable: true });
  await expect(client.callbacks.receive(body)).resolves.toMatchObject({ ...job, repeat: false });
});

test('a handler answers 503 when its code cannot be loaded, and loads it anew with the next callback', async () => {
  const { client, job, write } = await createClientWithoutCode();
  const onEvent = vi.fn();
  const onError = vi.fn();
  const handle = client.callbacks.handler({ onEvent, onError });

  const refused = await handle(await write());
  vi.doUnmock(code);

  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).not.toBeNull();
  expect(onError).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ code: 'connection', message: expect.stringContaining('could not be loaded') }),
    { phase: 'verify', status: 503, event: null },
  );
  expect((await handle(await write())).status).toBe(200);
  expect(onEvent).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(job), expect.anything());
});

test("receive() reads the bytes before it loads its code: they are the caller's to use again", async () => {
  vi.resetModules();
  const { HostedClient } = await import('hosted-client');
  const { sandbox } = createMockService();
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  const bytes = Buffer.from(await (await sandbox.jobs.callback(job)).text());

  const received = new HostedClient(sandbox.clientOptions).callbacks.receive(bytes);
  bytes.fill(0);

  await expect(received).resolves.toMatchObject(job);
});
