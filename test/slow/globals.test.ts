// The built package in processes whose globals others have changed before it is imported.

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BuiltPackage, buildPackage } from '../support/built-package.js';

let built: BuiltPackage;
beforeAll(async () => {
  built = await buildPackage();
});
afterAll(() => built.remove());

const program = `
await import('./changes.mjs');
const { HostedClient } = await import('hosted-client');
const body = { link: 'https://links.test/1', ref_id: 'ref-1' };
const client = new HostedClient({
  partnerId: '085', apiKey: 'key', baseUrls: { sandbox: 'https://sandbox.test' }, maxRetries: 0,
  fetch: async (_url, { body: sent }) => Response.json({ ...body, ref_id: JSON.parse(sent).company_name }),
});
const link = { companyName: 'ref-1', dataPrivacyPolicyUrl: 'https://a.test', callbackUrl: 'https://a.test' };
await client.links.create(link).then(
  ({ refId }) => console.log(refId),
  ({ outcome, message }) => console.log(outcome, message),
);
`;

const noCoders = 'await fetch("data:,"); delete globalThis.TextEncoder; delete globalThis.TextDecoder;';

test.each<[string, string, string[], string]>([
  ['frozen intrinsics', '', ['--no-warnings', '--frozen-intrinsics'], 'ref-1'],
  [
    'enumerable properties on Object.prototype',
    'Object.prototype.each = function () {}; Object.prototype.extra = 1; Array.prototype.last = function () {};',
    [],
    'ref-1',
  ],
  [
    'no TextEncoder, as in jest’s jsdom',
    noCoders,
    [],
    'not_sent Cannot create a link: the code that sends requests could not be loaded (ReferenceError): this environment has no TextEncoder; for jest, set "testEnvironment" to "node"',
  ],
])('with %s, the package is imported and used', async (_what, changes, args, says) => {
  writeFileSync(join(built.folder, 'changes.mjs'), changes);
  writeFileSync(join(built.folder, 'program.mjs'), program);

  const { stdout, stderr } = await promisify(execFile)(process.execPath, [...args, 'program.mjs'], {
    cwd: built.folder,
  });

  expect(stderr).toBe('');
  expect(stdout.trim()).toBe(says);
});
