/** Builds the JavaScript of the package. `tsc -p src` creates the declarations. */

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defineConfig, type Options } from 'tsup';

const source = resolve('src');
const main = resolve('src/index.ts');

const entries = {
  index: 'src/index.ts',
  'node/index': 'src/node/index.ts',
  'opentelemetry/index': 'src/opentelemetry/index.ts',
  'cli/index': 'src/cli/index.ts',
  'sandbox/index': 'src/sandbox/index.ts',
  'testing/index': 'src/testing/index.ts',
  'testing/msw': 'src/testing/msw.ts',
  'tracking/index': 'src/tracking/index.ts',
};

/** The other modules that an `import()` loads. */
export const lazy = ['app.tsx', 'description.ts', 'http-server.ts', 'post-callback.ts'].map(
  (file) => `src/sandbox/${file}`,
);

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/**
 * Puts all modules that the main entry loads into one file. esbuild makes a file for each set of entries (and lazy
 * modules) that reach the same modules, and two dozen files take longer to load. When each of them imports the main
 * entry, what it reaches has one set.
 */
const core: Plugin = {
  name: 'core',
  setup(build) {
    const importing = new Set([...Object.values(entries), ...lazy].map((path) => resolve(path)));
    importing.delete(main);
    build.onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, async ({ path }) => {
      if (!importing.has(path)) return null;
      return {
        contents: `${await readFile(path, 'utf8')}\nimport ${JSON.stringify(main)};\n`,
        loader: path.endsWith('x') ? 'tsx' : 'ts',
      };
    });
    // From a package without side effects, esbuild leaves out what is imported without a name.
    build.onResolve({ filter: /^[./]/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData === core || !from.importer.startsWith(source)) return null;
      const { path: found, errors } = await build.resolve(path, { ...from, pluginData: core });
      return { path: found, errors, sideEffects: true };
    });
  },
};

/**
 * Lets zod load where other code has put enumerable properties on `Object.prototype`: zod 4.6 takes them for members of
 * its own tables, and throws. To be removed when zod lists the names with `Object.keys`.
 */
const zod: Plugin = {
  name: 'zod',
  setup(build) {
    build.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]core[\\/]util\.js$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const contents = source.replace('for (const key in table)', 'for (const key of Object.keys(table))');
      if (contents === source) throw new Error('zod lists the names of its tables in another way: look at this plugin');
      return { contents };
    });
  },
};

export default defineConfig({
  entry: entries,
  format: 'esm',
  platform: 'neutral',
  target: 'es2023',
  splitting: true,
  clean: true,
  silent: true,
  // The output is readable without a source map, and the package does not contain the sources of ky, zod and hono.
  sourcemap: false,
  dts: false,
  // As separate packages, ky and zod take 9 MB, of which the client uses a twentieth, and three times as long to load.
  // THIRD-PARTY-NOTICES.md has their licences.
  noExternal: ['ky', 'zod', 'hono'],
  // tweetnacl uses `module` and `require` when it loads, and few users need it. Users install the others themselves.
  external: ['tweetnacl', 'msw', '@opentelemetry/api', 'pg', '@electric-sql/pglite', /^node:/],
  esbuildPlugins: [core, zod],
  esbuildOptions(options) {
    options.mainFields = ['module', 'main'];
    options.jsx = 'automatic';
    options.jsxImportSource = 'hono/jsx';
  },
});
