/**
 * What the pages of a full console cost: their size, the processor time of the server as a multiple of the empty
 * console's page, and the longest task of Chromium while a page is updated, if Chromium is installed.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process, { stdout } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { HostedClient } from 'hosted-client';
import { type SandboxOptions, startSandbox } from 'hosted-client/sandbox';
import { chromium as launcher } from 'playwright-core';
import { chromium as executablePath } from '../test/support/needed.ts';
import { median } from './statistics.ts';

const rounds = 60;
const warmUps = 20;
const newLink = { companyName: 'Example Partner', dataPrivacyPolicyUrl: 'https://partner.example/privacy' };

interface Started {
  readonly empty: string;
  readonly full: string;
  readonly pages: readonly string[];
}

if (process.send) await serve(process.send.bind(process));
else await measureAll();

/** Starts an empty and a full sandbox, and reports the processor time of this process when it is asked. */
async function serve(report: (message: unknown) => void): Promise<void> {
  const receiver = createServer((message, response) => {
    message.resume().on('end', () => response.writeHead(500).end('"'.repeat(2_048)));
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const callbackUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const options: SandboxOptions = { port: 0, callbackBytes: 0, callbackRetriesMs: Array(50).fill(0) };
  const empty = await startSandbox(options);
  const full = await startSandbox(options);
  const client = new HostedClient(full.clientOptions());

  const failing = await client.links.create({ ...newLink, callbackUrl });
  await full.play(failing.refId, 'approved');
  await full.idle();
  const { refId } = await client.links.create({ ...newLink, callbackUrl: 'http://user:word@127.0.0.1:9/' });
  for (let i = 0; i < 499; i++) await full.play(refId, 'approved');
  const job = await full.play(refId, 'never');
  const jobs = Array.from({ length: 1_499 }, () => full.service.sandbox.jobs.start({ linkRefId: refId }));
  await full.idle();
  const asked = [job, ...jobs.slice(-49)];
  for (let i = 0; i < 997; i++) await client.jobs.status(asked[i % 50] ?? job);
  // Its body has nearly 1 MB, and half of its characters are escaped in a page.
  await client.links.create({ ...newLink, callbackUrl, name: '"<&'.repeat(200_000) }).catch(() => null);

  const pages = ['/', '/?show=failed', '/?show=callbacks', `/?link=${refId}`, `/?job=${job.jobId}`, '/?q=none'];
  pages.push('/?show=links', '/?show=jobs');
  for (const name of ['faults', 'connect', `links/${refId}`]) pages.push(`/console/${name}`);
  for (const id of [500, 1_000]) pages.push(`/console/requests/${id}`);
  for (const id of [1, 500]) pages.push(`/console/callbacks/${id}`);
  process.on('message', async (message) => {
    if (message === 'change') {
      await full.play(refId, 'approved');
      await client.links.list();
    }
    report(process.cpuUsage());
  });
  process.on('disconnect', () => process.exit());
  report({ empty: empty.origin, full: full.origin, pages } satisfies Started);
}

async function measureAll(): Promise<void> {
  const child = fork(new URL(import.meta.url), { stdio: 'inherit' });
  try {
    const [started] = (await once(child, 'message')) as [Started];
    await measureServer(child, started);
    await measureBrowser(child, started);
  } finally {
    child.kill();
  }
}

async function ask(child: ChildProcess, message: string): Promise<number> {
  child.send(message);
  const [{ user, system }] = (await once(child, 'message')) as [NodeJS.CpuUsage];
  return (user + system) / 1_000;
}

/** Measures the empty page and each full page in turns, so that other load affects all of them equally. */
async function measureServer(child: ChildProcess, { empty, full, pages }: Started): Promise<void> {
  const urls = [`${empty}/`, ...pages.map((page) => full + page)];
  const times = urls.map(() => [] as number[]);
  const sizes = urls.map(() => 0);
  for (let round = -warmUps; round < rounds; round++) {
    for (const [index, url] of urls.entries()) {
      const before = await ask(child, 'time');
      sizes[index] = (await (await fetch(url)).arrayBuffer()).byteLength;
      const ms = (await ask(child, 'time')) - before;
      if (round >= 0) times[index]?.push(ms);
    }
  }
  const base = median(times[0] ?? []);
  stdout.write(`the empty console's page: ${kilobytes(sizes[0])} KB, ${base.toFixed(2)} ms of processor time\n`);
  for (const [index, page] of pages.entries()) {
    const ms = median(times[index + 1] ?? []);
    const isOver = ms > 3 * base || (sizes[index + 1] ?? 0) > 300_000;
    const figures = `${kilobytes(sizes[index + 1])} KB, ${(ms / base).toFixed(2)} × the processor time`;
    stdout.write(`${nameOf(page)}: ${figures}${isOver ? '  OVER' : ''}\n`);
  }
}

/** A path without the ids of links and jobs, which differ from run to run. */
function nameOf(path: string): string {
  return path.replace(/[\w-]{20,}/, 'ID');
}

function kilobytes(bytes = 0): string {
  return (bytes / 1_000).toFixed(0);
}

/** Measures the tasks of Chromium while open pages are updated. */
async function measureBrowser(child: ChildProcess, { full, pages }: Started): Promise<void> {
  if (executablePath === null) {
    stdout.write('long tasks: skipped, because no Chromium is installed\n');
    return;
  }
  const browser = await launcher.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await page.addInitScript(() => {
    const tasks: number[] = [];
    Object.assign(window, { tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: 'longtask', buffered: true });
  });
  const longest = () =>
    page.evaluate(() => {
      const { tasks } = window as unknown as { tasks: number[] };
      return Math.max(0, ...tasks.splice(0));
    });
  for (const path of pages) {
    await page.goto(full + path);
    await page.getByText('Live', { exact: true }).waitFor();
    await sleep(500);
    const loaded = await longest();
    const updates: number[] = [];
    for (let update = 0; update < 5; update++) {
      const updated = page.waitForResponse((response) => response.url() === page.url());
      await ask(child, 'change');
      await updated;
      await sleep(500);
      updates.push(await longest());
    }
    const all = updates.map((ms) => ms.toFixed(0)).join(', ');
    const isOver = Math.max(...updates) > 200;
    const name = nameOf(path);
    stdout.write(
      `${name}: longest task at load ${loaded.toFixed(0)} ms, at updates ${all} ms${isOver ? '  OVER' : ''}\n`,
    );
  }
  await browser.close();
}
