// The public vectors once more, on a platform without Node's crypto module: by Web Crypto and tweetnacl.

import { vi } from 'vitest';

const { getBuiltinModule } = process;
process.getBuiltinModule = ((name: string) =>
  name === 'crypto' ? undefined : getBuiltinModule(name)) as typeof getBuiltinModule;
vi.resetModules();

await import('./vectors.test.js');
