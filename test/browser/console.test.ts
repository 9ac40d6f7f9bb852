// @module-tag chromium

/** The console while things happen: what the reader does stays as it is. */

import { expect } from 'vitest';
import { linkAndReceiver, running, runningLink } from '../sandbox/running.js';
import { live, openLivePage, openPage, test } from './browser.js';

test('what happens appears without losing focus, selection, choice or scroll', async ({ browser }) => {
  const { sandbox, refId } = await linkAndReceiver();
  for (let i = 0; i < 20; i += 1) await sandbox.play(refId, 'approved');
  await sandbox.idle();
  const page = await openLivePage(browser, `${sandbox.origin}/console/links/${refId}`);
  const choice = page.getByRole('combobox', { name: 'Outcome' });
  await choice.selectOption('rejected');
  const job = page.locator('[data-live=stream] bdi').last();
  const selected = await job.evaluate((code) => {
    getSelection()?.selectAllChildren(code);
    return code.textContent;
  });
  const row = page.getByRole('link', { name: 'Callback 1 ·' });
  await row.evaluate((element) => element.focus());
  await row.scrollIntoViewIfNeeded();
  const place = () => row.evaluate((element) => element.getBoundingClientRect().top);
  const before = await place();
  expect(await page.evaluate(() => scrollY)).toBeGreaterThan(800);

  await sandbox.play(refId, 'review_approved');
  await sandbox.idle();

  await page.getByRole('link', { name: 'Callback 22 ·' }).waitFor();
  expect(await row.evaluate((element) => element === document.activeElement)).toBe(true);
  expect(await page.evaluate(() => getSelection()?.toString())).toBe(selected);
  expect(await choice.inputValue()).toBe('rejected');
  // The browser scrolls by whole pixels, and rows have parts of pixels.
  expect(Math.abs((await place()) - before)).toBeLessThanOrEqual(1);
});

test('what is done on a page leads back to it, shows the row, and is confirmed', async ({ browser }) => {
  const { sandbox, client, received, refId } = await linkAndReceiver();
  const job = await sandbox.play(refId, 'never');
  for (let i = 0; i < 20; i += 1) await sandbox.play(refId, 'never');
  const page = await openPage(browser, { javaScriptEnabled: false });
  await page.goto(`${sandbox.origin}/console/links/${refId}`);
  const isInView = (id: string) =>
    page.locator(`#${id}`).evaluate((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    });

  await page.goto(`${sandbox.origin}/?job=${job.jobId}`);
  await page.getByRole('button', { name: 'Fail the job' }).click();
  await page.waitForURL(/done=completed#job-/);
  expect(await isInView(new URL(page.url()).hash.slice(1))).toBe(true);
  expect(await page.getByRole('status').last().innerText()).toBe('The job was completed.');

  await sandbox.idle();
  await page.goto(`${sandbox.origin}/console/callbacks/1`);
  await page.getByRole('combobox', { name: 'Variant' }).selectOption('forged');
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.waitForURL(/callbacks\/2\?done=resent$/);
  expect(received).toHaveLength(2);

  await page.goto(`${sandbox.origin}/console/links/${refId}`);
  await page.getByRole('button', { name: 'Disable' }).click();
  await page.waitForURL(/done=disabled$/);
  expect((await client.links.get(refId)).state).toBe('disabled');
});

test('the keys move between rows, open one, search and go back', async ({ browser }) => {
  const { sandbox, client } = await running();
  for (let i = 0; i < 3; i += 1) await client.links.list();
  const page = await openLivePage(browser, sandbox.origin);
  const focused = () => page.evaluate(() => document.activeElement?.closest('li')?.id);

  for (const key of ['j', 'j', 'j', 'j', 'k']) await page.keyboard.press(key);
  expect(await focused()).toBe('request-2');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/console/requests/2');
  await page.keyboard.press('Escape');
  await page.waitForURL(`${sandbox.origin}/`);
  await page.keyboard.press('/');
  await page.keyboard.type('jk');
  expect(await page.getByRole('searchbox').inputValue()).toBe('jk');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/?q=jk');
  expect(await page.getByText('Nothing to show.').isVisible()).toBe(true);
});

test('texts are copied, times go on, and a hidden page counts failures in its title', async ({ browser }) => {
  const { sandbox, client, refId } = await runningLink();
  const page = await openPage(browser, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.clock.install();
  await page.goto(`${sandbox.origin}/console/links/${refId}`);
  await page.getByText(live).waitFor();

  await page.getByRole('button', { name: 'Copy the reference' }).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(refId);
  await page.clock.fastForward('10:00');
  const time = page.locator('main time').first();
  expect(await time.innerText()).toBe('10 min ago');
  await time.hover();
  expect(await time.getAttribute('title')).toMatch(/2026|20\d\d/);

  await page.evaluate(() => Object.defineProperty(document, 'hidden', { value: true, configurable: true }));
  await client
    .withOptions({ apiKey: 'wrong-key' })
    .links.get(refId)
    .catch(() => null);
  await expect.poll(() => page.title()).toMatch(/^\(1\) /);
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { value: false });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  expect(await page.title()).not.toMatch(/^\(/);
});

test('a page says when the sandbox has stopped', async ({ browser }) => {
  const { sandbox } = await running();
  const page = await openLivePage(browser, sandbox.origin);

  await sandbox.stop();

  await page.getByRole('status').filter({ hasText: 'The sandbox does not respond' }).waitFor();
});

test('the first request takes the place of the first steps without a reload', async ({ browser }) => {
  const { sandbox, client } = await running();
  const page = await openLivePage(browser, sandbox.origin);
  await page.getByRole('heading', { name: '2. Make a first call' }).waitFor();
  expect(await page.getByText('npx hosted-client listen').isVisible()).toBe(true);

  await client.links.list();

  await page.getByRole('link', { name: 'links.list' }).waitFor();
  expect(await page.getByRole('heading', { name: '2. Make a first call' }).count()).toBe(0);
});

test('Escape leads back to the list with its filter and page', async ({ browser }) => {
  const { sandbox, client } = await running();
  for (let i = 0; i < 60; i += 1) await client.links.get('none').catch(() => null);
  const page = await openLivePage(browser, `${sandbox.origin}/?show=failed`);
  await page.getByRole('link', { name: 'Older', exact: true }).click();
  await page.waitForURL(/before=/);
  const list = page.url();

  await page.getByRole('link', { name: 'links.get' }).first().click();
  await page.waitForURL('**/console/requests/*');
  await page.getByRole('link', { name: 'Older failure' }).click();
  await page.waitForURL('**/console/requests/*');
  await page.keyboard.press('Escape');
  await page.waitForURL(list);

  await page.keyboard.press('Escape');
  expect(page.url()).toBe(list);
});

test('a row that newer ones push out keeps the focus', async ({ browser }) => {
  const { sandbox, client } = await running();
  for (let i = 0; i < 50; i += 1) await client.links.list();
  const page = await openLivePage(browser, sandbox.origin);
  const last = page.locator('#request-1 a');
  await last.focus();

  await client.links.list();
  await page.locator('#request-51').waitFor();

  expect(await last.evaluate((row) => row === document.activeElement)).toBe(true);
  await page.keyboard.press('Shift+Tab');
  await client.links.list();
  await page.locator('#request-52').waitFor();
  expect(await last.count()).toBe(0);
});

test('where there is no clipboard, the button says so', async ({ browser }) => {
  const { sandbox, refId } = await runningLink();
  const page = await openPage(browser);
  await page.addInitScript(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
  await page.goto(`${sandbox.origin}/console/links/${refId}`);
  const button = page.getByRole('button', { name: 'Copy the reference' });

  await button.click();

  await expect.poll(() => button.innerText()).toBe('No clipboard: select it');
});
