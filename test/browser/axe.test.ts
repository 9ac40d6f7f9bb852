// @module-tag chromium

/** What axe-core says of every page, light and dark, narrow and wide. */

import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { openPage, test } from './browser.js';
import { everyPage, picture, visit } from './every-page.js';

/** The rules of WCAG 2.2, levels A and AA, and of good practice. */
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22a', 'wcag22aa', 'best-practice'];

/** What axe finds, and what it cannot decide. */
async function findViolations(page: Page): Promise<readonly string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe.source);
  const options = { runOnly: tags, resultTypes: ['violations', 'incomplete'] };
  const { violations, incomplete }: AxeResults = await page.evaluate(`axe.run(${JSON.stringify(options)})`);
  return [...violations, ...incomplete].flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`),
  );
}

test('axe finds nothing on any page, light and dark, narrow and wide', async ({ browser }) => {
  const ways = await everyPage();
  const visitIn = async (colorScheme: 'light' | 'dark') => {
    // Without motion, nothing is looked at between two colours.
    const page = await openPage(browser, { colorScheme, reducedMotion: 'reduce' });
    return visit(page, ways, async (_, name) => {
      const found: string[] = [];
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        await picture(page, `${name}-${width}-${colorScheme}`);
        found.push(...(await findViolations(page)).map((each) => `${width} px, ${colorScheme}: ${each}`));
      }
      return found;
    });
  };

  const found = await Promise.all([visitIn('light'), visitIn('dark')]);

  expect(found).toEqual([[], []]);
});
