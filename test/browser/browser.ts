/** A real Chromium for the tests of the sandbox's pages. */

import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { test as base, expect, onTestFinished } from 'vitest';
import { listening } from '../sandbox/running.js';
import { chromium as executablePath } from '../support/needed.js';

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

/** A test that is given a browser. Its file has the tag "chromium". */
export const test = base.extend<{ browser: Browser }>({
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

/** Opens a page that no other test sees, and that closes with the test. An error of the page's own script fails it. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.on('pageerror', (error) => expect.soft(error, 'An error of the page’s script').toBeUndefined());
  return page;
}

/** What a page says that shows changes as they happen. */
export const live = /^(?:Live|This page updates automatically\.)$/;

/** Opens a page that shows changes as they happen. */
export async function openLivePage(browser: Browser, url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await openPage(browser, options);
  await page.goto(url);
  await page.getByText(live).waitFor();
  return page;
}

/** Creates the function that sets the width of a page, and the size of its text, which is 16 px by default. */
export async function sizing(page: Page) {
  const session = await page.context().newCDPSession(page);
  return async (width: number, size: number) => {
    await page.setViewportSize({ width, height: 800 });
    await session.send('Page.setFontSizes', { fontSizes: { standard: size, fixed: size } });
    await expect.poll(() => page.evaluate(() => getComputedStyle(document.body).fontSize)).toBe(`${size}px`);
  };
}

/** A server that is not a sandbox, and always responds with this body. */
export async function foreignSite(type: string, body: string) {
  const url = await listening((_, response) => void response.writeHead(200, { 'content-type': type }).end(body));
  const { port } = new URL(url);
  return { origin: `http://localhost:${port}`, url: `http://127.0.0.1:${port}/` };
}
