/** What docs/sandbox.md shows runs: its TypeScript stands in examples, its `curl` is given to a shell. */

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { running } from '../sandbox/running.js';

const page = readFileSync('docs/sandbox.md', 'utf8');
const blocksOf = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, code]) => code ?? '');

test('every block of TypeScript stands word for word in an example', () => {
  const examples = readdirSync('examples')
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(`examples/${file}`, 'utf8').replaceAll(/^ +/gm, ''));
  const blocks = blocksOf('ts').map((block) => block.trim().replaceAll(/^ +/gm, ''));

  expect(blocks.length).toBeGreaterThan(1);
  expect(blocks.filter((block) => !examples.some((source) => source.includes(block)))).toEqual([]);
});

test('the story is told by curl alone', async () => {
  const { sandbox } = await running();
  const [script = ''] = blocksOf('sh');

  const { stdout } = await promisify(execFile)('bash', ['-c', script.replace('http://127.0.0.1:4085', sandbox.origin)]);

  expect(stdout).toMatch(/^Your identity was verified\n/);
  expect(JSON.parse(stdout.slice(stdout.indexOf('\n')))).toMatchObject([
    { operation: 'links.create', status: 200, signature: { problem: null } },
  ]);
});

test('npm run sandbox prints addresses and keys ready to paste, and a line for each request', async () => {
  const printed: string[] = [];
  vi.stubEnv('PORT', '0');
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
  const before = process.listeners('SIGINT');

  await import('../../examples/sandbox.ts');
  const [, url] = /HOSTED_SANDBOX_BASE_URL=(\S+)/.exec(printed.join('\n')) ?? [];
  await fetch(`${url}/v1/hosted_links/list`, { method: 'POST', body: '{}' });

  expect(printed[0]).toContain('HOSTED_PARTNER_ID=085\nHOSTED_API_KEY=sandbox-test-key\n');
  expect(printed[1]).toMatch(/^sandbox links\.list 400 [\d.]+ ms: Send "partner_id": the request has none$/);
  for (const stop of process.listeners('SIGINT')) if (!before.includes(stop)) (stop as () => void)();
});
