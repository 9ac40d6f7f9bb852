/** The console: what it shows, and what it does without script. */

import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { newLink, receiving, running, submit } from './running.js';

const read = async (url: string) => (await fetch(url)).text();

test('the front page shows links, jobs, requests with their verdict, and callbacks', async () => {
  const { sandbox, client } = await running({ defaultCallbackUrl: 'http://127.0.0.1:9/' });
  const link = await client.links.create({ ...newLink, name: 'Onboarding' });
  await client
    .withOptions({ apiKey: 'production-test-key' })
    .links.list()
    .catch(() => null);
  const job = await sandbox.play(link.refId, 'approved');
  await sandbox.idle();

  const html = await read(sandbox.origin);

  for (const text of [
    'Onboarding',
    job.jobId,
    'links.create',
    'Signature: other_environment',
    'Gave up',
    'ECONNREFUSED',
  ]) {
    expect(html).toContain(text);
  }
  expect(html).toContain(`HOSTED_SANDBOX_BASE_URL=${sandbox.origin}/sandbox`);
});

test('a time in the console has its date', async () => {
  const { sandbox, client } = await running();
  await client.links.create(newLink);

  const [, iso, text] = /<time datetime="([^"]+)">([^<]+)<\/time>/.exec(await read(sandbox.origin)) ?? [];

  expect(text).toBe(`${iso?.slice(0, 10)} ${iso?.slice(11, 19)} UTC`);
});

test('an empty console says how each thing comes about', async () => {
  const { sandbox } = await running();
  const html = await read(sandbox.origin);

  for (const text of ['No link yet', 'No job yet', 'No request yet', 'No callback yet']) expect(html).toContain(text);
});

test('a link’s story is told from its creation to its confirmation', async () => {
  const { sandbox, client } = await running();
  const { url } = await receiving(503);
  const link = await client.links.create({ ...newLink, callbackUrl: url });
  await fetch(link.url);
  const job = await sandbox.play(link.refId, 'approved');
  await sandbox.idle();
  await client.jobs.status(job);
  await client.links.disable(link.refId);

  const html = await read(`${sandbox.origin}/console/links/${link.refId}`);

  const titles = [...html.matchAll(/<strong>([^<]+)<\/strong>/g)].map(([, title]) => title);
  expect(titles.filter((title) => title !== 'Simulation.')).toEqual([
    'Created',
    'Opened',
    'Job started',
    'Result 0810',
    'Callback not delivered',
    'Callback delivered',
    'Confirmed',
    'Disabled',
  ]);
});

test('the console disables a link, and leads back to its row on the page that it was done on', async () => {
  const { sandbox, client } = await running();
  const link = await client.links.create(newLink);

  const response = await fetch(`${sandbox.origin}/console/links/${link.refId}/disable`, {
    method: 'POST',
    headers: { origin: sandbox.origin, referer: `${sandbox.origin}/?x=1` },
    redirect: 'manual',
  });

  expect([response.status, response.headers.get('location')]).toEqual([303, `/#link-${link.refId}`]);
  expect((await client.links.get(link.refId)).state).toBe('disabled');
});

test.each(['//evil.example/', '//evil.example', '/\\evil.example/'])('a page at %s leads nowhere', async (path) => {
  const { sandbox, client } = await running();
  const { refId } = await client.links.create(newLink);

  const response = await fetch(`${sandbox.origin}/console/links/${refId}/disable`, {
    method: 'POST',
    headers: { origin: sandbox.origin, referer: sandbox.origin + path },
    redirect: 'manual',
  });

  expect(response.headers.get('location')).toBe(`/console/links/${refId}#link-${refId}`);
});

test('the console completes and fails jobs, and posts their results', async () => {
  const { sandbox, client } = await running({ reviewMs: 60_000 });
  const { received, url } = await receiving();
  const link = await client.links.create({ ...newLink, callbackUrl: url });
  const [first, second] = [await sandbox.play(link.refId, 'never'), await sandbox.play(link.refId, 'never')];
  const complete = (job: { userId: string; jobId: string }, outcome: string) =>
    submit(`${sandbox.origin}/console/jobs/complete`, { environment: 'sandbox', ...job, outcome });

  expect((await complete(first, 'approved')).status).toBe(303);
  expect((await complete(second, 'rejected')).status).toBe(303);
  expect((await complete({ userId: 'none', jobId: 'none' }, 'approved')).status).toBe(404);
  await sandbox.idle();

  expect(received.map(({ body }) => body.ResultCode).sort()).toEqual(['0810', '0811']);
  expect((await client.jobs.status(second)).state).toBe('failed');
});

test('a job that is completed during its review is not completed again', async () => {
  const { sandbox, client } = await running({ reviewMs: 500 });
  const link = await client.links.create(newLink);
  const job = await sandbox.play(link.refId, 'review_approved');

  await submit(`${sandbox.origin}/console/jobs/complete`, { environment: 'sandbox', ...job, outcome: 'rejected' });
  await sandbox.idle();

  const status = await client.jobs.status({ ...job, history: true });
  expect(status.state).toBe('failed');
  expect(status.history?.map(({ resultCode }) => resultCode)).toEqual(['0814', '0811']);
});

test('a page that is older than the result changes nothing of it', async () => {
  const { sandbox, client } = await running();
  const link = await client.links.create(newLink);
  const job = await sandbox.play(link.refId, 'approved');

  await submit(`${sandbox.origin}/console/jobs/complete`, { environment: 'sandbox', ...job, outcome: 'rejected' });

  expect((await client.jobs.status(job)).state).toBe('succeeded');
});

test('nothing is waited for once a job was completed during its review', async () => {
  const { sandbox, client } = await running({ reviewMs: 3_600_000 });
  const link = await client.links.create(newLink);
  const job = await sandbox.play(link.refId, 'review_approved');

  await submit(`${sandbox.origin}/console/jobs/complete`, { environment: 'sandbox', ...job, outcome: 'rejected' });
  await sandbox.idle();

  expect(await client.jobs.status(job)).toMatchObject({ state: 'failed' });
});

test('the console sends callbacks again', async () => {
  const { sandbox, client } = await running();
  const { received, url } = await receiving();
  const link = await client.links.create({ ...newLink, callbackUrl: url });
  await sandbox.play(link.refId, 'approved');
  await sandbox.idle();

  await submit(`${sandbox.origin}/console/callbacks/1/resend`, { variant: 'genuine' });
  await submit(`${sandbox.origin}/console/callbacks/1/resend`, { variant: 'unsigned' });
  const unknown = await submit(`${sandbox.origin}/console/callbacks/9/resend`, { variant: 'genuine' });

  expect(received[1]).toEqual(received[0]);
  expect(received[2]?.body).not.toHaveProperty('signature');
  expect(unknown.status).toBe(400);
});

test('the console has the next request fail', async () => {
  const { sandbox, client } = await running();
  const fields = { environment: 'sandbox', operation: 'links.list', fault: 'status-503' };

  expect((await submit(`${sandbox.origin}/console/faults`, fields)).status).toBe(303);
  expect((await submit(`${sandbox.origin}/console/faults`, { ...fields, fault: 'fire' })).status).toBe(400);

  const patient = client.withOptions({ maxRetries: 0 });
  await expect(patient.links.list()).rejects.toMatchObject({ status: 503 });
  expect((await patient.links.list()).links).toEqual([]);
});

test('the OpenAPI description is served beside the console, where it is installed', async () => {
  const { sandbox } = await running();
  const kept = existsSync('docs/openapi.yaml') ? readFileSync('docs/openapi.yaml', 'utf8') : null;

  const response = await fetch(`${sandbox.origin}/openapi.yaml`);
  const html = await read(sandbox.origin);

  expect(response.status).toBe(kept === null ? 404 : 200);
  expect(html.includes('href="/openapi.yaml"')).toBe(kept !== null);
  if (kept !== null) expect(await response.text()).toBe(kept);
});

test('a hundred links are counted, and the latest shown', async () => {
  const { sandbox } = await running();
  sandbox.service.sandbox.links.seed(60);
  sandbox.service.production.links.seed(40);

  const html = await read(sandbox.origin);

  expect(html).toContain('The latest 50 of 100.');
  expect(html.match(/id="link-/g)).toHaveLength(50);
});

test('open pages are notified of changes', async () => {
  const { sandbox, client } = await running();
  const leaving = new AbortController();
  const response = await fetch(`${sandbox.origin}/events`, { signal: leaving.signal });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();

  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect((await reader?.read())?.value).toContain('retry:');
  await client.links.create(newLink);
  expect((await reader?.read())?.value).toContain('event: change');
  leaving.abort();
});

test('what is served as a script is one that runs on its own', async () => {
  const { sandbox } = await running();
  const script = await read(`${sandbox.origin}/assets/follow.js`);

  expect(() => new Function(script)).not.toThrow();
  expect(script).toContain('EventSource');
});
