// @module-tag chromium

/** Many open pages of one browser, which has six connections to a server. */

import type { JobRef } from 'hosted-client';
import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import { runningLink } from '../sandbox/running.js';
import { live, openPage, test } from './browser.js';

/** Opens the page of each job in a tab of its own. `streams` has the tabs that have opened a stream of events. */
async function openTabs(browser: Browser, urls: readonly string[]) {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const streams: Page[] = [];
  context.on('request', (request) => {
    if (new URL(request.url()).pathname === '/events') streams.push(request.frame().page());
  });
  const tabs: Page[] = [];
  for (const url of urls) {
    const tab = await context.newPage();
    await tab.goto(url);
    tabs.push(tab);
  }
  return { tabs, streams };
}

/** A sandbox with ten jobs that have no result, and the URLs of their pages. */
async function tenJobs() {
  const { sandbox, link } = await runningLink();
  const jobs: JobRef[] = [];
  for (let count = 0; count < 10; count += 1) jobs.push(await sandbox.play(link.refId, 'never'));
  return { sandbox, link, jobs, urls: jobs.map(({ jobId }) => `${link.url}/jobs/${jobId}`) };
}

const showing = (tabs: readonly Page[], text: string) => Promise.all(tabs.map((tab) => tab.getByText(text).waitFor()));

test('ten tabs are live with one stream, and the button of each works', async ({ browser }) => {
  const { sandbox, link, jobs, urls } = await tenJobs();
  const { tabs, streams } = await openTabs(browser, urls);

  await showing(tabs, live);
  for (const job of jobs) sandbox.service.sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Under review' });
  await showing(tabs, 'A person reviews your data.');
  expect(streams).toHaveLength(1);

  for (const tab of tabs) {
    await tab.goto(link.url);
    await tab.getByRole('checkbox').check();
    await tab.getByRole('radio', { name: 'No result' }).check();
    await tab.getByRole('button', { name: 'Start the verification' }).click();
    await tab.getByText(live).waitFor();
  }
  expect(sandbox.service.sandbox.links.all()).toMatchObject([{ total_jobs: 20 }]);
});

test('after the tab with the stream is closed, another has it, and all stay live', async ({ browser }) => {
  const { sandbox, jobs, urls } = await tenJobs();
  const { tabs, streams } = await openTabs(browser, urls);
  await showing(tabs, live);

  const [holder] = streams;
  await holder?.close();
  await expect.poll(() => streams.length).toBe(2);
  for (const job of jobs) sandbox.service.sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Under review' });

  const others = tabs.filter((tab) => tab !== holder);
  expect(others).toHaveLength(9);
  await showing(others, 'A person reviews your data.');
});

test('a page whose job is final holds nothing', async ({ browser }) => {
  const { sandbox, jobs, urls } = await tenJobs();
  const { tabs } = await openTabs(browser, urls.slice(0, 2));
  await showing(tabs, live);

  for (const job of jobs) sandbox.service.sandbox.jobs.complete(job, 'approved');
  await showing(tabs, 'Your identity was verified.');

  const count = async () => {
    const { held = [], pending = [] } = (await tabs[0]?.evaluate(() => navigator.locks.query())) ?? {};
    return held.length + pending.length;
  };
  await expect.poll(count).toBe(0);
  expect(await tabs[0]?.getByText(live).count()).toBe(0);
  await tabs[0]?.reload();
  expect(await tabs[0]?.locator('script').count()).toBe(0);
});

test('a browser without locks says that the page must be reloaded', async ({ browser }) => {
  const { sandbox, urls } = await tenJobs();
  const page = await openPage(browser);
  await page.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, 'locks'));

  for (const url of [urls[0] ?? '', sandbox.origin]) {
    await page.goto(url);
    await page.getByText('Reload this page to see what is new').waitFor();
  }
});
