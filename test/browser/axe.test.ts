// @module-tag chromium

/** What axe-core says of every page, in each colour scheme, narrow, wide and with large text. */

import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { openPage, sizing, test } from './browser.js';
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

test.for([
  { colorScheme: 'light' },
  { colorScheme: 'dark' },
  { colorScheme: 'light', forcedColors: 'active' },
] as const)('axe finds nothing on any page, narrow, wide and with large text, in %o', async (colours, { browser }) => {
  // Without motion, nothing is looked at between two colours.
  const page = await openPage(browser, { ...colours, reducedMotion: 'reduce' });
  const setSize = await sizing(page);

  const found = await visit(page, await everyPage(), async (_, name) => {
    const violations: string[] = [];
    for (const [width, size] of [
      [320, 16],
      [640, 32],
      [1280, 16],
    ] as const) {
      await setSize(width, size);
      await picture(page, `${name}-${width}-${'forcedColors' in colours ? 'forced' : colours.colorScheme}`);
      violations.push(...(await findViolations(page)).map((each) => `${width} px: ${each}`));
    }
    return violations;
  });

  expect(found).toEqual([]);
});
