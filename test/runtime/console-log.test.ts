// Log lines on the platform's console, for a client without a logger.

import { HostedClient, type HostedClientOptions } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { warningLogger } from '../../src/runtime/console-log.js';
import { newLink, rejection } from '../support/fake-fetch.js';

type Level = 'debug' | 'info' | 'warn' | 'error';
const levels: readonly Level[] = ['debug', 'info', 'warn', 'error'];
let minutes = 0;
const printed: { level: Level; text: string }[] = [];

beforeEach(() => {
  printed.length = 0;
  // Lines of the tests before are more than a minute ago.
  vi.useFakeTimers({ toFake: ['performance'], now: 0 });
  minutes += 10;
  vi.advanceTimersByTime(minutes * 60_000);
  for (const level of levels) {
    vi.spyOn(console, level).mockImplementation((...words: unknown[]) => {
      printed.push({ level, text: words.map((word) => JSON.stringify(word)).join(' ') });
    });
  }
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const service = createMockService();
const { clientOptions } = service.sandbox;

function fromEnv(log: string | undefined, options: Partial<HostedClientOptions> = {}): HostedClient {
  vi.stubEnv('HOSTED_PARTNER_ID', clientOptions.partnerId);
  vi.stubEnv('HOSTED_API_KEY', clientOptions.apiKey ?? '');
  vi.stubEnv('HOSTED_SANDBOX_BASE_URL', service.sandbox.baseUrl);
  vi.stubEnv('HOSTED_LOG', log);
  return HostedClient.fromEnv({ fetch: service.fetch, ...options });
}

const post = (body = '{}') => new Request('https://partner.test/callbacks', { method: 'POST', body });

/** A delivery that is refused has a warning. */
async function warnOf(client: HostedClient): Promise<void> {
  await client.callbacks.handler({ onEvent: () => undefined })(post());
}

/** A delivery that fails has a warning of its own, by what failed. */
async function failIn(client: HostedClient, onEvent: () => void): Promise<void> {
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');
  await service.sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ onEvent }) });
}

const away = () => {
  throw new Error('the database of Jane Doe is away');
};

test('warnings of a client without a logger reach console.warn, and nothing else does', async () => {
  const client = new HostedClient({ ...clientOptions, fetch: service.fetch });

  await client.links.list();
  await rejection(client.links.get('nobody'));
  await warnOf(client);

  expect(printed).toEqual([{ level: 'warn', text: expect.stringContaining('1 with 401') }]);
});

test('a link for enhanced_kyc without a callback has a warning without a logger, too', async () => {
  const client = new HostedClient({ ...clientOptions, fetch: service.fetch });

  await client.links.create({
    ...newLink,
    callbackUrl: null,
    idTypes: [{ country: 'NG', idType: 'BVN', verificationMethod: 'enhanced_kyc' }],
  });

  expect(printed).toEqual([{ level: 'warn', text: expect.stringMatching(/^"hosted-client: a link for enhanced_kyc/) }]);
});

test('each warning reaches the console once a minute, however many clients have it', async () => {
  const clients = Array.from({ length: 3 }, () => new HostedClient({ ...clientOptions, fetch: service.fetch }));

  for (const client of clients) await failIn(client, away);
  for (const client of clients) await warnOf(client);
  expect(printed.map(({ text }) => text)).toEqual([
    expect.stringContaining('onEvent rejected'),
    expect.stringContaining('1 with 401'),
  ]);
  vi.advanceTimersByTime(59_999);
  for (const client of clients) await failIn(client, away);
  expect(printed).toHaveLength(2);
  vi.advanceTimersByTime(1);
  for (const client of clients) await failIn(client, away);

  expect(printed).toHaveLength(3);
  expect(printed[2]?.text).toContain('onEvent rejected');
  expect(JSON.stringify(printed)).not.toContain('Jane');
});

test('a thousand different warnings are remembered, and of more the oldest is forgotten', () => {
  const warn = (number: number) => warningLogger.warn(`warning ${number}`);
  for (let number = 1; number <= 1_000; number++) warn(number);
  warn(1);
  expect(printed).toHaveLength(1_000);

  warn(1_001);
  warn(2);
  warn(1);

  expect(printed.slice(1_000).map(({ text }) => text)).toEqual(['"warning 1001"', '"warning 1"']);
});

test('a platform without performance has warnings, too', () => {
  vi.stubGlobal('performance', undefined);
  onTestFinished(() => void vi.unstubAllGlobals());

  warningLogger.warn('there is no performance here');

  expect(printed).toHaveLength(1);
});

test('warnings of a client with a logger reach the logger alone, every one', async () => {
  const lines: string[] = [];
  const note = (line: string) => void lines.push(line);
  const client = fromEnv('off', { logger: { debug: note, info: note, warn: note, error: note } });

  for (let count = 0; count < 3; count++) await failIn(client, away);

  expect(lines.filter((line) => line.includes('onEvent rejected'))).toHaveLength(3);
  expect(printed).toEqual([]);
});

test.each<[string | undefined, readonly Level[]]>([
  ['off', []],
  [undefined, ['warn']],
  ['', ['warn']],
  ['warn', ['warn']],
  ['info', ['info', 'warn', 'error']],
  ['debug', ['debug', 'info', 'warn', 'error']],
])('HOSTED_LOG=%s shows the lines of these levels', async (log, shown) => {
  const clock = createTestClock();
  const client = fromEnv(log, { clock });
  service.sandbox.failNext('links.list', { kind: 'status', status: 503 });

  const listed = rejection(Promise.resolve(client.links.list({ maxRetries: 1 })));
  await clock.advance(1_000);
  await listed;
  await warnOf(client);

  expect(levels.filter((level) => printed.some((line) => line.level === level))).toEqual(shown);
});

test('a client made by withOptions() keeps to HOSTED_LOG', async () => {
  const client = fromEnv('off').withOptions({ timeoutMs: 1_000 });

  await warnOf(client);

  expect(printed).toEqual([]);
});

test('lines on the console hold no ids, bodies or keys', async () => {
  const client = fromEnv('debug');
  const job = service.sandbox.jobs.start({ userId: 'user-4711', jobId: 'job-0815' });
  service.sandbox.jobs.complete(job, 'approved');

  await client.jobs.waitForCompletion(job);
  await rejection(client.links.get('ref-4711'));
  await failIn(client, away);

  const all = JSON.stringify(printed);
  expect(printed.length).toBeGreaterThan(5);
  for (const secret of ['4711', '0815', clientOptions.apiKey ?? '', 'hosted.test', '0810'])
    expect(all).not.toContain(secret);
});
