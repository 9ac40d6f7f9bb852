/** What docs/sandbox.md shows runs: its TypeScript stands in examples, its `curl` is given to a shell. */

import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
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
