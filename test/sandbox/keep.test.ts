/** What a folder keeps: over a stop, a kill, a broken file and a second sandbox. */

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { HostedClient, HostedConfigError } from 'hosted-client';
import { type SandboxOptions, startSandbox } from 'hosted-client/sandbox';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { writeSaved } from '../../src/testing/saved-text.js';
import { folderOfTest, newLink, receiving, running, spyOnWarnings } from './running.js';

const textOf = (folder: string) => readFileSync(join(folder, 'sandbox.json'), 'utf8');
const state = (folder: string) => JSON.parse(textOf(folder)).state;

/** Starts a sandbox that the test stops by itself. */
async function start(options: SandboxOptions) {
  const sandbox = await startSandbox({ port: 0, reviewMs: 1, callbackRetriesMs: [1], ...options });
  return { sandbox, client: new HostedClient(sandbox.clientOptions()) };
}

test.each([
  ['of this version', (kept: object) => kept],
  [
    'that lacks what can be null',
    (kept: object) => JSON.parse(JSON.stringify(kept), (_name, value) => value ?? undefined),
  ],
])('links, jobs and callbacks survive a restart, and ids go on, with a state %s', async (_what, ofVersion) => {
  const folder = folderOfTest();
  const { url } = await receiving();
  const first = await start({ folder });
  const link = await first.client.links.create({ ...newLink, callbackUrl: url });
  const job = await first.sandbox.play(link.refId, 'approved');
  await first.sandbox.idle();
  await first.client.jobs.status(job);
  const before = first.sandbox.callbacks;
  await first.sandbox.stop();
  writeFileSync(join(folder, 'sandbox.json'), writeSaved('sandbox', ofVersion(state(folder))));

  const { sandbox, client } = await running({ folder });

  expect((await client.links.get(link.refId)).refId).toBe(link.refId);
  expect(sandbox.service.sandbox.links.all()).toMatchObject([{ total_jobs: 1, successful_jobs: 1 }]);
  expect((await client.jobs.status(job)).state).toBe('succeeded');
  expect(sandbox.callbacks).toEqual(before);
  expect(sandbox.callbacks[0]?.attempts[0]?.at).toBeInstanceOf(Date);
  expect(await (await fetch(`${sandbox.origin}/console/links/${link.refId}`)).text()).toContain('Verified');
  await sandbox.resend(1);
  expect(sandbox.callbacks.map(({ id }) => id)).toEqual([1, 2]);
});

test('a review and a callback that waited go on after a restart', async () => {
  const folder = folderOfTest();
  const { received, url } = await receiving(503);
  const first = await start({ folder, reviewMs: 60_000, callbackRetriesMs: [60_000] });
  const link = await first.client.links.create({ ...newLink, callbackUrl: url });
  const job = await first.sandbox.play(link.refId, 'review_approved');
  await expect.poll(() => first.sandbox.callbacks[0]?.attempts.length).toBe(1);
  await first.sandbox.stop();
  const kept = state(folder);
  kept.reviews[0].endsAt = Date.now();
  kept.callbacks[0].view.nextAttemptAt = new Date();
  writeFileSync(join(folder, 'sandbox.json'), writeSaved('sandbox', kept));

  const { sandbox, client } = await running({ folder });
  await sandbox.idle();

  expect(received.map(({ body }) => body.ResultCode)).toEqual(['0814', '0814', '0810']);
  expect((await client.jobs.status(job)).state).toBe('succeeded');
});

test('a change is in the folder within half a second, as a whole', async () => {
  const folder = folderOfTest();
  const { client } = await running({ folder });
  const startedAt = performance.now();

  const link = await client.links.create(newLink);

  await vi.waitFor(() => expect(state(folder).service).toContain(link.refId), { timeout: 5_000, interval: 5 });
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(readdirSync(folder).sort()).toEqual(['sandbox.json', 'sandbox.lock']);
});

test('controls of the testing kit are kept, too', async () => {
  const folder = folderOfTest();
  const { sandbox } = await running({ folder });

  sandbox.service.production.links.seed(2);

  await vi.waitFor(() => expect(JSON.parse(state(folder).service).state.production.links).toHaveLength(2), {
    timeout: 5_000,
  });
});

test('a second sandbox on one folder refuses, and one after the first has stopped does not', async () => {
  const folder = folderOfTest();
  const first = await start({ folder });

  const error = await startSandbox({ port: 0, folder }).catch((reason: unknown) => reason);
  await first.sandbox.stop();
  await running({ folder });

  expect(error).toBeInstanceOf(HostedConfigError);
  expect(error).toMatchObject({ issues: [{ path: 'folder', message: expect.stringContaining(folder) }] });
});

test('a second sandbox on one folder refuses under another name of it, too', async () => {
  const folder = folderOfTest();
  const other = join(folderOfTest(), 'other');
  symlinkSync(folder, other);
  await running({ folder });

  // The message has the name that was given, and not the folder that it leads to.
  const message = expect.stringContaining(`the sandbox that uses ${other}, or`);
  await expect(startSandbox({ port: 0, folder: other })).rejects.toMatchObject({
    issues: [{ path: 'folder', message }],
  });
});

test.each([
  ['cut off', (text: string) => text.slice(0, -20)],
  ['changed', (text: string) => text.replace('"lastRequestId":1', '"lastRequestId":2')],
  ['written by another version', (text: string) => text.replace('"version":1', '"version":2')],
])('a state that was %s is set aside and named, and the sandbox begins anew', async (_what, change) => {
  const folder = folderOfTest();
  const first = await start({ folder });
  await first.client.links.create(newLink);
  await first.sandbox.stop();
  const text = change(textOf(folder));
  writeFileSync(join(folder, 'sandbox.json'), text);
  const warn = spyOnWarnings();

  const { sandbox } = await running({ folder });

  const [aside = ''] = readdirSync(folder).filter((name) => name.includes('unreadable'));
  expect(readFileSync(join(folder, aside), 'utf8')).toBe(text);
  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining(aside), 'HostedSandboxWarning');
  expect(warn.mock.calls[0]?.[0]).toContain('it was changed or another version wrote it');
  expect(sandbox.service.sandbox.links.all()).toEqual([]);
});

test('a sandbox that has stopped leaves its folder alone, whatever is done to it', async () => {
  const folder = folderOfTest();
  const first = await start({ folder });
  await first.sandbox.stop();
  const { sandbox, client } = await running({ folder });
  await client.links.create({ ...newLink, name: 'of the second' });
  await vi.waitFor(() => expect(state(folder).service).toContain('of the second'), { timeout: 5_000, interval: 5 });

  first.sandbox.service.sandbox.links.seed(1);
  await first.sandbox.stop();

  expect(state(folder).service).toContain('of the second');
  await expect(startSandbox({ port: 0, folder })).rejects.toMatchObject({ issues: [{ path: 'folder' }] });
  await sandbox.stop();
});

test.each([
  [
    'folder that is a file',
    (folder: string) => writeFileSync(folder, ''),
    'must be a folder that can be read and written (EEXIST)',
  ],
  [
    'lock that is a file of something else',
    (folder: string) => {
      mkdirSync(folder);
      writeFileSync(join(folder, 'sandbox.lock'), '4711\n');
    },
    expect.stringContaining('delete the file "sandbox.lock"'),
  ],
])('a %s is refused by name', async (_what, plant, message) => {
  const folder = join(folderOfTest(), 'planted');
  plant(folder);

  const error = await startSandbox({ port: 0, folder }).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(HostedConfigError);
  expect(error).toMatchObject({ issues: [{ path: 'folder', message }] });
});

test('a port in use gives the folder free', async () => {
  const folder = folderOfTest();
  const { port } = await running();

  await expect(startSandbox({ port, folder })).rejects.toMatchObject({ issues: [{ path: 'port' }] });
  await running({ folder });
});

test('after a restart, failureRate and the ids of requests go on', async () => {
  const options = { failureRate: 0.5, seed: 7 };
  const statuses = async (client: HostedClient, count: number) => {
    const patient = client.withOptions({ maxRetries: 0 });
    const seen: string[] = [];
    for (let left = count; left > 0; left--) {
      seen.push(
        await patient.links.list().then(
          () => 'well',
          () => 'failed',
        ),
      );
    }
    return seen;
  };
  const whole = await statuses((await running(options)).client, 20);
  const folder = folderOfTest();
  const first = await start({ ...options, folder });
  const before = await statuses(first.client, 10);
  await first.sandbox.stop();

  const { sandbox, client } = await running({ ...options, folder });

  expect([...before, ...(await statuses(client, 10))]).toEqual(whole);
  expect(sandbox.requests[0]?.id).toBe(11);
});

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

describe('other users', { tags: ['posix'] }, () => {
  test.each(['new', 'empty'])('can use nothing in a folder that was %s, with a umask of 0', async (kind) => {
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const warn = spyOnWarnings();
    const folder = join(folderOfTest(), 'state');
    if (kind === 'empty') mkdirSync(folder, { mode: 0o777 });

    const { sandbox, client } = await start({ folder });
    await client.links.create(newLink);
    await sandbox.stop();

    expect(modeOf(folder)).toBe('700');
    expect(readdirSync(folder).map((name) => [name, modeOf(join(folder, name))])).toEqual([
      ['sandbox.json', '600'],
      ['sandbox.lock', '600'],
    ]);
    expect(warn.mock.calls.map(([line]) => line)).toEqual([]);
  });

  test('are kept out of the sandbox’s files in a folder of theirs, and a warning says so', async () => {
    const folder = folderOfTest();
    const first = await start({ folder });
    const { refId } = await first.client.links.create(newLink);
    await first.sandbox.stop();
    const files = ['sandbox.json', 'sandbox.json.unreadable-1', 'sandbox.lock', 'notes.txt'];
    for (const name of files) {
      if (name !== 'sandbox.json' && name !== 'sandbox.lock') writeFileSync(join(folder, name), '');
      chmodSync(join(folder, name), 0o666);
    }
    chmodSync(folder, 0o777);
    const warn = spyOnWarnings();

    const { client } = await running({ folder });

    expect((await client.links.get(refId)).refId).toBe(refId);
    expect(files.map((name) => modeOf(join(folder, name)))).toEqual(['600', '600', '600', '666']);
    expect(modeOf(folder)).toBe('777');
    expect(warn.mock.calls.map(([line]) => line)).toEqual([
      expect.stringMatching(/sandbox\.json: it is narrowed now$/),
      expect.stringMatching(/sandbox\.json\.unreadable-1: it is narrowed now$/),
      `Other users of this machine can replace the files of the sandbox in ${folder}: chmod go-w ${folder}`,
    ]);
  });

  test.each([
    ['a link to a file', (next: string, target: string) => symlinkSync(target, next)],
    ['a link to nothing', (next: string, target: string) => symlinkSync(`${target}-missing`, next)],
    ['a pipe', (next: string) => void execFileSync('mkfifo', [next])],
    ['a file that all may write', (next: string) => writeFileSync(next, 'planted', { mode: 0o666 })],
  ])('lead the next state nowhere by %s', async (_what, plant) => {
    const folder = folderOfTest();
    const target = join(folderOfTest(), 'target');
    writeFileSync(target, 'of another program', { mode: 0o640 });
    const { sandbox, client } = await start({ folder });
    plant(join(folder, 'sandbox.json.next'), target);

    const { refId } = await client.links.create(newLink);
    await sandbox.stop();

    expect(state(folder).service).toContain(refId);
    expect(modeOf(join(folder, 'sandbox.json'))).toBe('600');
    expect([readFileSync(target, 'utf8'), modeOf(target)]).toEqual(['of another program', '640']);
    expect(existsSync(`${target}-missing`)).toBe(false);
  });

  test.each([
    ['a link', (file: string, target: string) => symlinkSync(target, file)],
    ['a pipe', (file: string) => void execFileSync('mkfifo', [file])],
    ['a folder', (file: string) => mkdirSync(file)],
  ])('make the sandbox read nothing by %s in place of its state', async (_what, plant) => {
    const folder = folderOfTest();
    const target = join(folderOfTest(), 'target');
    writeFileSync(target, 'of another program', { mode: 0o640 });
    plant(join(folder, 'sandbox.json'), target);
    const warn = spyOnWarnings();

    const { sandbox, client } = await start({ folder });
    const { refId } = await client.links.create(newLink);
    await sandbox.stop();

    expect(warn.mock.calls.map(([line]) => line)).toEqual([expect.stringContaining('has renamed the file to')]);
    expect(state(folder).service).toContain(refId);
    expect([readFileSync(target, 'utf8'), modeOf(target)]).toEqual(['of another program', '640']);
  });

  test('cannot lead the lock to another file by a link', async () => {
    const folder = folderOfTest();
    const target = join(folderOfTest(), 'target');
    symlinkSync(target, join(folder, 'sandbox.lock'));

    await expect(startSandbox({ port: 0, folder })).rejects.toThrow('delete the file "sandbox.lock"');
    expect(existsSync(target)).toBe(false);
  });
});

test('a state that cannot be written leaves no other file', async () => {
  const warn = spyOnWarnings();
  const folder = folderOfTest();
  const { sandbox } = await start({ folder });
  // The state is written beside it, but cannot replace it.
  mkdirSync(join(folder, 'sandbox.json', 'full'), { recursive: true });

  await sandbox.stop();

  expect(readdirSync(folder)).not.toContain('sandbox.json.next');
  expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('could not write'), 'HostedSandboxWarning');
});
