/** A sandbox that a bundler has put into another file has no OpenAPI description beside it. */

import { existsSync } from 'node:fs';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';

vi.mock('node:fs', { spy: true });

// Other files of tests have loaded the sandbox with the files of the platform.
vi.resetModules();
const { read, running } = await import('./running.js');

afterAll(() => vi.resetModules());

test('where the OpenAPI description is not installed, no page leads to it', async () => {
  vi.mocked(existsSync).mockReturnValue(false);
  onTestFinished(() => void vi.mocked(existsSync).mockReset());
  const { sandbox } = await running();

  expect((await fetch(`${sandbox.origin}/openapi.yaml`)).status).toBe(404);
  expect(await read(`${sandbox.origin}/console/connect`)).not.toContain('openapi.yaml');
});
