// @module-tag chromium

/** The pictures of the sandbox's pages in README and docs, and their text alternatives: `npm run pictures` writes both. */

import { readFileSync, statSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { HostedClient } from 'hosted-client';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { expect } from 'vitest';
import { playAndReceive, runningLink } from '../sandbox/running.js';
import { openPage, test } from './browser.js';
import { takeSmallPicture } from './small-png.js';

const isWriting = process.env.WRITE_PICTURES === '1';

const idTypes = [
  { country: 'NG', idType: 'PASSPORT', verificationMethod: 'doc_verification' },
  { country: 'NG', idType: 'BVN', verificationMethod: 'enhanced_kyc' },
] as const;

const look: BrowserContextOptions = {
  colorScheme: 'light',
  locale: 'en-GB',
  // For the font of the picture, and its data: the page's own policy allows neither.
  bypassCSP: true,
};

/** Compares the text alternative of a picture with the texts of its page. */
async function expectWords(page: Page, document: string, name: string, what: string): Promise<void> {
  const picture = `docs/pictures/${name}.png`;
  const image = new RegExp(`(<img src="[^"]*/${name}\\.png"[^>]* alt=")([^"]*)(">)`);
  await page.addStyleTag({ content: '* { font-family: "DejaVu Sans" !important }' });

  const texts = await page.locator('body > :not(.skip, script)').allInnerTexts();
  const lines = texts.flatMap((text) => text.split('\n'));
  const shown = lines.flatMap((line) => line.trim() || []).map((line) => (line.endsWith('.') ? line : `${line}.`));
  // Times and durations differ from run to run.
  const words = `${what} ${shown.join(' ').replaceAll(/\d+ (?=s ago|ms)/g, '2 ')}`;
  if (isWriting) {
    writeFileSync(picture, await takeSmallPicture(page));
    const text = readFileSync(document, 'utf8');
    writeFileSync(
      document,
      text.replace(image, (_, before, __, after) => `${before}${words}${after}`),
    );
  }

  expect(words).not.toMatch(/["<>&]/);
  expect(image.exec(readFileSync(document, 'utf8'))?.[2]).toBe(words);
  expect(statSync(picture).size).toBeLessThanOrEqual(60_000);
}

test('the picture of the end user’s page has what the page shows, in words', async ({ browser }) => {
  const { link } = await runningLink({ callbackUrl: 'http://127.0.0.1:3000/callbacks', idTypes }, { seed: 1 });
  const page = await openPage(browser, { ...look, viewport: { width: 640, height: 800 } });
  await page.clock.setFixedTime(new Date('2026-11-23T12:00:00Z'));
  await page.goto(link.url);

  await expectWords(page, 'docs/sandbox.md', 'end-user-page', 'The page of a link.');
});

test('the picture of the console names the mistakes that it shows', async ({ browser }) => {
  const { sandbox, client, link } = await playAndReceive({ statuses: [500, 500, 500], link: { idTypes }, seed: 1 });
  const { apiKey } = sandbox.service.production.clientOptions;
  const mistaken = new HostedClient({
    ...sandbox.service.sandbox.clientOptions,
    baseUrls: sandbox.baseUrls,
    apiKey,
    maxRetries: 0,
  });
  await mistaken.links.get(link.refId).catch(() => undefined);
  await client.jobs.status({ userId: 'user-1', jobId: 'job-of-production' }).catch(() => undefined);
  const page = await openPage(browser, { ...look, viewport: { width: 1280, height: 600 } });
  await page.goto(sandbox.origin);

  await expectWords(page, 'README.md', 'console', 'The console.');
});
