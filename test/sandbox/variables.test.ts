/** The lines that are pasted into a terminal: what a shell makes of them. */

import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { findShell, writeVariables } from '../../src/sandbox/variables.js';

const baseUrls = { sandbox: 'http://[::1]:4085/sandbox', production: 'http://127.0.0.1:4085/production' };

test.each(['plain-key', "it's a key", '$(touch /tmp/x) `y` "z" \\ ; & # *'])(
  'a program that a shell starts has the key %j',
  (apiKey) => {
    const lines = writeVariables({ partnerId: '085', apiKey, baseUrls });

    const printed = execFileSync('sh', [
      '-c',
      `${lines}\nexec "$0" -p 'JSON.stringify(process.env)'`,
      process.execPath,
    ]);

    expect(JSON.parse(printed.toString())).toMatchObject({
      HOSTED_PARTNER_ID: '085',
      HOSTED_API_KEY: apiKey,
      HOSTED_ENVIRONMENT: 'sandbox',
      HOSTED_SANDBOX_BASE_URL: baseUrls.sandbox,
      HOSTED_PRODUCTION_BASE_URL: baseUrls.production,
    });
  },
);

test('where clients sign with Ed25519 there is no key to paste', () => {
  expect(writeVariables({ partnerId: '085', apiKey: null, baseUrls })).not.toContain('HOSTED_API_KEY');
});

const apiKey = "it's a key";

test.each([
  ['sh', "export HOSTED_API_KEY='it'\\''s a key'"],
  ['fish', "set -gx HOSTED_API_KEY 'it\\'s a key'"],
  ['powershell', "$env:HOSTED_API_KEY = 'it''s a key'"],
  ['cmd', 'set "HOSTED_API_KEY=it\'s a key"'],
  ['env', "HOSTED_API_KEY='it'\\''s a key'"],
] as const)('%s sets the key with a line of its own', (shell, line) => {
  expect(writeVariables({ partnerId: '085', apiKey, baseUrls }, shell).split('\n')[1]).toBe(line);
});

test.each([
  [{}, 'sh'],
  [{ SHELL: '/bin/bash' }, 'sh'],
  [{ SHELL: '/usr/bin/fish' }, 'fish'],
  [{ SHELL: '/bin/bash', PSModulePath: '/opt/modules' }, 'powershell'],
  [{ OS: 'Windows_NT', PSModulePath: 'C:\\modules' }, 'powershell'],
  [{ OS: 'Windows_NT', PSModulePath: 'C:\\modules', PROMPT: '$P$G' }, 'cmd'],
  [{ OS: 'Windows_NT', PSModulePath: 'C:\\modules', SHELL: '/usr/bin/bash' }, 'sh'],
] as const)('the variables %j belong to %s', (env, shell) => {
  expect(findShell(env)).toBe(shell);
});
