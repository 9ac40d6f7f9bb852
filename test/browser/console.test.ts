// @module-tag chromium

/** The console while things happen: what the reader does stays as it is. */

import { expect } from 'vitest';
import { newLink, receiving, running } from '../sandbox/running.js';
import { openPage, test } from './browser.js';

test('what happens appears without losing focus, selection, choice or scroll', async ({ browser }) => {
  const { sandbox, client } = await running();
  const { url } = await receiving();
  for (let i = 0; i < 20; i += 1) await client.links.create({ ...newLink, name: `Earlier ${i}`, callbackUrl: url });
  const [{ refId } = { refId: '' }] = (await client.links.list()).links;
  await sandbox.play(refId, 'approved');
  await sandbox.idle();
  const page = await openPage(browser);
  await page.goto(sandbox.origin);
  await page.getByText('This page updates automatically.').waitFor();
  const choice = page.getByRole('combobox', { name: 'Variant of callback 1' });
  await choice.selectOption('stale');
  const job = page.locator('#jobs code').first();
  const selected = await job.evaluate((code) => {
    getSelection()?.selectAllChildren(code);
    return code.textContent;
  });
  const button = page.getByRole('button', { name: 'Send again callback 1' });
  await button.evaluate((element) => element.focus());
  await button.scrollIntoViewIfNeeded();
  const place = () => button.evaluate((element) => element.getBoundingClientRect().top);
  const before = await place();
  expect(await page.evaluate(() => scrollY)).toBeGreaterThan(800);

  const later = await client.links.create({ ...newLink, name: 'Later', callbackUrl: url });
  await sandbox.play(later.refId, 'review_approved');
  await sandbox.idle();

  await page.getByRole('link', { name: 'Later', exact: true }).waitFor();
  await page.getByRole('combobox', { name: 'Variant of callback 3' }).waitFor();
  expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
  expect(await page.evaluate(() => getSelection()?.toString())).toBe(selected);
  expect(await choice.inputValue()).toBe('stale');
  // The browser scrolls by whole pixels, and rows have parts of pixels.
  expect(Math.abs((await place()) - before)).toBeLessThanOrEqual(1);
});

test('what is done in a row leads back to that row', async ({ browser }) => {
  const { sandbox, client } = await running();
  const { received, url } = await receiving();
  for (let i = 0; i < 10; i += 1) await client.links.create({ ...newLink, name: `Link ${i}`, callbackUrl: url });
  const [{ refId } = { refId: '' }] = (await client.links.list()).links;
  const job = await sandbox.play(refId, 'never');
  for (let i = 0; i < 5; i += 1) await sandbox.play(refId, 'approved');
  await sandbox.idle();
  const page = await openPage(browser, { javaScriptEnabled: false });
  await page.goto(sandbox.origin);
  const isInView = (id: string) =>
    page.locator(`#${id}`).evaluate((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    });

  await page.getByRole('button', { name: 'Disable the link Link 2' }).click();
  await page.waitForURL(/#link-/);
  expect(await isInView(new URL(page.url()).hash.slice(1))).toBe(true);

  await page.getByRole('button', { name: `Fail the job ${job.jobId}` }).click();
  await page.waitForURL(/#job-/);
  expect(await isInView(new URL(page.url()).hash.slice(1))).toBe(true);

  const variant = page.getByRole('combobox', { name: 'Variant of callback 2' });
  await variant.selectOption('forged');
  await page.getByRole('button', { name: 'Send again callback 2' }).click();
  // What was sent again has a row of its own: five were sent before, and one for the job that failed.
  await page.waitForURL(/#callback-7$/);
  expect(await isInView('callback-7')).toBe(true);
  await sandbox.idle();
  expect(received.length).toBe(7);
});

test('a page says when the sandbox has stopped', async ({ browser }) => {
  const { sandbox } = await running();
  const page = await openPage(browser);
  await page.goto(sandbox.origin);
  await page.getByText('This page updates automatically.').waitFor();

  await sandbox.stop();

  await page.getByRole('status').filter({ hasText: 'The sandbox does not respond.' }).waitFor();
});
