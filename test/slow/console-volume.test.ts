/** The size of the console's pages when the sandbox is full. */

import { expect, test } from 'vitest';
import { newLink, read, responding, running } from '../sandbox/running.js';

test('a list has at most 50 KB, and a page of its own at most 300 KB, with 1,000 requests, 500 callbacks and 2,000 jobs of one link', async () => {
  const { sandbox, client } = await running({ keepRequests: 1_000, callbackRetriesMs: Array(50).fill(0) });
  const url = await responding(500, () => '"'.repeat(2_048));
  const first = await client.links.create({ ...newLink, callbackUrl: url });
  await sandbox.play(first.refId, 'approved');
  await sandbox.idle();
  const { refId } = await client.links.create({ ...newLink, callbackUrl: 'http://user:word@127.0.0.1:9/' });
  for (let i = 0; i < 499; i += 1) await sandbox.play(refId, 'approved');
  const job = await sandbox.play(refId, 'never');
  const jobs = Array.from({ length: 1_499 }, () => sandbox.service.sandbox.jobs.start({ linkRefId: refId }));
  await sandbox.idle();
  const large = JSON.stringify({ partner_id: '085', name: '"<&'.repeat(100_000), list: Array(20_000).fill('"') });
  await fetch(`${sandbox.baseUrls.sandbox}/v1/hosted_links`, { method: 'POST', body: large });
  await Promise.all(Array.from({ length: 997 }, (_, index) => client.jobs.status(jobs.at(-1 - (index % 50)) ?? job)));

  const pages = [
    '/',
    '/?show=failed',
    `/?job=${job.jobId}`,
    `/console/links/${refId}`,
    '/?show=links',
    '/?show=jobs',
    '/console/requests/3',
    '/console/callbacks/1',
    '/console/callbacks/500',
  ];
  const sizes = await Promise.all(
    pages.map(async (page) => [page, (await read(sandbox.origin + page)).length] as const),
  );

  expect(sandbox.requests.length).toBe(1_000);
  expect(sandbox.callbacks.length).toBe(500);
  expect(sizes.filter(([, size]) => size < 3_000)).toEqual([]);
  expect(sizes.filter(([page, size]) => size > (page.startsWith('/console/') ? 300_000 : 50_000))).toEqual([]);
});
