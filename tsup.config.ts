/** How the JavaScript of the package is made; `tsc -p src` makes its declarations. */

import { defineConfig } from 'tsup';

export default defineConfig({
  entry: {
    index: 'src/index.ts',
    'testing/index': 'src/testing/index.ts',
    'testing/msw': 'src/testing/msw.ts',
  },
  format: 'esm',
  platform: 'neutral',
  target: 'es2023',
  splitting: true,
  clean: true,
  dts: false,
  // ky and zod come along, with their licences in THIRD-PARTY-NOTICES.md: of their 9 MB a twentieth is
  // used, and one file loads in a third of the time that theirs take.
  noExternal: ['ky', 'zod'],
  // tweetnacl asks for a module system as it loads, and few need it; msw is the user's own.
  external: ['tweetnacl', 'msw'],
  sourcemap: true,
  esbuildOptions(options) {
    // The source lies in the package.
    options.sourcesContent = false;
  },
});
