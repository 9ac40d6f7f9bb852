// @module-tag chromium

/**
 * Room, targets, focus and motion on every page.
 */

import type { Browser } from 'playwright-core';
import { expect } from 'vitest';
import { running, runningLink } from '../sandbox/running.js';
import { openPage, sizing, test } from './browser.js';
import { everyPage, idTypes, picture, visit, type Way } from './every-page.js';

/** Runs in the browser: what reaches over the page's right or left side, or is cut off. */
function findOverflow(): readonly string[] {
  const width = document.documentElement.clientWidth;
  const found = [...document.querySelectorAll('body *:not(.skip, .unseen, option, input)')].filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    return (
      left < -0.5 || right > width + 0.5 || (element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1)
    );
  });
  if (document.documentElement.scrollWidth > width) found.push(document.documentElement);
  return found.map(({ tagName, className, textContent }) => `${tagName}.${className} ${textContent?.slice(0, 60)}`);
}

test('no page scrolls sideways at 320 px, nor with text twice as large', async ({ browser }) => {
  const page = await openPage(browser);
  const setSize = await sizing(page);
  const found = await visit(page, await everyPage(), async () => {
    const wide: string[] = [];
    for (const [width, size] of [
      [320, 16],
      [640, 32],
      [1280, 32],
    ] as const) {
      await setSize(width, size);
      wide.push(...(await page.evaluate(findOverflow)).map((each) => `${width} px, text of ${size} px: ${each}`));
    }
    return wide;
  });

  expect(found).toEqual([]);
});

/** Runs in the browser: words of at most 20 letters that are broken over two lines. */
function findBrokenWords(): readonly string[] {
  const broken: string[] = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode as Text;
    if (parentElement?.closest('code, pre, option, .skip')) continue;
    for (const { 0: word, index } of data.matchAll(/(?<=^|\s)\p{L}{2,20}(?=$|[\s.,:;?!])/gu)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (range.getClientRects().length > 1) broken.push(`${word}: ${data}`);
    }
  }
  return broken;
}

test('no word is broken at 390 px with text twice as large', async ({ browser }) => {
  const page = await openPage(browser);
  const setSize = await sizing(page);
  const found = await visit(page, await everyPage(), async (_, name) => {
    await setSize(390, 32);
    await picture(page, `${name}-390-large`);
    return page.evaluate(findBrokenWords);
  });

  expect(found).toEqual([]);
});

test('in forced colours, failures and chosen values can be told from the rest', async ({ browser }) => {
  const page = await openPage(browser, { forcedColors: 'active' });
  const ways = await everyPage();
  const styleOf = (selector: string, property: 'backgroundColor' | 'borderLeftColor' | 'textDecorationLine') =>
    page
      .locator(selector)
      .first()
      .evaluate((element, name) => getComputedStyle(element)[name], property);

  const borderOf = (selector: string) =>
    page
      .locator(selector)
      .first()
      .evaluate((element) => getComputedStyle(element).borderBottomWidth);

  await ways.get('console')?.(page);
  const ground = await styleOf('body', 'backgroundColor');
  expect(await styleOf('.failed > .status', 'textDecorationLine')).toBe('underline');
  expect(await styleOf('#stream li:not(.failed) > .status', 'textDecorationLine')).toBe('none');
  expect(await borderOf('nav a[aria-current=page]')).toBe('3px');
  expect(await borderOf('nav a[aria-current=false]')).toBe('0px');
  await ways.get('link')?.(page);
  expect(await styleOf('.choice:has(:checked)', 'borderLeftColor')).not.toBe(ground);
  expect(await styleOf('.choice:not(:has(:checked))', 'borderLeftColor')).toBe(ground);
});

/** Runs in the browser: what is smaller than 44 px, with the label that it is pressed by. */
function findSmallTargets(): readonly string[] {
  return (
    [...document.querySelectorAll('a, button, input:not([type=hidden]), select')]
      // On a narrow page, the ids of a row are only on the page behind it.
      .filter((element) => element.checkVisibility())
      .map((element) => element.closest('label.choice') ?? element)
      .filter((target) => {
        const { width, height } = target.getBoundingClientRect();
        return width < 43.99 || height < 43.99;
      })
      .map((target) => `${target.outerHTML.slice(0, 80)} ${JSON.stringify(target.getBoundingClientRect())}`)
  );
}

/** Runs in the browser: which stops of the keyboard show no focus of 2 px and more with a contrast of 3 (WCAG 1.4.11). */
function findHiddenFocus(): readonly string[] {
  const readColour = (colour: string) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (colour: string) => {
    const [r = 0, g = 0, b = 0] = readColour(colour)
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const isTransparent = (colour: string) => readColour(colour)[3] === 0;
  // The outline lies outside of the element, on what is behind it.
  const groundOf = (element: Element | null): string => {
    const ground = element === null ? 'rgb(255, 255, 255)' : getComputedStyle(element).backgroundColor;
    return isTransparent(ground) ? groundOf(element?.parentElement ?? null) : ground;
  };
  return (
    [...document.querySelectorAll<HTMLElement>('a, button, input:not([type=hidden]), select')]
      // What is in closed details can be reached after they are opened.
      .filter((element) => element.checkVisibility())
      .filter((element) => {
        element.focus();
        const { outlineStyle, outlineWidth, outlineOffset, outlineColor } = getComputedStyle(element);
        const [dark = 0, light = 0] = [outlineColor, groundOf(element.parentElement)]
          .map(luminance)
          .sort((a, b) => a - b);
        const isShown =
          outlineStyle === 'solid' &&
          Number.parseFloat(outlineWidth) >= 2 &&
          Number.parseFloat(outlineOffset) >= 1 &&
          (light + 0.05) / (dark + 0.05) >= 3;
        return document.activeElement !== element || !isShown;
      })
      .map((element) => element.outerHTML.slice(0, 100))
  );
}

test('every target is 44 px large, and every stop of the keyboard shows the focus', async ({ browser }) => {
  const page = await openPage(browser, { viewport: { width: 320, height: 800 } });
  const found = await visit(page, await everyPage(), async () => {
    const small = await page.evaluate(findSmallTargets);
    // From here on the focus is the keyboard's.
    await page.keyboard.press('Tab');
    return [...small, ...(await page.evaluate(findHiddenFocus))];
  });

  expect(found).toEqual([]);
});

/** Runs in the browser: what moves. */
function findMotion(): readonly string[] {
  return [...document.querySelectorAll('*')]
    .filter((element) => {
      const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(element);
      return transitionDuration !== '0s' || animationName !== 'none' || scrollBehavior !== 'auto';
    })
    .map(({ outerHTML }) => outerHTML.slice(0, 100));
}

async function countMoving(browser: Browser, reducedMotion: 'reduce' | 'no-preference', way: Way) {
  const page = await openPage(browser, { reducedMotion });
  await way(page);
  return (await page.evaluate(findMotion)).length;
}

test('nothing moves for who wants less motion', async ({ browser }) => {
  const way = (await everyPage()).get('link in the console') as Way;

  expect(await countMoving(browser, 'no-preference', way)).toBeGreaterThan(0);
  expect(await countMoving(browser, 'reduce', way)).toBe(0);
});

test('the list is the page: 16 rows at 1440 × 900, and the first row on a narrow page within 180 px', async ({
  browser,
}) => {
  const page = await openPage(browser, { viewport: { width: 1440, height: 900 } });
  const { sandbox, client } = await running();
  for (let i = 0; i < 30; i += 1) await client.links.list();
  await page.goto(sandbox.origin);
  const tops = () =>
    page.locator('#stream li').evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().top));

  const wide = await tops();
  expect(wide[0]).toBeLessThanOrEqual(100);
  expect(wide.filter((top) => top < 864).length).toBeGreaterThanOrEqual(16);
  await page.setViewportSize({ width: 390, height: 800 });
  expect((await tops())[0]).toBeLessThanOrEqual(180);
});

test('the page of the end user is at most 900 px high, and its fields have the names that a test would guess', async ({
  browser,
}) => {
  const page = await openPage(browser, { viewport: { width: 640, height: 400 } });
  const { sandbox, link } = await runningLink({ idTypes: idTypes.slice(0, 2) });
  await page.goto(link.url);

  expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThanOrEqual(900);
  await page.getByRole('radio', { name: 'Drivers license' }).check();
  await page.getByRole('checkbox', { name: 'I agree' }).check();
  await page.getByLabel('How the verification ends').selectOption('rejected');
  await page.getByRole('button', { name: 'Start the verification' }).click();
  await page.waitForURL('**/jobs/*');
  await page.getByText('Your identity could not be verified').waitFor();
  expect(sandbox.service.sandbox.links.all()).toMatchObject([{ failed_jobs: 1 }]);
});
