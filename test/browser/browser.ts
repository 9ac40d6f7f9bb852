/**
 * A real Chromium for the tests of the sandbox's pages. Without one they are skipped, unless PAGES_NEED_CHROMIUM is set
 * as in `.ci/run`. CHROMIUM names one that lies elsewhere.
 */

import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { test as base, expect, onTestFinished } from 'vitest';

const places = ['/usr/bin/chromium', '/usr/bin/google-chrome'];
const executablePath = process.env.CHROMIUM || places.find((place) => existsSync(place));

if (executablePath === undefined) {
  const what = `no Chromium at ${places.join(' or ')}: install one, or name it in CHROMIUM`;
  if (process.env.PAGES_NEED_CHROMIUM) throw new Error(`The tests in a browser cannot run: ${what}`);
  console.warn(`Skipped, as there is ${what}`);
}

/** It opens nothing but the pages of the tests. */
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const withBrowser = base.extend<{ browser: Browser }>({
  browser: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of fixtures from here
    async ({}, use) => {
      const browser = await chromium.launch({ ...(executablePath && { executablePath }), args });
      await use(browser);
      await browser.close();
    },
    { scope: 'file' },
  ],
});

/** A test that is given a browser. */
export const test = executablePath === undefined ? withBrowser.skip : withBrowser;

/** Opens a page that no other test sees, and that closes with the test. An error of the page's own script fails it. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.on('pageerror', (error) => expect.soft(error, 'An error of the page’s script').toBeUndefined());
  return page;
}
