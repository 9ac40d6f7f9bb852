// A response with one huge field that nobody reads costs little more than parsing it, in memory and in time.

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

const [, , record, more] = process.argv;
const numbers = '[' + '1,'.repeat(4_190_000 - 1) + '1]';
const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => ['k' + at, 1])));
const filled = (entry) => '[' + (entry + ',').repeat(8 * 1024 * 1024 / (entry.length + 1) - 100) + entry + ']';
const plain = JSON.stringify(signed({ user_id: 'user-1', job_id: 'job-1', job_complete: false }));
const text = plain.slice(0, -1) + ',' + record.replace('NUMBERS', () => numbers).replace(/ENTRIES(.*)END/, (_, entry) => filled(entry.replace('WIDE', wide))) + '}';
if (more === 'pollutes') Object.prototype.foreign = true;
const respond = () => new Response(text, { headers: { 'content-type': 'application/json' } });
const { client } = clientOf(respond);
const ask = () => client.jobs.status({ userId: 'user-1', jobId: 'job-1' });
const costOf = async (work) => {
  const costs = [];
  for (let run = 0; run < 5; run++) {
    globalThis.gc();
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    costs.push(user + system);
  }
  return Math.min(...costs);
};
if (more === 'measures') {
  const parsing = await costOf(async () => JSON.parse(await respond().text()));
  console.log((await costOf(ask)) / parsing);
} else {
  const { state, result } = await ask();
  console.log(state, Object.keys(result?.extra ?? {}).join());
}
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

test.each<[string, string]>([
  ['numbers', '"result":{"unknown":NUMBERS}'],
  ['numbers beside the result', '"unknown":NUMBERS'],
  ['small objects', '"result":{"unknown":ENTRIES{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}END}'],
  ['large objects', '"result":{"unknown":ENTRIESWIDEEND}'],
  ['fractions', '"result":{"unknown":ENTRIES1.5e10END}'],
])('a field of 8 MiB of %s costs at most half as much again as parsing it', async (_shape, text) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program, text, 'measures']);

  expect(Number(stdout)).toBeLessThan(1.5);
});
