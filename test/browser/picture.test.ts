// @module-tag chromium

/** The pictures of the sandbox's pages in README and docs, and their text alternatives: `npm run pictures` writes both. */

import { readFileSync, statSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { playAndReceive, runningLink } from '../sandbox/running.js';
import { live, openPage, test } from './browser.js';
import { takeSmallPicture } from './small-png.js';

const isWriting = process.env.WRITE_PICTURES === '1';

const idTypes = [
  { country: 'NG', idType: 'PASSPORT', verificationMethod: 'doc_verification' },
  { country: 'NG', idType: 'BVN', verificationMethod: 'enhanced_kyc' },
] as const;

const look: BrowserContextOptions = {
  locale: 'en-GB',
  // For the font of the picture, and its data: the page's own policy allows neither.
  bypassCSP: true,
};

interface Picture {
  /** The document that shows it. */
  readonly document: string;
  readonly alt: string;
  /** What the alternative text says, as the page says it. */
  readonly shows: readonly string[];
}

/** Takes the picture if it is to be written. Compares the text alternative with the document and with the page. */
async function expectPicture(page: Page, name: string, { document, alt, shows }: Picture): Promise<void> {
  const picture = `docs/pictures/${name}.png`;
  await page.addStyleTag({ content: '* { font-family: "DejaVu Sans" !important }' });
  if (isWriting) writeFileSync(picture, await takeSmallPicture(page));

  const text = (await page.locator('body').innerText()).replaceAll(/[\u2068\u2069]/g, '');
  for (const each of shows) expect(text).toContain(each);
  expect(alt.split(' ').length).toBeLessThanOrEqual(25);
  expect(readFileSync(document, 'utf8')).toContain(`alt="${alt}"`);
  expect(statSync(picture).size).toBeLessThanOrEqual(60_000);
}

test('the picture of the end user’s page has what its alternative text says', async ({ browser }) => {
  const { link } = await runningLink({ callbackUrl: 'http://127.0.0.1:3000/callbacks', idTypes }, { seed: 1 });
  const page = await openPage(browser, { ...look, colorScheme: 'light', viewport: { width: 640, height: 800 } });
  await page.clock.setFixedTime(new Date('2026-11-23T12:00:00Z'));
  await page.goto(link.url);

  await expectPicture(page, 'end-user-page', {
    document: 'docs/sandbox.md',
    alt: 'The page of a link: the end user chooses an ID and gives consent; a dashed box chooses how the verification ends.',
    shows: ['Choose your ID', 'Give your consent', 'How the verification ends'],
  });
});

test.for(['light', 'dark'] as const)(
  'the picture of the console, %s, shows one failure among good rows',
  async (colorScheme, { browser }) => {
    const { sandbox, client, job } = await playAndReceive({ link: { idTypes, name: 'Onboarding' }, seed: 1 });
    await client.jobs.status(job);
    const production = client.withOptions({ ...sandbox.service.production.clientOptions, baseUrls: sandbox.baseUrls });
    await production.jobs.status(job).catch(() => undefined);
    await client.links.list();
    const page = await openPage(browser, { ...look, colorScheme, viewport: { width: 1100, height: 420 } });
    await page.goto(sandbox.origin);
    await page.getByText(live).waitFor();

    await expectPicture(page, colorScheme === 'light' ? 'console' : 'console-dark', {
      document: 'README.md',
      alt: 'The console lists requests, callbacks and jobs. One request failed: the job is in sandbox, and the request went to production.',
      shows: [
        'the job is in sandbox, and the request went to production',
        'links.create',
        'Callback 1',
        'Job · Onboarding',
      ],
    });
  },
);
