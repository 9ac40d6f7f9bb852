/** The console: what it shows, and what it does without script. */

import { readFileSync } from 'node:fs';
import { HostedClient } from 'hosted-client';
import { expect, test } from 'vitest';
import { environments } from '../../src/options.js';
import { ago } from '../../src/sandbox/pages/console-script.js';
import {
  completionUrl,
  linkAndReceiver,
  newLink,
  nextMillisecond,
  playAndReceive,
  preOf,
  read,
  rowsOf,
  running,
  runningLink,
  runShell,
  submit,
} from './running.js';

test('the front page shows requests and callbacks, each with its ids and the reason of its failure', async () => {
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
    `/console/links/${link.refId}`,
    `/?job=${job.jobId}`,
    'links.create',
    'Use the key of the environment that the request is sent to',
    'Gave up',
    'ECONNREFUSED',
  ]) {
    expect(html).toContain(text);
  }
});

test('a time in the console says how long ago it is, and has its date', async () => {
  const { sandbox, client } = await running();
  await client.links.create(newLink);

  const found = /<time datetime="([^"]+)" title="([^"]+)">([^<]+)<\/time>/.exec(await read(sandbox.origin)) ?? [];
  const [, iso, title, text] = found;

  expect(title).toBe(`${iso?.slice(0, 10)} ${iso?.slice(11, 19)} UTC`);
  expect(text).toMatch(/^\d+ s ago$/);
});

test.each([
  [5_000, 'in 0 s'],
  [-5_000, 'in 5 s'],
])('the next time after %i ms is "%s"', (ms, text) => {
  expect(ago('2026-01-01T00:00:00.000Z', Date.parse('2026-01-01T00:00:00.000Z') + ms, true)).toBe(text);
});

test.each([
  [59_000, '59 s ago'],
  [60_000, '1 min ago'],
  [3_599_000, '59 min ago'],
  [3_600_000, '1 h ago'],
  [86_400_000, '1 d ago'],
  [-5_000, '0 s ago'],
])('%i ms is "%s"', (ms, text) => {
  expect(ago('2026-01-01T00:00:00.000Z', Date.parse('2026-01-01T00:00:00.000Z') + ms)).toBe(text);
});

test('an empty console begins with the variables of each shell, and with a first call that works', async () => {
  const { sandbox } = await running();
  const [sh, fish] = [await read(`${sandbox.origin}/?shell=sh`), await read(`${sandbox.origin}/?shell=fish`)];

  expect(sh).toContain(`export HOSTED_SANDBOX_BASE_URL=${sandbox.origin}/sandbox`);
  expect(fish).toContain('set -gx HOSTED_PARTNER_ID');
  expect(sh).toContain('HostedClient.fromEnv()');

  await runShell(preOf(sh, 'openssl dgst'));

  expect(sandbox.requests).toMatchObject([{ operation: 'links.list', status: 200, reason: null }]);
});

test('a link’s page lists what happened to it and to its jobs, the newest first', async () => {
  const { sandbox, client, link } = await linkAndReceiver({ statuses: [503], link: { name: 'Onboarding' } });
  await nextMillisecond();
  const job = await sandbox.play(link.refId, 'review_approved');
  await sandbox.idle();
  await nextMillisecond();
  await client.jobs.status(job);
  await client.links.disable(link.refId);

  const html = await read(`${sandbox.origin}/console/links/${link.refId}`);

  const rows = rowsOf(html).map(({ status, what }) => `${status} ${what}`);
  expect(rows.slice(0, 1)).toEqual(['200 links.update']);
  expect(rows.slice(1).toSorted()).toEqual([
    '200 links.create',
    'Delivered Callback 1 · 0814',
    'Delivered Callback 2 · 0810',
    'Verified Job · Onboarding',
  ]);
  const own = rowsOf(html).find(({ what }) => what === 'Job · Onboarding');
  expect(own?.why).toBe('0814 Provisional Enroll - Under Review, then 0810 Enroll User');
  // By its ids, it is told apart from the other jobs of the same name.
  expect(own?.row).toContain(`title="${job.jobId}"`);
  expect(own?.row).toContain(`title="${link.refId}"`);
});

test('the console completes and fails jobs, and posts their results', async () => {
  const { sandbox, client, received, link } = await linkAndReceiver({ reviewMs: 60_000 });
  const [first, second] = [await sandbox.play(link.refId, 'never'), await sandbox.play(link.refId, 'never')];
  const complete = (job: { userId: string; jobId: string }, outcome: string) =>
    submit(completionUrl(sandbox, job), { outcome });

  expect((await complete(first, 'approved')).status).toBe(303);
  expect((await complete(second, 'rejected')).status).toBe(303);
  expect((await complete({ userId: 'none', jobId: 'none' }, 'approved')).status).toBe(404);
  await sandbox.idle();

  expect(received.map(({ body }) => body.ResultCode).sort()).toEqual(['0810', '0811']);
  expect((await client.jobs.status(second)).state).toBe('failed');
});

test.each([...environments, 'another'])(
  'a form that names the environment %s completes a job of no other',
  async (name) => {
    const { sandbox } = await running();
    const ids = { userId: 'user-1', jobId: 'job-1' };
    for (const each of environments) sandbox.service[each].jobs.start(ids);

    const { status } = await submit(completionUrl(sandbox, { ...ids, environment: name }), { outcome: 'approved' });

    const states = environments.map(async (each) => {
      const client = new HostedClient(sandbox.clientOptions(each));
      return [each, (await client.jobs.status(ids)).state];
    });
    expect(status).toBe(name === 'another' ? 404 : 303);
    expect(await Promise.all(states)).toEqual(
      environments.map((each) => [each, each === name ? 'succeeded' : 'pending']),
    );
  },
);

test('a job that is completed during its review is not completed again, and nothing is waited for', async () => {
  const { sandbox, client, link } = await runningLink({}, { reviewMs: 3_600_000 });
  const job = await sandbox.play(link.refId, 'review_approved');

  await submit(completionUrl(sandbox, job), { outcome: 'rejected' });
  await sandbox.idle();

  const status = await client.jobs.status({ ...job, history: true });
  expect(status.state).toBe('failed');
  expect(status.history?.map(({ resultCode }) => resultCode)).toEqual(['0814', '0811']);
});

test('the review of one job goes on after another one was completed', async () => {
  const { sandbox, client, link } = await runningLink({}, { reviewMs: 3_600_000 });
  const first = await sandbox.play(link.refId, 'review_approved');
  const second = await sandbox.play(link.refId, 'review_approved');
  let isIdle = false;
  const idle = sandbox.idle().then(() => {
    isIdle = true;
  });

  await submit(completionUrl(sandbox, first), { outcome: 'rejected' });

  expect((await client.jobs.status(first)).state).toBe('failed');
  expect(isIdle).toBe(false);
  await submit(completionUrl(sandbox, second), { outcome: 'approved' });
  await idle;
  expect((await client.jobs.status(second)).state).toBe('succeeded');
});

test('a page that is older than the result changes nothing of it', async () => {
  const { sandbox, client, link } = await runningLink();
  const job = await sandbox.play(link.refId, 'approved');

  await submit(completionUrl(sandbox, job), { outcome: 'rejected' });

  expect((await client.jobs.status(job)).state).toBe('succeeded');
});

test('the console sends callbacks again', async () => {
  const { sandbox, received } = await playAndReceive();

  await submit(`${sandbox.origin}/console/callbacks/1/resend`, { variant: 'genuine' });
  await submit(`${sandbox.origin}/console/callbacks/1/resend`, { variant: 'unsigned' });
  const unknown = await submit(`${sandbox.origin}/console/callbacks/9/resend`, { variant: 'genuine' });

  expect(received[1]).toEqual(received[0]);
  expect(received[2]?.body).not.toHaveProperty('signature');
  expect(unknown.status).toBe(400);
});

test('the OpenAPI description is served beside the console', async () => {
  const { sandbox } = await running();

  const response = await fetch(`${sandbox.origin}/openapi.yaml`);

  expect([response.status, await response.text()]).toEqual([200, readFileSync('docs/openapi.yaml', 'utf8')]);
  expect(await read(`${sandbox.origin}/console/connect`)).toContain('href="/openapi.yaml"');
});

test('a hundred links are counted, and the latest shown', async () => {
  const { sandbox } = await running();
  sandbox.service.sandbox.links.seed(60);
  sandbox.service.production.links.seed(40);

  const html = await read(`${sandbox.origin}/?show=links`);
  const [, next = ''] = /href="([^"]+)" rel="next"/.exec(html) ?? [];
  const older = await read(sandbox.origin + next.replaceAll('&amp;', '&'));

  expect(html).toContain('50 of 100');
  expect(html).toContain('rel="next"');
  for (const each of [html, older]) expect(each.match(/id="link-/g)).toHaveLength(50);
  expect(older).not.toContain('rel="next"');
});

test('a page that is asked for again is not sent again until something has changed', async () => {
  const { sandbox, client } = await running();
  const first = await fetch(sandbox.origin);
  const look = async () =>
    (await fetch(sandbox.origin, { headers: { 'if-none-match': first.headers.get('etag') ?? '' } })).status;

  expect(await look()).toBe(304);
  await client.links.create(newLink);
  expect(await look()).toBe(200);
});
