// A response with one huge field that nobody reads: in a process of little memory, it costs no more than parsing it.

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'hosted-client-fields-'));
const program = join(folder, 'status.mjs');
const source = `
import { clientOf, signed } from './fake-fetch.ts';

const [, , record, pollutes] = process.argv;
const numbers = '[' + '1,'.repeat(4_190_000 - 1) + '1]';
const plain = JSON.stringify(signed({ user_id: 'user-1', job_id: 'job-1', job_complete: false }));
const text = plain.slice(0, -1) + ',' + record.replaceAll('NUMBERS', () => numbers) + '}';
if (pollutes) Object.prototype.foreign = true;
const response = new Response(text, { headers: { 'content-type': 'application/json' } });
const { state, result } = await clientOf(response).client.jobs.status({ userId: 'user-1', jobId: 'job-1' });
console.log(state, Object.keys(result?.extra ?? {}).join());
`;

beforeAll(async () => {
  const resolveDir = fileURLToPath(new URL('../support', import.meta.url));
  const alias = { 'hosted-client': fileURLToPath(new URL('../../src/index.ts', import.meta.url)) };
  const stdin = { contents: source, resolveDir, loader: 'ts' } as const;
  await build({ stdin, alias, bundle: true, format: 'esm', platform: 'node', outfile: program, logLevel: 'error' });
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each<readonly string[]>([
  ['an unknown field', '{"unknown":NUMBERS}'],
  ['an unknown field with a signature', '{"unknown":{"list":NUMBERS,"signature":"s"}}'],
  ['an unknown field, while Object.prototype is polluted,', '{"unknown":NUMBERS}', 'pollutes'],
  ['one of the actions', '{"unknown":"u","Actions":{"Liveness_Check":NUMBERS}}'],
])('a process of 256 MiB reads %s of four million entries', async (_field, result, ...polluted) => {
  const given = ['--max-old-space-size=256', program, `"result":${result}`, ...polluted];

  const { stdout } = await promisify(execFile)(process.execPath, given);

  expect(stdout).toBe('pending unknown\n');
});
