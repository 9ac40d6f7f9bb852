/** The file that starts a program as it is against the mock; `check:consumers` runs it with `node --import`. */

import { HostedClient } from 'hosted-client';
import { beforeEach, expect, test, vi } from 'vitest';
import { rejection } from '../support/fake-fetch.js';

beforeEach(() => {
  const names = ['HOSTED_PARTNER_ID', 'HOSTED_API_KEY', 'HOSTED_ENVIRONMENT', 'HOSTED_SANDBOX_BASE_URL'];
  for (const name of names) vi.stubEnv(name, undefined);
  // The program's own, as `node --env-file` sets them: they must not lead past the mock.
  vi.stubEnv('HOSTED_SANDBOX_JOB_STATUS_BASE_URL', 'https://jobs.partner.test');
  vi.stubEnv('HOSTED_SECRET_KEY', 'the secret key of the program');
  vi.stubEnv('HOSTED_SERVICE_PUBLIC_KEY', 'the public key of the service');
  vi.stubGlobal('fetch', vi.fn(globalThis.fetch));
  return () => {
    vi.unstubAllEnvs();
    vi.unstubAllGlobals();
  };
});

test('a program runs unchanged against the mock, and its other requests are sent as before', async () => {
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined);
  const platformFetch = vi.mocked(globalThis.fetch);
  platformFetch.mockResolvedValue(new Response('of another host'));

  // @ts-expect-error: it is JavaScript, as programs without a compiler need it.
  await import('../../examples/mock-preload.mjs');
  await import('../../examples/list-all-links.js');
  const unknownJob = await rejection(HostedClient.fromEnv().jobs.status({ userId: 'nobody', jobId: 'none' }));
  const other = await fetch(new Request('https://another.test/'));

  expect(log.mock.calls.flat()).toEqual(['25 links are active', '20 of 25 are on the first page, 5 on the next']);
  expect(unknownJob).toMatchObject({ code: 'not_found' });
  expect(await other.text()).toBe('of another host');
  expect(platformFetch).toHaveBeenCalledTimes(1);
});
