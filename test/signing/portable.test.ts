// The tests of the signers once more, on a platform without Node's crypto module: by Web Crypto and tweetnacl.

import { afterAll, describe, vi } from 'vitest';

const { getBuiltinModule } = process;
process.getBuiltinModule = ((name: string) =>
  name === 'crypto' ? undefined : getBuiltinModule(name)) as typeof getBuiltinModule;
vi.resetModules();

afterAll(() => {
  process.getBuiltinModule = getBuiltinModule;
  vi.resetModules();
});

// Each in a suite of its own, because the hooks of one are none of the others'.
describe.each([
  ['signers', () => import('./signer.test.js')],
  ['payloads', () => import('../protocol/real-payloads.test.js')],
])('%s without Node’s crypto module', (_name, load) => load() as Promise<never>);
