/** The lines that are pasted into a terminal: what a shell makes of them. */

import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { writeVariables } from '../../src/sandbox/variables.js';

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
