/** The options of a sandbox, as they are checked. */

import { HostedConfigError } from 'hosted-client';
import type { SandboxOptions } from 'hosted-client/sandbox';
import { expect, test } from 'vitest';
import { checkSandboxOptions } from '../../src/sandbox/options.js';

test.each([
  ['[2001:DB8:0::1]', 'http://[2001:db8::1]/'],
  ['2001:db8::1', 'http://[2001:db8::1]/'],
  ['MÜNCHEN.example', 'http://münchen.example/'],
  ['192.0.2.1', 'http://192.0.2.1/'],
])('the callback host %s is written as in a URL', (host, url) => {
  const [checked] = checkSandboxOptions({ callbackHosts: [host] }).callbackHosts;

  expect(checked).toBe(new URL(url).hostname.replace(/[[\]]/g, ''));
});

test.each<[string, SandboxOptions]>([
  ['apiKeys', { scheme: 'ed25519', apiKeys: { sandbox: 'a key' } }],
  ['baseUrls', { baseUrls: { sandbox: 'https://proxy.example/', production: 'https://proxy.example/' } }],
])('%s that contradict another option or each other are named', (path, options) => {
  const create = () => checkSandboxOptions(options);

  expect(create).toThrow(HostedConfigError);
  expect(create).toThrow(expect.objectContaining({ issues: [{ path, message: expect.any(String) }] }));
});
