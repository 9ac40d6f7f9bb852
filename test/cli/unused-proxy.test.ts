/** The proxy that variables name, and that the runtime does not use. */

import { expect, test } from 'vitest';
import { findUnusedProxy } from '../../src/cli/doctor/unused-proxy.js';

const proxy = 'http://proxy.hosted.test:3128';
const node = (variables: Readonly<Record<string, string>>, execArgv: readonly string[] = []) => ({
  runtime: 'node' as const,
  read: (name: string) => variables[name],
  execArgv,
});

test.each([
  ['https://api.example.com', { HTTPS_PROXY: proxy }, 'HTTPS_PROXY'],
  ['https://api.example.com', { https_proxy: proxy, HTTPS_PROXY: proxy }, 'https_proxy'],
  ['https://api.example.com', { HTTP_PROXY: proxy }, null],
  ['http://127.0.0.1:8080', { HTTP_PROXY: proxy, HTTPS_PROXY: proxy }, 'HTTP_PROXY'],
  ['https://api.example.com', { HTTPS_PROXY: '' }, null],
  ['https://api.example.com', {}, null],
  ['https://api.example.com', { HTTPS_PROXY: proxy, NODE_USE_ENV_PROXY: '1' }, null],
  ['https://api.example.com', { HTTPS_PROXY: proxy, NODE_OPTIONS: '--use-env-proxy' }, null],
  ['https://api.example.com', { HTTPS_PROXY: proxy, NO_PROXY: 'api.example.com' }, null],
  ['https://api.example.com', { HTTPS_PROXY: proxy, no_proxy: 'a.test,.example.com' }, null],
  ['https://api.example.com', { HTTPS_PROXY: proxy, NO_PROXY: '*.example.com:443' }, null],
  ['https://api.example.com', { HTTPS_PROXY: proxy, NO_PROXY: 'a.test *' }, null],
  ['https://api.example.com', { HTTPS_PROXY: proxy, NO_PROXY: 'ample.com' }, 'HTTPS_PROXY'],
])('a request to %s with %o leaves unused: %s', (url, variables, expected) => {
  expect(findUnusedProxy(url, node(variables as Readonly<Record<string, string>>))).toBe(expected);
});

test('Bun and Deno use what the variables name', () => {
  const facts = node({ HTTPS_PROXY: proxy });

  for (const runtime of ['bun', 'deno'] as const)
    expect(findUnusedProxy('https://api.example.com', { ...facts, runtime })).toBeNull();
  expect(findUnusedProxy('https://api.example.com', null)).toBeNull();
});
