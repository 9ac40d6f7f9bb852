// @module-tag chromium

/** When an open page asks for what is new. */

import { expect } from 'vitest';
import { runningLink } from '../sandbox/running.js';
import { live, openLivePage, openPage, test } from './browser.js';

test('a hidden page asks every ten seconds, and at once when it is seen again', async ({ browser }) => {
  const { sandbox } = await runningLink();
  const page = await openPage(browser);
  let requests = 0;
  page.on('response', (response) => {
    if (response.status() === 304) requests += 1;
  });
  await page.clock.install();
  await page.addInitScript(() => Object.defineProperty(document, 'hidden', { value: true, writable: true }));
  await page.goto(sandbox.origin);
  await page.getByText(live).waitFor();

  await page.clock.runFor(9_000);
  expect(requests).toBe(0);
  await page.clock.runFor(1_000);
  await expect.poll(() => requests).toBe(1);
  await page.evaluate(() => {
    Object.assign(document, { hidden: false });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await expect.poll(() => requests).toBe(2);
});

test('a page whose job is final asks for nothing more', async ({ browser }) => {
  const { sandbox, link } = await runningLink();
  const job = await sandbox.play(link.refId, 'never');
  const page = await openLivePage(browser, `${link.url}/jobs/${job.jobId}`);

  sandbox.service.sandbox.jobs.complete(job, 'approved');
  await page.getByText('Your identity was verified.').waitFor();

  await expect.poll(() => page.getByText(live).count()).toBe(0);
  await page.reload();
  expect(await page.locator('script').count()).toBe(0);
});
