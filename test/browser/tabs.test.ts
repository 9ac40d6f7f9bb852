// @module-tag chromium

/** Many open pages of one browser. */

import type { JobRef } from 'hosted-client';
import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { runningLink } from '../sandbox/running.js';
import { live, openPage, test } from './browser.js';

/** A sandbox with ten jobs that have no result, each with its page in a tab of its own. */
async function openTabs(browser: Browser) {
  const { sandbox, link } = await runningLink();
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const jobs: JobRef[] = [];
  const tabs: Page[] = [];
  for (let count = 0; count < 10; count += 1) {
    const job = await sandbox.play(link.refId, 'never');
    const tab = await context.newPage();
    await tab.goto(`${link.url}/jobs/${job.jobId}`);
    jobs.push(job);
    tabs.push(tab);
  }
  await showing(tabs, live);
  return { sandbox, link, jobs, tabs };
}

const showing = (tabs: readonly Page[], text: string | RegExp) =>
  Promise.all(tabs.map((tab) => tab.getByText(text).waitFor()));

test('ten tabs are live, and the button of each works', async ({ browser }) => {
  const { sandbox, link, jobs, tabs } = await openTabs(browser);

  for (const job of jobs) sandbox.service.sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Under review' });
  await showing(tabs, 'A person reviews your data.');

  for (const tab of tabs) {
    await tab.goto(link.url);
    await tab.getByRole('checkbox').check();
    await tab.getByLabel('How the verification ends').selectOption('never');
    await tab.getByRole('button', { name: 'Start the verification' }).click();
    await tab.getByText(live).waitFor();
  }
  expect(sandbox.service.sandbox.links.all()).toMatchObject([{ total_jobs: 20 }]);
});

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
  const { sandbox, jobs, tabs } = await openTabs(browser);

  for (const job of jobs) sandbox.service.sandbox.jobs.complete(job, 'approved');
  await showing(tabs, 'Your identity was verified.');

  await expect.poll(() => tabs[0]?.getByText(live).count()).toBe(0);
  await tabs[0]?.reload();
  expect(await tabs[0]?.locator('script').count()).toBe(0);
});
