/** A sandbox for one test, a client of it, a server that receives its callbacks, and requests as they are written. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, request as requestHttp } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HostedClient } from 'hosted-client';
import { type Sandbox, type SandboxOptions, type SandboxOutcome, startSandbox } from 'hosted-client/sandbox';
import { expect, onTestFinished, vi } from 'vitest';
import { writeSaved } from '../../src/testing/saved-text.js';

/** Starts a sandbox that stops with the test. Its callbacks are small. */
export async function running(options: SandboxOptions = {}) {
  const sandbox = await startSandbox({ port: 0, reviewMs: 1, callbackRetriesMs: [1, 1], callbackBytes: 0, ...options });
  onTestFinished(() => sandbox.stop());
  return { sandbox, client: new HostedClient(sandbox.clientOptions()), port: Number(new URL(sandbox.origin).port) };
}

/** A folder that is deleted with the test. */
export function folderOfTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** What a link needs; without a callback URL, so that nothing is posted. */
export const newLink = {
  companyName: 'Example Partner',
  dataPrivacyPolicyUrl: 'https://partner.example/privacy',
  callbackUrl: null,
};

/** A server on this machine that ends with the test; gives its URL for callbacks. */
export async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`;
}

/** The warnings of this process, which writes none of them during the test. */
export function spyOnWarnings() {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
  onTestFinished(() => warn.mockRestore());
  return warn;
}

/** The text at a URL. */
export const read = async (url: string) => (await fetch(url)).text();

export interface ReceivedCallback {
  readonly body: Record<string, unknown>;
  /** The body as it came, and its type. */
  readonly text: string;
  readonly type: string | undefined;
  readonly path: string;
}

/** A sandbox for one test, and a link in it. */
export async function runningLink(fields: NewLinkFields = {}, options: SandboxOptions = {}) {
  const started = await running(options);
  const link = await started.client.links.create({ ...newLink, ...fields });
  return { ...started, link, refId: link.refId };
}

type NewLinkFields = Partial<Parameters<HostedClient['links']['create']>[0]>;

interface Receiving extends SandboxOptions {
  /** What the link has, beside what it needs. */
  readonly link?: NewLinkFields;
  /** What the receiver responds with, one after another, and then with 200. */
  readonly statuses?: readonly number[];
}

/** A sandbox for one test with a link, and a server that receives its callbacks. */
export async function linkAndReceiver({ statuses = [], link = {}, ...options }: Receiving = {}) {
  const receiver = await receiving(...statuses);
  return { ...receiver, ...(await runningLink({ callbackUrl: receiver.url, ...link }, options)) };
}

/** The same, after an outcome was played, and its callbacks have come to their end. */
export async function playAndReceive({
  outcome = 'approved',
  ...given
}: Receiving & { outcome?: SandboxOutcome } = {}) {
  const world = await linkAndReceiver(given);
  const job = await world.sandbox.play(world.refId, outcome);
  await world.sandbox.idle();
  return { ...world, job };
}

/** A server that receives callbacks; each is answered with the next of `statuses`, and then with 200. */
export async function receiving(...statuses: readonly number[]) {
  const received: ReceivedCallback[] = [];
  const url = await listening(async (message, response) => {
    let text = '';
    for await (const chunk of message.setEncoding('utf8')) text += chunk;
    received.push({
      body: JSON.parse(text),
      text,
      type: message.headers['content-type'],
      path: message.url ?? '',
    });
    const status = statuses[received.length - 1] ?? 200;
    response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end();
  });
  return { received, url, port: Number(new URL(url).port) };
}

export interface Written {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends no `Host`. */
  readonly hasHost?: boolean;
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends a request with the very headers that are given, as fetch would not. */
export function write(port: number, { method = 'GET', path = '/health', headers = {}, hasHost = true, body }: Written) {
  return new Promise<Answer>((resolve, reject) => {
    const request = requestHttp({ host: '127.0.0.1', port, method, path, headers, setHost: hasHost, agent: false });
    request.on('error', reject);
    request.on('response', async (response) => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    request.end(body);
  });
}

/** Adds a link with values that the service would refuse in a request. */
export function seedLink({ service }: Sandbox, fields: object) {
  service.sandbox.links.seed(1);
  const { state } = JSON.parse(service.save());
  Object.assign(state.sandbox.links[0], fields);
  service.restore(writeSaved('mock service', state));
  return service.sandbox.links.all()[0] as { readonly link_url: string; readonly logo_url: string };
}

/** Entries of one millisecond have no order that a reader could expect. */
export const nextMillisecond = (now = Date.now()) =>
  expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(now);

/** What the rows of a page say. */
export function rowsOf(html: string) {
  const rows = html.match(/<li id=.*?<\/li>/gs) ?? [];
  return rows.map((row) => {
    const textOf = (name: string) =>
      (new RegExp(`class="${name}[^>]*>(.*?)</(?:a|span)>`, 's').exec(row)?.[1] ?? '')
        .replaceAll(/<[^>]*>|[\u2068\u2069]/g, '')
        .replaceAll('&quot;', '"')
        .replaceAll('&#39;', "'");
    return {
      row,
      id: /<li id="([^"]*)"/.exec(row)?.[1],
      status: textOf('status'),
      what: textOf('what'),
      why: textOf('why'),
    };
  });
}

/** Posts JSON to a control. */
export function control(origin: string, path: string, body: unknown, headers: Record<string, string> = {}) {
  return fetch(`${origin}/control/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** Posts the form of a link's page, as a browser does; redirects are not followed. */
export function submit(url: string, fields: Readonly<Record<string, string>>) {
  const origin = new URL(url).origin;
  return fetch(url, { method: 'POST', headers: { origin }, body: new URLSearchParams(fields), redirect: 'manual' });
}

/** The URL of the form that ends a job. */
export function completionUrl(
  { origin }: { origin: string },
  job: { userId: string; jobId: string; environment?: string },
): string {
  return `${origin}/console/jobs/complete?${new URLSearchParams({ environment: 'sandbox', ...job })}`;
}

/** The text of the page's first `<pre>` that contains a text. */
export function preOf(html: string, text: string): string {
  const found = [...html.matchAll(/<pre[^>]*>([^<]*)<\/pre>/g)].map(([, each = '']) =>
    each
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&gt;', '>')
      .replaceAll('&lt;', '<')
      .replaceAll('&amp;', '&'),
  );
  return found.find((each) => each.includes(text)) ?? '';
}

/** Runs commands in a POSIX shell, with a test key in its variable. */
export async function runShell(commands: string, key = 'sandbox-test-key'): Promise<string> {
  const env = { ...process.env, HOSTED_API_KEY: key };
  return (await promisify(execFile)('sh', ['-c', commands], { env })).stdout;
}

/** A server that responds to each callback with a status and a text. */
export function responding(status: number, respond: (body: string) => string) {
  return listening(async (message, response) => {
    let text = '';
    for await (const chunk of message.setEncoding('utf8')) text += chunk;
    response.writeHead(status).end(respond(text));
  });
}
