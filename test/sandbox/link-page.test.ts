/** The page of a link, as a browser without script and a script without browser meet it. */

import { expect, test } from 'vitest';
import { newLink, receiving, running, runningLink, seedLink, submit } from './running.js';

const idTypes = [
  { country: 'NG', idType: 'BVN', verificationMethod: 'enhanced_kyc' },
  { country: 'GH', idType: 'DRIVERS_LICENSE', verificationMethod: 'doc_verification' },
] as const;

const complete = { outcome: 'approved', consent: 'yes' };

async function read(url: string) {
  const response = await fetch(url);
  return { status: response.status, html: await response.text() };
}

test('a link’s page shows company, ID types, consent and outcomes, and says that it is a simulation', async () => {
  const { link } = await runningLink({ idTypes });

  const { status, html } = await read(link.url);

  expect(status).toBe(200);
  for (const text of ['Example Partner', 'BVN', 'Nigeria', 'Drivers license', 'Ghana', 'Simulation.']) {
    expect(html).toContain(text);
  }
  expect(html).toContain('<a href="https://partner.example/privacy" rel="noreferrer">');
  expect(html).toContain('value="GH:DRIVERS_LICENSE"');
  expect(html).toContain('value="review_rejected"');
});

test('posting the form plays the outcome, posts the result, and leads to the job', async () => {
  const { sandbox, client } = await running();
  const { received, url } = await receiving();
  const link = await client.links.create({ ...newLink, idTypes, callbackUrl: url });

  const response = await submit(link.url, { ...complete, outcome: 'id_verified', id: 'GH:DRIVERS_LICENSE' });
  await sandbox.idle();

  expect(response.status).toBe(303);
  const page = await read(new URL(response.headers.get('location') ?? '', link.url).href);
  expect(page.html).toContain('Verified');
  expect(page.html).toMatch(/role="status"/);
  expect(received[0]?.body).toMatchObject({ ResultCode: '1012', Country: 'GH', IDType: 'DRIVERS_LICENSE' });
});

test('a job is pending for a moment after the form of a page, and at once complete after play()', async () => {
  const { sandbox, client, link, refId } = await runningLink({}, { reviewMs: 60_000 });

  const response = await submit(link.url, complete);
  const played = await sandbox.play(refId, 'approved');

  const { html } = await read(new URL(response.headers.get('location') ?? '', link.url).href);
  expect(html).toContain('There is no result yet.');
  expect((await client.jobs.status(played)).state).toBe('succeeded');
});

test('a link of production has a page, and its job is one of production', async () => {
  const { sandbox } = await running();
  sandbox.service.production.links.seed(1);
  const [link] = sandbox.service.production.links.all() as readonly { link_url: string }[];

  const response = await submit(link?.link_url ?? '', complete);

  await sandbox.idle();
  expect(response.status).toBe(303);
  expect(sandbox.service.production.links.all()).toMatchObject([{ successful_jobs: 1 }]);
});

test.each([
  ['consent', { outcome: 'approved' }, 'Tick the box to give your consent'],
  ['consent', { outcome: 'approved', consent: 'no' }, 'Tick the box to give your consent'],
  ['consent', { outcome: 'approved', consent: '' }, 'Tick the box to give your consent'],
  ['outcome', { consent: 'yes' }, 'Choose one of the outcomes'],
  ['outcome', { consent: 'yes', outcome: 'approve' }, 'Choose one of the outcomes'],
  ['id', { ...complete, id: 'NG:PASSPORT' }, 'Choose one of the IDs that the link accepts: NG:BVN, GH:DRIVERS_LICENSE'],
])('a form with a wrong %s gets 400 and says what would be right', async (field, fields, message) => {
  const { sandbox, link } = await runningLink({ idTypes });

  const response = await submit(link.url, fields as Record<string, string>);
  const html = await response.text();

  expect(response.status).toBe(400);
  expect(html).toContain(`<a href="#${field}">${message}</a>`);
  expect(sandbox.service.sandbox.links.all()).toMatchObject([{ total_jobs: 0 }]);
});

test.each([
  ['disabled', 'This link was disabled', 'links.create()'],
  ['expired', 'This link has expired', 'expiresAt'],
  ['used', 'This link was used', 'isSingleUse'],
])('the page of a link that is %s is 410 and says what to do next, as does its form', async (state, title, advice) => {
  const { sandbox, client } = await running();
  const expiresAt = new Date(Date.now() + (state === 'expired' ? -1 : 60_000));
  const link = await client.links.create({ ...newLink, isSingleUse: state === 'used', expiresAt });
  if (state === 'disabled') await client.links.disable(link.refId);
  if (state === 'used') await sandbox.play(link.refId, 'never');

  const page = await read(link.url);
  const posted = await submit(link.url, complete);

  expect([page.status, posted.status]).toEqual([410, 410]);
  for (const html of [page.html, await posted.text()]) {
    expect(html).toContain(title);
    expect(html).toContain(advice);
    expect(html).toContain('Simulation.');
  }
  await expect(sandbox.play(link.refId, 'approved')).rejects.toMatchObject({
    code: 'validation',
    issues: [{ path: 'refId' }],
  });
});

test('an unknown link is 404 and says what to do next', async () => {
  const { sandbox } = await running();

  for (const path of ['/links/none', '/links/none/jobs/none', '/elsewhere', '/links/%E0%A4%A']) {
    const { status, html } = await read(sandbox.origin + path);
    expect([path, status]).toEqual([path, 404]);
    expect(html).toContain('Check the address of the link');
    expect(html).toContain('Simulation.');
  }
});

test('a privacy policy that is not http(s) is no link', async () => {
  const { sandbox } = await running();
  const link = seedLink(sandbox, { dataPrivacyPolicyUrl: 'javascript:alert(1)' });

  const { html } = await read(link.link_url);

  expect(html).not.toContain('javascript:');
  expect(html).toContain('There is no link to the privacy policy');
});

const imagesOf = (headers: Headers) => /img-src ([^;]*);/.exec(headers.get('content-security-policy') ?? '')?.[1];

test('the page of a link shows its logo, and may load images from its origin alone', async () => {
  const { sandbox, client } = await running();
  const logoUrl = 'https://Logos.partner.example:8443/a.png?size=1&x="';
  const link = await client.links.create({ ...newLink, logoUrl });
  const closed = await client.links.create({ ...newLink, logoUrl });
  const other = await client.links.create(newLink);
  const job = await sandbox.play(link.refId, 'approved');

  const shown = [await fetch(link.url), await submit(link.url, {})];

  for (const response of shown) {
    expect(imagesOf(response.headers)).toBe("'self' https://logos.partner.example:8443");
    expect(await response.text()).toContain(
      '<img class="logo" src="https://Logos.partner.example:8443/a.png?size=1&amp;x=&quot;" alt="Logo of Example Partner" referrerpolicy="no-referrer"/>',
    );
  }
  await client.links.disable(closed.refId);
  for (const path of [
    '/',
    `/links/${closed.refId}`,
    `/links/${other.refId}`,
    `/links/${link.refId}/jobs/${job.jobId}`,
    `/console/links/${link.refId}`,
    '/nowhere',
  ]) {
    const { headers } = await fetch(sandbox.origin + path);
    expect([path, imagesOf(headers)?.trim()]).toEqual([path, "'self'"]);
  }
});

test.each([
  'https://*.example/logo.png',
  'https://*/logo.png',
  "https://a;script-src'unsafe-inline'/logo.png",
  'https://a,b/logo.png',
  'http://[::1]/logo.png',
  'javascript:alert(1)',
  'data:image/svg+xml,<svg/>',
])('a logo at %s is text', async (logoUrl) => {
  const { sandbox } = await running();
  const link = seedLink(sandbox, { logoUrl });

  const response = await fetch(link.link_url);
  const html = await response.text();

  expect(link.logo_url).toBe(logoUrl);
  expect(imagesOf(response.headers)?.trim()).toBe("'self'");
  expect(html).not.toContain('<img');
  expect(html).toContain('Logo: ');
});

test('a script that accepts JSON is answered in JSON, and is led to the control', async () => {
  const { sandbox, client, link } = await runningLink({ idTypes }, { reviewMs: 60_000 });
  const used = await client.links.create(newLink);
  await client.links.disable(used.refId);
  const headers = { accept: 'application/json, text/plain, */*' };
  const ask = async (url: string, init: RequestInit = {}) => {
    const response = await fetch(url, { headers, ...init });
    return [response.status, await response.json()];
  };
  const body = (fields: Record<string, string>) => ({ method: 'POST', body: new URLSearchParams(fields) });
  const play = `POST /control/play {"refId":"${link.refId}","environment":"sandbox","outcome":"approved"}`;

  expect(await ask(link.url)).toEqual([200, { refId: link.refId, environment: 'sandbox', play }]);
  expect(await ask(link.url, body({ outcome: 'approved' }))).toEqual([
    400,
    {
      error: 'The form has wrong values',
      issues: [{ path: 'consent', message: 'Tick the box to give your consent' }],
      play,
    },
  ]);
  const [status, job] = await ask(link.url, body(complete));
  expect([status, job]).toEqual([200, { userId: job.userId, jobId: job.jobId, state: 'Pending' }]);
  expect(await ask(used.url)).toMatchObject([410, { error: expect.stringContaining('links.create()') }]);
  expect(await ask(`${sandbox.origin}/links/none`)).toMatchObject([404, { error: expect.any(String) }]);
  expect((await fetch(`${sandbox.origin}/nowhere`, { headers })).headers.get('content-type')).toContain('text/html');

  const [, { play: advice }] = await ask(link.url);
  const [, path, input] = /^POST (\S+) (.+)$/.exec(advice) ?? [];
  const played = await fetch(`${sandbox.origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: input ?? '',
  });
  expect(await played.json()).toMatchObject({ jobId: expect.any(String) });
});

test.each([
  ['application/json', '{"consent":"yes","outcome":"approved"}'],
  ['multipart/form-data; boundary=a', '--a--'],
  ['text/plain', 'consent=yes&outcome=approved'],
])('a form of the type %s gets 415, and is told what to send', async (type, body) => {
  const {
    sandbox,
    link: { url },
  } = await runningLink();

  const response = await fetch(url, { method: 'POST', headers: { 'content-type': type, accept: 'text/html' }, body });

  expect(response.status).toBe(415);
  expect(response.headers.get('content-type')).toContain('text/html');
  expect(await response.text()).toMatch(/application\/x-www-form-urlencoded.*POST \/control\/play/);
  expect(sandbox.service.sandbox.links.all()).toMatchObject([{ total_jobs: 0 }]);
});

test('a name cannot turn the direction of the words around it, and the choice of outcome is marked', async () => {
  const { sandbox, client } = await running();
  const companyName = '\u202Eשלום Partner';
  const link = await client.links.create({ ...newLink, companyName });
  const job = await sandbox.play(link.refId, 'approved');

  const form = (await read(link.url)).html;
  const names = form.replace(/<title>.*?<\/title>/, '').split(companyName);

  expect(names).toHaveLength(4);
  for (const before of names.slice(0, -1)) expect(before).toMatch(/<bdi>$/);
  expect((await read(`${link.url}/jobs/${job.jobId}`)).html).toContain(`<bdi>${companyName}</bdi>`);
  for (const path of ['/?show=links', `/console/links/${link.refId}`]) {
    const console = (await read(sandbox.origin + path)).html.replace(/<title>.*?<\/title>/, '');
    const before = console.split(companyName).slice(0, -1);
    expect(before.length).toBeGreaterThan(0);
    for (const each of before) expect(each).toMatch(/(?:<bdi>|\u2068)$/);
  }
  await client.links.disable(link.refId);
  expect((await read(link.url)).html).toContain(`<bdi>${companyName}</bdi>`);
  expect(form).toContain('<legend>Only in the sandbox</legend>');
});

test('without a script, the page of a job leads to itself, whatever its id', async () => {
  const { sandbox, refId } = await runningLink();
  const { jobId } = sandbox.service.sandbox.jobs.start({ linkRefId: refId, jobId: 'a?b #1' });
  const url = `${sandbox.origin}/links/${refId}/jobs/${encodeURIComponent(jobId)}`;

  const html = await (await fetch(url)).text();

  const [, href = ''] = /<noscript><p><a href="([^"]*)"/.exec(html) ?? [];
  expect(new URL(href, url).href).toBe(url);
});
