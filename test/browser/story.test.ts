// @module-tag chromium

/** From a link to a verified status, as people with a keyboard, with a screen reader or without script meet it. */

import type { HostedClient } from 'hosted-client';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import {
  completionUrl,
  linkAndReceiver,
  type ReceivedCallback,
  running,
  runningLink,
  submit,
} from '../sandbox/running.js';
import { openPage, test } from './browser.js';
import { idTypes } from './every-page.js';

/** Presses Tab until the focus is on what has this name; every stop on the way has to show the focus. */
async function tabTo(
  page: Page,
  role: 'link' | 'button' | 'radio' | 'checkbox' | 'searchbox' | 'combobox',
  name: string,
): Promise<void> {
  const wanted = page.getByRole(role, { name, exact: true });
  for (let stops = 0; stops < 60; stops += 1) {
    await page.keyboard.press('Tab');
    expect(await page.evaluate(readFocus)).toEqual({ isVisible: true, hasOutline: true });
    if (await wanted.evaluateAll((elements) => elements.some((element) => element === document.activeElement))) return;
  }
  throw new Error(`The keyboard does not reach the ${role} "${name}"`);
}

/** Runs in the browser. */
function readFocus() {
  const element = document.activeElement ?? document.body;
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const { outlineStyle, outlineWidth } = getComputedStyle(element);
  return {
    isVisible: left >= 0 && right <= innerWidth && top >= 0 && bottom <= innerHeight,
    hasOutline: outlineStyle === 'solid' && Number.parseFloat(outlineWidth) >= 2,
  };
}

/** Receives, verifies and confirms a callback, as a partner does. */
async function confirm(client: HostedClient, callback: ReceivedCallback | undefined) {
  return client.callbacks.confirm(await client.callbacks.receive(JSON.stringify(callback?.body)));
}

test.for([320, 1280])('the story is walked by keyboard alone, %i px wide', async (width, { browser }) => {
  const { sandbox, client, received } = await linkAndReceiver({ link: { idTypes } });
  const page = await openPage(browser, { viewport: { width, height: 800 } });
  await page.goto(`${sandbox.origin}/?show=links`);

  await tabTo(page, 'link', 'Link · Example Partner');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/console/links/*');
  await tabTo(page, 'link', 'Open the page of the end user');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname.startsWith('/links/'));
  await tabTo(page, 'radio', 'BVN Nigeria, ID number');
  await page.keyboard.press('ArrowDown');
  await tabTo(page, 'link', 'Read the privacy policy of Example Partner');
  await tabTo(page, 'checkbox', 'I agree that Example Partner verifies my identity.');
  await page.keyboard.press('Space');
  await tabTo(page, 'combobox', 'How the verification ends');
  for (let i = 0; i < 4; i += 1) await page.keyboard.press('ArrowDown');
  await tabTo(page, 'button', 'Start the verification');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/jobs/*');
  await sandbox.idle();

  expect(await page.getByRole('status').innerText()).toContain('Verified');
  expect(received.map(({ body }) => [body.ResultCode, body.IDType])).toEqual([
    ['1012', 'DRIVERS_LICENSE'],
    ['0810', undefined],
  ]);
  expect((await confirm(client, received[1])).status).toMatchObject({ state: 'succeeded' });

  await tabTo(page, 'link', 'See this link in the console');
  await page.keyboard.press('Enter');
  await page.getByRole('listitem').filter({ hasText: '1012 ID Number Validated, then 0810 Enroll User' }).waitFor();
});

test('the first stop of the keyboard skips to the content', async ({ browser }) => {
  const { sandbox } = await running();
  const page = await openPage(browser);
  await page.goto(sandbox.origin);

  await tabTo(page, 'link', 'Skip to the content');
  await page.keyboard.press('Enter');

  expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
  await tabTo(page, 'link', 'sh');
});

test('the story is walked without script, review included', async ({ browser }) => {
  const { sandbox, client, received, link } = await linkAndReceiver({ link: { idTypes }, reviewMs: 3_600_000 });
  const page = await openPage(browser, { javaScriptEnabled: false });

  await page.goto(link.url);
  await page.getByRole('checkbox').check();
  await page
    .getByLabel('How the verification ends')
    .selectOption({ label: 'Approved after a review (0814, then 0810)' });
  await page.getByRole('button', { name: 'Start the verification' }).click();
  const jobUrl = page.url();
  await expect.poll(() => received.length).toBe(1);
  await page.getByRole('link', { name: 'Look again' }).click();
  await expect.poll(() => page.getByRole('status').innerText()).toContain('Under review');
  await page.goto(`${sandbox.origin}/console/links/${link.refId}`);
  await page.getByRole('link', { name: 'Job · Example Partner' }).click();
  await page.getByRole('button', { name: 'Complete the job' }).click();
  await page.getByRole('button', { name: 'Complete the job' }).waitFor({ state: 'detached' });
  await page.goto(jobUrl);

  expect(await page.getByRole('status').innerText()).toContain('Verified');
  await expect.poll(() => received.length).toBe(2);
  expect((await confirm(client, received[1])).status).toMatchObject({ state: 'succeeded' });
});

test('a form without consent says what is missing, and leads there by keyboard', async ({ browser }) => {
  const { link } = await runningLink({ idTypes });
  const page = await openPage(browser, { javaScriptEnabled: false });
  await page.goto(link.url);
  await page.evaluate(() => document.querySelector('form')?.setAttribute('novalidate', ''));
  await page.getByRole('radio', { name: 'Drivers license' }).check();
  await page.getByRole('button', { name: 'Start the verification' }).click();
  await page.getByRole('alert').waitFor();
  // The alert is there before the stylesheet is loaded.
  await page.waitForLoadState();

  expect(await page.title()).toMatch(/^Please check/);
  expect(await page.getByRole('radio', { name: 'Drivers license' }).isChecked()).toBe(true);
  await tabTo(page, 'link', 'Tick the box to give your consent');
  await page.keyboard.press('Enter');
  const consent = page.getByRole('checkbox');
  expect(await consent.evaluate((box) => box === document.activeElement)).toBe(true);
  expect(await consent.getAttribute('aria-invalid')).toBe('true');
});

test('a screen reader is told of a result that comes later, and the title says it', async ({ browser }) => {
  const { sandbox, link } = await runningLink({}, { reviewMs: 3_600_000 });
  const job = await sandbox.play(link.refId, 'review_rejected');
  const page = await openPage(browser);
  await page.goto(`${sandbox.origin}/links/${link.refId}/jobs/${job.jobId}`);
  // Changes inside the very region that was there before are announced; a new region would not be.
  const region = await page.getByRole('status').elementHandle();
  expect(await region?.innerText()).toContain('Under review');

  await submit(completionUrl(sandbox, job), { outcome: 'rejected' });

  await expect.poll(() => region?.innerText()).toContain('Your identity could not be verified');
  expect(await region?.isVisible()).toBe(true);
  await expect.poll(() => page.title()).toBe('Not verified · Example Partner · Sandbox');
});
