// @module-tag chromium

/** What a browser makes of hostile names, and of pages that are not the sandbox's own. */

import { expect } from 'vitest';
import { running, runningLink } from '../sandbox/running.js';
import { foreignSite, openPage, test } from './browser.js';
import { everyPage, markup } from './every-page.js';

test('names made of markup show as text, and nothing is fetched from elsewhere', async ({ browser }) => {
  const page = await openPage(browser);
  const urls: string[] = [];
  page.on('request', (request) => urls.push(request.url()));
  const dialogs: string[] = [];
  page.on('dialog', (dialog) => dialogs.push(dialog.message()));
  const broken: string[] = [];
  page.on('console', (message) => message.type() === 'error' && broken.push(message.text()));
  const pages = await everyPage({
    name: markup,
    idTypes: [{ country: 'NG', idType: markup, verificationMethod: 'enhanced_kyc' }],
  });

  for (const reach of pages.values()) await reach(page);

  await pages.get('links')?.(page);
  expect(await page.locator('main').innerText()).toContain(markup);
  await pages.get('link with a long name')?.(page);
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toContain(markup);
  expect(dialogs).toEqual([]);
  expect(urls.filter((url) => !/^http:\/\/127\.0\.0\.1:\d+\//.test(url))).toEqual([]);
  // Chromium reports every status of 400 and more here, and what the policy has stopped.
  expect(broken.filter((text) => !/status of (?:400|404|410)/.test(text))).toEqual([]);
});

test('the policy of the pages stops inline script, inline style and what is elsewhere', async ({ browser }) => {
  const { sandbox } = await running();
  const page = await openPage(browser);
  await page.goto(sandbox.origin);

  const stopped = await page.evaluate(async () => {
    const directives: string[] = [];
    document.addEventListener('securitypolicyviolation', (event) => directives.push(event.effectiveDirective));
    const holder = document.createElement('div');
    holder.innerHTML = '<img src="/missing.png" onerror="window.isBroken = true"><p style="color: red">a</p>';
    const script = document.createElement('script');
    script.textContent = 'window.isBroken = true';
    const image = document.createElement('img');
    image.src = 'http://elsewhere.example/pixel.png';
    const frame = document.createElement('iframe');
    frame.src = '/';
    document.body.append(holder, script, image, frame);
    await fetch('http://elsewhere.example/').catch(() => null);
    while (directives.length < 6) await new Promise((resolve) => setTimeout(resolve, 10));
    return { directives: directives.sort(), isBroken: 'isBroken' in window };
  });

  expect(stopped).toEqual({
    directives: ['connect-src', 'frame-src', 'img-src', 'script-src-attr', 'script-src-elem', 'style-src-attr'],
    isBroken: false,
  });
});

test('a foreign page does not learn that a sandbox runs', async ({ browser }) => {
  const { sandbox } = await running();
  const page = await openPage(browser);
  await page.goto((await foreignSite('text/html', '')).origin);

  const seen = await page.evaluate(async (origin) => {
    const load = (name: string, attribute: string, path: string) =>
      new Promise<string>((resolve) => {
        const element = Object.assign(document.createElement(name), { rel: 'stylesheet' });
        element.onload = () => resolve(`${path} loads`);
        element.onerror = () => resolve('error');
        element.setAttribute(attribute, origin + path);
        document.head.append(element);
      });
    const request = (path: string, method: string) =>
      fetch(origin + path, { mode: 'no-cors', method }).then(
        () => `${method} ${path} responds`,
        () => 'error',
      );
    return Promise.all([
      request('/health', 'GET'),
      request('/health', 'POST'),
      request('/sandbox/v1/job_status', 'GET'),
      request('/control/requests', 'GET'),
      load('script', 'src', '/assets/follow.js'),
      load('link', 'href', '/assets/style.css'),
      load('img', 'src', '/assets/icon.svg'),
    ]);
  }, sandbox.origin);

  expect(new Set(seen)).toEqual(new Set(['error']));
});

test('a foreign page neither shows the console in a frame nor writes to it', async ({ browser }) => {
  const { sandbox } = await runningLink();
  const foreign = await foreignSite(
    'text/html',
    `<iframe src="${sandbox.origin}"></iframe>
    <form method="post" action="${sandbox.origin}/control/reset"><button>Win a prize</button></form>`,
  );
  const page = await openPage(browser);

  await page.goto(foreign.origin);
  expect(await page.frameLocator('iframe').getByRole('heading', { name: 'Sandbox console' }).count()).toBe(0);
  const [response] = await Promise.all([
    page.waitForResponse(`${sandbox.origin}/control/reset`),
    page.getByRole('button', { name: 'Win a prize' }).click(),
  ]);

  expect(response.status()).toBe(403);
  expect(sandbox.service.sandbox.links.all()).toHaveLength(1);
});
