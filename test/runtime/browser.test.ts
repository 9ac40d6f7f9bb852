/** Where a client may be made: its key must not reach a browser. */

import { HostedClient, HostedConfigError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { afterEach, expect, test, vi } from 'vitest';

afterEach(() => vi.unstubAllGlobals());

const { clientOptions } = createMockService().sandbox;

function visit(process: unknown): void {
  vi.stubGlobal('window', globalThis);
  vi.stubGlobal('document', {});
  vi.stubGlobal('process', process);
}

test.each([
  ['no process', undefined],
  ['the process that a bundler puts in its place', { env: {}, versions: {} }],
  ['a process of something else', {}],
])('a client refuses to be made in a browser with %s, and says why', (_, process) => {
  visit(process);

  for (const make of [() => new HostedClient(clientOptions), () => HostedClient.fromEnv(clientOptions)]) {
    expect(make).toThrow(HostedConfigError);
    expect(make).toThrow(/in a browser: .*secret key/);
  }
});

test('a document in Node is no browser, so tests under jsdom work', async () => {
  const service = createMockService();
  visit(process);

  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });

  expect(await client.links.list().toArray({ limit: 5 })).toEqual([]);
});

test.each([
  ['a worker, which has neither', {}],
  ['a runtime that calls its global object window', { window: globalThis }],
  ['a runtime with a document and no window', { document: {} }],
])('a client can be made in %s', (_, globals) => {
  vi.stubGlobal('process', undefined);
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);

  expect(new HostedClient(clientOptions).environment).toBe('sandbox');
});
