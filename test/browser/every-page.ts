/** A sandbox that has every page there is, and the way to each. */

import { join } from 'node:path';
import type { NewLink } from 'hosted-client';
import type { Page } from 'playwright-core';
import { newLink, receiving, running, submit } from '../sandbox/running.js';
import { foreignSite } from './browser.js';

/** Company names that a page must bear: long without a blank, and made of markup. */
export const longName = 'Überlandkraftwerksgesellschaftsverwaltungsversicherung'.repeat(2);
export const markup = '"><img src=x onerror=alert(1)><script>alert(1)</script>';

export const idTypes = [
  { country: 'NG', idType: 'BVN', verificationMethod: 'enhanced_kyc' },
  { country: 'GH', idType: 'DRIVERS_LICENSE', verificationMethod: 'doc_verification' },
  { country: 'KE', idType: `${'LONG_'.repeat(12)}NAME`, verificationMethod: 'enhanced_document_verification' },
] as const;

/** What the one link that stands out is called, and accepts. */
type Outstanding = Pick<NewLink, 'name' | 'idTypes'>;

/** How a page is reached: by its address, or by a form that is sent from one. */
export type Way = (page: Page) => Promise<unknown>;

/** Starts a sandbox that has been used; `ways` lead to every page of it and of one that has not. */
export async function everyPage({
  name = longName,
  idTypes: types = idTypes,
}: Outstanding = {}): Promise<ReadonlyMap<string, Way>> {
  const { sandbox, client } = await running({ reviewMs: 3_600_000, callbackRetriesMs: [3_600_000] });
  const unused = await running();
  const delivered = await receiving();
  const refusing = await receiving(503, 503, 503);

  const logo = await foreignSite('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="90"/>');
  const form = await client.links.create({ ...newLink, idTypes, logoUrl: `${logo.url}logo.svg` });
  const plainForm = await client.links.create(newLink);
  const named = await client.links.create({
    ...newLink,
    companyName: name,
    name,
    idTypes: types,
    callbackUrl: delivered.url,
  });
  const refused = await client.links.create({ ...newLink, name: longName, callbackUrl: refusing.url });
  const disabled = await client.links.create({ ...newLink, name: 'Disabled' });
  await client.links.disable(disabled.refId);
  const expired = await client.links.create({ ...newLink, name: 'Expired', expiresAt: new Date(Date.now() - 1) });
  const used = await client.links.create({ ...newLink, name: 'Used', isSingleUse: true });
  await sandbox.play(used.refId, 'never');
  await client
    .withOptions({ apiKey: 'another-test-key' })
    .links.list()
    .catch(() => null);
  const wrong = sandbox.requests.at(-1)?.id;
  await submit(form.url, {});
  sandbox.service.sandbox.failNext('links.update', { kind: 'html' });

  const verified = await sandbox.play(named.refId, 'id_verified');
  const failed = await sandbox.play(form.refId, 'rejected');
  const reviewed = await sandbox.play(refused.refId, 'review_approved');
  const pending = await sandbox.play(form.refId, 'never');
  await sandbox.play(refused.refId, 'approved');
  await client.jobs.status(verified);

  const goTo =
    (path: string): Way =>
    (page) =>
      page.goto(new URL(path, sandbox.origin).href);
  return new Map<string, Way>([
    ['link', goTo(form.url)],
    ['link without ID types', goTo(plainForm.url)],
    ['link with a long name', goTo(named.url)],
    [
      'link with problems',
      async (page) => {
        await page.goto(form.url);
        await page.evaluate(() => document.querySelector('form')?.setAttribute('novalidate', ''));
        await page.getByRole('button', { name: 'Start the verification' }).click();
        await page.getByRole('alert').waitFor();
      },
    ],
    ['job verified', goTo(`/links/${named.refId}/jobs/${verified.jobId}`)],
    ['job not verified', goTo(`/links/${form.refId}/jobs/${failed.jobId}`)],
    ['job under review', goTo(`/links/${refused.refId}/jobs/${reviewed.jobId}`)],
    ['job pending', goTo(`/links/${form.refId}/jobs/${pending.jobId}`)],
    ['disabled', goTo(disabled.url)],
    ['expired', goTo(expired.url)],
    ['used', goTo(used.url)],
    ['not found', goTo('/links/none')],
    [
      'problem',
      async (page) => {
        await page.goto(`${sandbox.origin}/console/faults`);
        await page.evaluate(() => {
          const value = document.createElement('option');
          value.textContent = 'none';
          document.querySelector('select[name=operation]')?.replaceChildren(value);
        });
        await page.getByRole('button', { name: 'Fail the next request' }).click();
        await page.getByRole('alert').waitFor();
      },
    ],
    ['console', goTo('/')],
    ['console of an unused sandbox', (page) => page.goto(unused.sandbox.origin)],
    ['console, filtered', goTo(`/?job=${pending.jobId}&show=jobs`)],
    ['links', goTo('/?show=links')],
    ['jobs', goTo('/?show=jobs')],
    ['faults', goTo('/console/faults')],
    ['connect', goTo('/console/connect?shell=fish')],
    ['request', goTo('/console/requests/1')],
    ['request that failed', goTo(`/console/requests/${wrong}`)],
    ['callback', goTo('/console/callbacks/1')],
    ['callback that failed', goTo('/console/callbacks/3')],
    ['link that is gone', goTo('/console/links/none')],
    ['link in the console', goTo(`/console/links/${named.refId}`)],
    ['link in the console with a refused callback', goTo(`/console/links/${refused.refId}`)],
    ['disabled link in the console', goTo(`/console/links/${disabled.refId}`)],
  ]);
}

/** What is checked on every page, and said of those that fail. */
export type Check = (page: Page, name: string) => Promise<readonly string[]>;

/** Reaches every page, and collects what is found there. */
export async function visit(page: Page, ways: ReadonlyMap<string, Way>, check: Check): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [name, reach] of ways) {
    await reach(page);
    // After a form is sent, an element may be visible before the stylesheet is loaded.
    await page.waitForLoadState();
    found.push(...(await check(page, name)).map((each) => `${name}: ${each}`));
  }
  return found;
}

/** Takes a picture of the whole page, where SCREENSHOTS names a folder for them. */
export async function picture(page: Page, name: string): Promise<void> {
  const { SCREENSHOTS: folder } = process.env;
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
