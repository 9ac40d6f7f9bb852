// @module-tag chromium

/** The picture of the end user's page in docs/sandbox.md, and its text alternative: `npm run pictures` writes both. */

import { readFileSync, statSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { expect } from 'vitest';
import { newLink, running } from '../sandbox/running.js';
import { openPage, test } from './browser.js';
import { takeSmallPicture } from './small-png.js';

const document = 'docs/sandbox.md';
const picture = 'docs/pictures/end-user-page.png';
const image = /(<img src="pictures\/end-user-page\.png"[^>]* alt=")([^"]*)(">)/;
const isWriting = process.env.WRITE_PICTURES === '1';

const idTypes = [
  { country: 'NG', idType: 'PASSPORT', verificationMethod: 'doc_verification' },
  { country: 'NG', idType: 'BVN', verificationMethod: 'enhanced_kyc' },
] as const;

test('the picture of the end user’s page has what the page shows, in words', async ({ browser }) => {
  const { client } = await running({ seed: 1 });
  const link = await client.links.create({ ...newLink, callbackUrl: 'http://127.0.0.1:3000/callbacks', idTypes });
  const page = await openPage(browser, {
    viewport: { width: 640, height: 800 },
    colorScheme: 'light',
    locale: 'en-GB',
    // For the font of the picture, and its data: the page's own policy allows neither.
    bypassCSP: true,
  });
  await page.clock.setFixedTime(new Date('2026-11-23T12:00:00Z'));
  await page.goto(link.url);
  await page.addStyleTag({ content: '* { font-family: "DejaVu Sans" !important }' });

  const texts = await page.locator('body > :not(.skip, script)').allInnerTexts();
  const lines = texts.flatMap((text) => text.split('\n'));
  const shown = lines.flatMap((line) => line.trim() || []).map((line) => (line.endsWith('.') ? line : `${line}.`));
  const words = `The page of a link. ${shown.join(' ')}`;
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
});
