/** Builds the JavaScript of the package. `tsc -p src` creates the declarations. */

import { resolve } from 'node:path';
import { defineConfig } from 'rolldown';

const main = resolve('src/index.ts');

interface Graph {
  getModuleInfo(id: string): { readonly importers: readonly string[] } | null;
}

/** Whether an import of the main entry also loads a module. Lazy imports do not count. */
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
  // ky, zod and (in the sandbox) hono are bundled, and `THIRD-PARTY-NOTICES.md` has their licences. As separate
  // packages, ky and zod take 9 MB, but the client uses only a twentieth of this size. Their separate files also take
  // three times as long to load. tweetnacl is not bundled, because it uses `module` and `require` when it loads, and
  // few users need it. Users install the other packages themselves.
  external: ['tweetnacl', 'msw', '@opentelemetry/api', 'pg', 'pg-boss', '@electric-sql/pglite', /^node:/],
  resolve: { mainFields: ['module', 'main'] },
  transform: { target: 'es2023', jsx: { runtime: 'automatic', importSource: 'hono/jsx' } },
  output: {
    dir: 'dist',
    format: 'esm',
    cleanDir: true,
    // The output is readable without a source map, and the package does not contain the sources of ky, zod and hono.
    sourcemap: false,
    chunkFileNames: '[name]-[hash].js',
    // One file has all modules that the main entry loads immediately. Without this group, the bundler would create a
    // file for each set of entries that share modules, and eight files take twice as long to load.
    codeSplitting: {
      groups: [
        { name: (id, graph) => (isLoadedAtOnce(id, graph) ? 'core' : null), debugName: 'core' },
        { name: 'ky', test: /node_modules\/ky\// },
      ],
    },
  },
});
