/** The examples run as they stand, on the mock service under msw, as on a partner's machine. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createMockService } from 'hosted-client/testing';
import { mswHandlers } from 'hosted-client/testing/msw';
import { setupServer } from 'msw/node';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';

const service = createMockService();
const server = setupServer(...mswHandlers(service));
const printed: string[] = [];
const jobFile = join(mkdtempSync(join(tmpdir(), 'hosted-client-')), 'job.json');

beforeAll(() => server.listen({ onUnhandledFrame: 'error' }));
afterAll(() => {
  server.close();
  rmSync(dirname(jobFile), { recursive: true });
});

beforeEach(() => {
  service.reset();
  service.sandbox.links.seed(25);
  const [link] = service.sandbox.links.all() as readonly { ref_id: string }[];
  const job = service.sandbox.jobs.start({ linkRefId: link?.ref_id ?? '' });
  service.sandbox.jobs.complete(job, 'approved');
  vi.stubEnv('HOSTED_PARTNER_ID', service.sandbox.clientOptions.partnerId);
  vi.stubEnv('HOSTED_API_KEY', service.sandbox.clientOptions.apiKey ?? '');
  vi.stubEnv('HOSTED_SANDBOX_BASE_URL', service.sandbox.baseUrl);
  vi.stubEnv('REF_ID', link?.ref_id ?? '');
  vi.stubEnv('USER_ID', job.userId);
  vi.stubEnv('JOB_ID', job.jobId);
  vi.stubEnv('JOB_FILE', jobFile);
  writeFileSync(jobFile, JSON.stringify(job));
  printed.length = 0;
  for (const level of ['log', 'error', 'debug', 'info', 'warn'] as const) {
    vi.spyOn(console, level).mockImplementation((...words: unknown[]) => {
      printed.push(words.map((word) => (typeof word === 'object' ? JSON.stringify(word) : String(word))).join(' '));
    });
  }
});

const outputs: Readonly<Record<string, RegExp>> = {
  production: /^made for production$/m,
  'create-link': /^Keep \S+, and send the end user to https:\/\//m,
  'single-use-link': /^Send user-7f3a to https:\/\/\S+, before \d{4}-/m,
  'change-link': /^disabled /m,
  'list-all-links': /^25 links are active\n20 of 25 are on the first page, 5 on the next$/m,
  'wait-for-job': /^poll 1: succeeded\nverified: Enroll User$/m,
  'wait-for-many': /^row \d: (?:succeeded|not_found)\nrow \d: (?:succeeded|not_found)$/m,
  'check-job': /^verified: /m,
  'handle-errors': /^The link may exist: look for it/m,
  sign: /^hmac-sha256 sandbox\ned25519 sandbox\nkey-service sandbox$/m,
  'watch-calls': /^200 .*"request":1,"response":1/m,
};

test.each(Object.entries(outputs))('examples/%s.ts runs', async (name, output) => {
  if (name === 'handle-errors') service.sandbox.failNext('links.create', { kind: 'truncate' });

  await import(`../../examples/${name}.ts`);

  expect(printed.join('\n')).toMatch(output);
});

// A module runs once in a process: without what is known of it, it runs again as in another.
function importAnew(): Promise<unknown> {
  vi.resetModules();
  return import('../../examples/wait-for-job.ts');
}

test('a wait that is stopped goes on in another process', async () => {
  const job = service.sandbox.jobs.start();
  writeFileSync(jobFile, JSON.stringify(job));
  vi.stubEnv('DEADLINE_MS', '0');

  await importAnew();
  service.sandbox.jobs.complete(job, 'rejected');
  await importAnew();

  expect(printed.join('\n')).toMatch(/still pending: run this again to go on\n.*\nnot verified: Failed Enroll$/m);
});

test('every example is run', () => {
  // By `npm run demo`, by the test runner itself, and against the packed package. What is written by hand has mistakes.
  const elsewhere = /^by-hand\/|^demo\.ts$|\.(?:test|spec)\.ts$|^test-under-|^recipes\/(?:cron\.ts$|next\/)/;
  const files = sources().filter((file) => !elsewhere.test(file));
  const otherTests = ['test/docs', 'test/slow', 'test/opentelemetry', 'test/tracking']
    .flatMap((folder) => readdirSync(folder).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('.test.ts') && !file.endsWith('/examples.test.ts'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n');

  const here = files.filter((file) => !otherTests.includes(`'../../examples/${file.replace(/[jt]s$/, '')}`));

  expect(
    Object.keys(outputs)
      .map((name) => `${name}.ts`)
      .toSorted(),
  ).toEqual(here.toSorted());
});

function sources(): readonly string[] {
  const files = readdirSync('examples', { recursive: true, encoding: 'utf8' });
  return files.map((file) => file.replaceAll('\\', '/')).filter((file) => /\.[jt]s$/.test(file));
}
