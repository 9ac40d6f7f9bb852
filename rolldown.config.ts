/** How the JavaScript of the package is made; `tsc -p src` makes its declarations. */

import { resolve } from 'node:path';
import { defineConfig } from 'rolldown';

const main = resolve('src/index.ts');

interface Graph {
  getModuleInfo(id: string): { readonly importers: readonly string[] } | null;
}

/** Whether importing the main entry loads a module: not one that is imported lazily, or by `testing` alone. */
function isLoadedAtOnce(id: string, graph: Graph): boolean {
  const importers = new Set([id]);
  for (const importer of importers) {
    if (importer === main) return true;
    for (const next of graph.getModuleInfo(importer)?.importers ?? []) importers.add(next);
  }
  return false;
}

export default defineConfig({
  input: {
    index: main,
    'node/index': resolve('src/node/index.ts'),
    'opentelemetry/index': resolve('src/opentelemetry/index.ts'),
    'cli/index': resolve('src/cli/index.ts'),
    'sandbox/index': resolve('src/sandbox/index.ts'),
    'testing/index': resolve('src/testing/index.ts'),
    'testing/msw': resolve('src/testing/msw.ts'),
    'tracking/index': resolve('src/tracking/index.ts'),
  },
  platform: 'neutral',
  // ky, zod and, in the sandbox, hono come along, with their licences in THIRD-PARTY-NOTICES.md: of their 9 MB a twentieth is
  // used, and one file loads in a third of the time that theirs take. tweetnacl asks for a module system as
  // it loads, and few need it; the others are the user's own.
  external: ['tweetnacl', 'msw', '@opentelemetry/api', 'pg', 'pg-boss', '@electric-sql/pglite', /^node:/],
  resolve: { mainFields: ['module', 'main'] },
  transform: { target: 'es2023', jsx: { runtime: 'automatic', importSource: 'hono/jsx' } },
  output: {
    dir: 'dist',
    format: 'esm',
    cleanDir: true,
    // It is readable as it stands; of what is bundled the sources are not there to map to.
    sourcemap: false,
    chunkFileNames: '[name]-[hash].js',
    // One file for all that is loaded at once: by itself, a bundler makes one for each set of entries that share
    // something, and eight files take twice as long to load.
    codeSplitting: {
      groups: [
        { name: (id, graph) => (isLoadedAtOnce(id, graph) ? 'core' : null), debugName: 'core' },
        { name: 'ky', test: /node_modules\/ky\// },
      ],
    },
  },
});
